"""Ranges of the rests: what is proved is true, nearly sharp, and nothing narrower is accepted."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import hexes
from checker.lifted_proofs import Around, deep_squares
from checker.test_lifted_form import expansion, matrix_of, rationals
from flint import arb, fmpq

from polymargin_checker import lifted_ranges
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.float_forms import FloatForm
from polymargin_checker.floats import Floats
from polymargin_checker.lifted_expansion import HiddenLayers, Surroundings
from polymargin_checker.lifted_ranges import (
    _check_curvatures,
    _intervals,
    _open_ends,
    _square,
    _times,
    dominated,
    first_range,
    leaf_ranges,
    root_ranges,
)
from polymargin_checker.lifted_spectra import Known
from polymargin_checker.refusal import Refused
from polymargin_checker.views import Matrix, Model

ARITHMETICS = [Balls, Floats]
WIDTHS = [(3, 4, 3, 2), (5, 3, 4, 3, 2)]
R = 0.5
OUTWARD = np.array([-1e-7, 1e-7])


def made(widths: Any, folder: Path, arithmetic: Any = Balls) -> tuple[Around, Any]:
    network, u, _ = deep_squares(widths)
    return Around(network, u), expansion(folder, network, u, 1, R, arithmetic)


def _dominates(found: Any, neuron: int, side: str, shift: fmpq, proved: set[Any] | None = None) -> bool:
    """Whether shift + Q_i ('lower') or shift − Q_i ('upper') is shown to be positive definite."""
    known = set() if proved is None else proved
    return not dominated(found.around, neuron, [({"lower": 1, "upper": -1}[side], shift)], known)


def written(ranges: list[Any]) -> list[Any]:
    return [[hexes(row) for row in layer] for layer in ranges]


def pairs(table: Any) -> list[Any]:
    return [tuple(rationals(row)) for row in table]


@pytest.fixture(autouse=True)
def precision() -> Any:
    with working_precision(128):
        yield


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("widths", WIDTHS)
def test_a_multiple_of_the_identity_dominates_from_the_extreme_eigenvalue_on(
    widths: Any, arithmetic: Any, tmp_path: Path
) -> None:
    around, found = made(widths, tmp_path, arithmetic)
    for neuron in range(len(around.p[1])):
        least, *_, most = np.linalg.eigvalsh(around.curvature(neuron))
        for side, end in (("lower", -least), ("upper", most)):
            if end > 1e-6:
                assert _dominates(found, neuron, side, *rationals([end * (1 + 1e-9)]))
                assert not _dominates(found, neuron, side, *rationals([end * (1 - 1e-9)]))


def few_inputs_each(layers: Any) -> None:
    """Eight first-layer neurons that see two inputs each, and neurons of the second layer that listen to two of these."""
    first, second = layers[0][0], layers[1][0]
    for k in range(8):
        first[k, [column for column in range(8) if column not in (k, (k + 1) % 8)]] = 0.0
    for i in range(len(second)):
        second[i, [column for column in range(8) if column not in (i, i + 1)]] = 0.0
    second[3], first[3:5] = 0.0, 0.0
    second[3, 3:5], first[3, 3:5], first[4, 4:6] = second[0, :2], first[0, :2], first[1, 1:3]  # the first one again


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_neurons_that_see_few_inputs(arithmetic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In doubles each is looked at with its own inputs; what is proved is about the whole space all the same."""
    network, u, _ = deep_squares((8, 8, 5, 3, 2), change=few_inputs_each)
    around, found = Around(network, u), expansion(tmp_path, network, u, 1, R, arithmetic)
    everything = (list(range(8)), list(range(8)))
    assert found.around.seen(1) == (([1, 2], [1, 2, 3]) if arithmetic is Floats else everything)
    assert found.around.seen(4) == (([4, 5], [4, 5, 6]) if arithmetic is Floats else everything)
    curvatures = [around.curvature(neuron) for neuron in range(5)]
    weights = [1.0, 0.0, 2.5, 0.25, 3.0]
    squares = found.around.squared_curvatures(arithmetic.of(5, 1, weights))
    exact = sum(weight * matrix @ matrix for weight, matrix in zip(weights, curvatures, strict=True))
    np.testing.assert_allclose(matrix_of(squares), exact, rtol=1e-12, atol=1e-14)
    kind: Any = FloatForm if arithmetic is Floats else Balls
    monkeypatch.setattr(kind, "positive_definite", _counted(kind.positive_definite, asked := []))
    for neuron, curvature in enumerate(curvatures):
        least, *_, most = np.linalg.eigvalsh(curvature)
        for side, end in (("lower", -least), ("upper", most)):
            shift = max(end, 0.0) + 1e-6
            assert _dominates(found, neuron, side, *rationals([shift * (1 + 1e-9)]))
            if end > 1e-6:
                assert not _dominates(found, neuron, side, *rationals([end * (1 - 1e-9)]))
    sizes = {int(side) for side in asked}
    assert sizes == ({3} if arithmetic is Floats else {8})


def _counted(test: Any, asked: list[int]) -> Any:
    return lambda matrix: asked.append(matrix.shape[0]) or test(matrix)


def test_equal_curvatures_are_proved_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, u, _ = deep_squares((8, 8, 5, 3, 2), change=few_inputs_each)
    around, found = Around(network, u), expansion(tmp_path, network, u, 1, R, Floats)
    np.testing.assert_array_equal(around.curvature(0)[:3, :3], around.curvature(3)[3:6, 3:6])
    asked: list[int] = []
    monkeypatch.setattr(FloatForm, "positive_definite", _counted(FloatForm.positive_definite, asked))
    most = np.linalg.eigvalsh(around.curvature(0))[-1]
    enough, less = (rationals([most * factor])[0] for factor in (1.001, 0.999))
    proved: set[Any] = set()
    assert _dominates(found, 0, "upper", enough, proved)
    assert len(asked) == len(proved) == 1
    assert _dominates(found, 3, "upper", enough, proved)
    assert len(asked) == 1
    assert not _dominates(found, 3, "upper", less, proved)  # another shift
    assert not _dominates(found, 0, "upper", less, proved)  # what failed is not known
    assert len(asked) == 3
    _dominates(found, 1, "upper", enough, proved)  # another matrix
    assert len(asked) == 4
    _dominates(found, 3, "lower", enough, proved)  # the other side
    assert len(asked) == 5
    assert _dominates(found, 3, "upper", enough, None)
    assert len(asked) == 6


def test_a_neuron_that_sees_nothing_has_no_curvature(tmp_path: Path) -> None:
    def deaf(layers: Any) -> None:
        few_inputs_each(layers)
        layers[1][0][2] = 0.0

    network, u, _ = deep_squares((8, 8, 5, 3, 2), change=deaf)
    found = expansion(tmp_path, network, u, 1, R, Floats)
    assert found.around.seen(2) == ([], [])
    assert _dominates(found, 2, "upper", fmpq(1, 1 << 40))
    np.testing.assert_allclose(
        matrix_of(found.around.squared_curvatures(Floats.of(5, 1, [1.0] * 5))),
        sum(m @ m for m in map(Around(network, u).curvature, range(5))),
        rtol=1e-12,
        atol=1e-14,
    )


def test_the_larger_space_is_tried_where_the_smaller_one_is_singular(tmp_path: Path) -> None:
    network, u, _ = deep_squares((5, 3, 4, 2), change=lambda layers: np.copyto(layers[0][0][1], layers[0][0][0]))
    around, found = Around(network, u), expansion(tmp_path, network, u, 1, R, Balls)
    least = np.linalg.eigvalsh(around.curvature(0))[0]
    assert _dominates(found, 0, "lower", *rationals([abs(least) + 1]))


def test_curvatures_are_proved_once_and_used_only_for_what_they_prove(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    around, found = made((3, 4, 3, 2), tmp_path)
    asked: list[Any] = []
    monkeypatch.setattr(lifted_ranges, "dominated", lambda *a: asked.extend(a[2]) or dominated(*a))
    known = Known()
    ranges = pairs(around.root_ranges(R)[0])
    _check_curvatures(found, ranges, known)
    assert len(asked) == 6
    for (neuron, side), proved in known.curvatures.items():
        least, *_, most = np.linalg.eigvalsh(around.curvature(neuron))
        assert float(proved) >= (most if side == "upper" else -least)
    _check_curvatures(found, ranges, known)
    assert len(asked) == 6
    for neuron, end in ((0, 0), (1, 1), (2, 0), (2, 1)):
        narrow = [list(pair) for pair in ranges]
        narrow[neuron][end] *= fmpq(99, 100)
        with pytest.raises(Refused, match=f"neuron {neuron}: the {('lower', 'upper')[end]} end is not proved"):
            _check_curvatures(found, narrow, known)
    wide = [(2 * low, 2 * high) for low, high in ranges]
    _check_curvatures(found, wide, known)
    assert len(asked) == 10
    inside = known.curvatures[0, "lower"] * fmpq(1, 4)  # r² times what was proved, and a little less
    _check_curvatures(found, [(-inside, ranges[0][1]), *ranges[1:]], known)
    assert len(asked) == 10
    for low, high in ((fmpq(0), fmpq(1)), (fmpq(1), fmpq(2)), (fmpq(-1), fmpq(0))):
        with pytest.raises(Refused, match="is not proved"):
            _check_curvatures(found, [(low * 1000, high * 1000), *ranges[1:]], Known())


def test_a_range_that_only_zero_could_prove(tmp_path: Path) -> None:
    """The shift has to be positive, for the test of definiteness is not one of semidefiniteness."""
    network, u, _ = deep_squares(change=lambda layers: np.abs(layers[1][0][0], out=layers[1][0][0]))
    found = expansion(tmp_path, network, u, 1, R, Balls)
    around = Around(network, u)
    assert np.linalg.eigvalsh(around.curvature(0))[0] > 0  # so w²_0 is never negative, which is not said in this way
    ranges = pairs(around.root_ranges(R)[0])
    for low in (fmpq(0), fmpq(1, 1 << 40)):
        with pytest.raises(Refused, match="neuron 0: the lower end is not proved"):
            _check_curvatures(found, [(low, ranges[0][1]), *ranges[1:]], Known())


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("first", [{}, {1: (-0.25, 0.0625), 2: (0.5, 1.0)}, {0: (-1.0, -0.5)}])
def test_intervals(first: Any, arithmetic: Any, tmp_path: Path) -> None:
    around, found = made((5, 3, 4, 3, 2), tmp_path, arithmetic)
    below = np.sort(np.random.default_rng(0).normal(size=(4, 2)), axis=1)
    for layer, ranges in ((2, None), (3, below)):
        least, most = around.intervals(layer - 1, R, ranges, first if layer == 2 else None)
        pieces = {neuron: tuple(rationals(ends)) for neuron, ends in first.items()}
        proved = _intervals(found, layer, pieces, [] if ranges is None else pairs(ranges))
        np.testing.assert_allclose([float(low) for low, _ in proved], least, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose([float(high) for _, high in proved], most, rtol=1e-12, atol=1e-12)


def test_intervals_contain_the_rests(tmp_path: Path) -> None:
    around, found = made((5, 3, 4, 3, 2), tmp_path)
    ranges = around.root_ranges(R)
    proved = [_intervals(found, 2, {}, []), _intervals(found, 3, {}, pairs(ranges[0]))]
    generator = np.random.default_rng(1)
    for _ in range(200):
        direction = generator.normal(size=5)
        rests = around.rests(R * direction / np.linalg.norm(direction))
        for rest, ends in zip(rests[1:], proved, strict=True):
            assert all(low < w < high for w, (low, high) in zip(rest, ends, strict=True))


def test_each_end_is_known_or_follows_from_intervals() -> None:
    known = [(fmpq(-2), fmpq(2))]
    intervals = [(arb(-1), arb(1))]

    def accepted(low: Any, high: Any, given: Any = None, between: Any = intervals) -> bool:
        return not _open_ends([(fmpq(low), fmpq(high))], between, given)

    half = fmpq(1, 2)
    assert accepted(-1, 1)
    assert accepted(-2, 3)
    assert not accepted(-half, 1)
    assert not accepted(-1, half)
    wide = [(arb(-5), arb(5))]
    assert accepted(-2, 2, known, wide)
    assert accepted(-3, 3, known, wide)
    assert not accepted(-1, 2, known, wide)
    assert not accepted(-2, 1, known, wide)
    assert not accepted(-2, 2, None, wide)
    assert accepted(-5, 5, None, wide)
    assert not accepted(-1, 1, None, [(arb(-1, 0.25), arb(1))])  # a ball is not known to be above its midpoint
    assert not accepted(-1, 1, None, [(arb(-1), arb(1, 0.25))])


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("widths", WIDTHS)
def test_ranges_of_the_ball(widths: Any, arithmetic: Any, tmp_path: Path) -> None:
    around, found = made(widths, tmp_path, arithmetic)
    ranges = around.root_ranges(R)
    proved = root_ranges(found, written(ranges), None, Known())
    for part, table in zip(proved, ranges, strict=True):
        np.testing.assert_array_equal([[float(low), float(high)] for low, high in part], table)
    for layer in range(len(ranges)):
        for neuron in range(len(ranges[layer])):
            for end in (0, 1):
                changed = [table.copy() for table in ranges]
                if layer == 0 and abs(changed[layer][neuron, end]) < 0.01 * R * R:
                    continue  # the curvature has one sign, and any end will do
                changed[layer][neuron, end] *= 0.99
                with pytest.raises(Refused, match=f"layer {layer + 2}, neuron {neuron}"):
                    root_ranges(found, written(changed), None, Known())
    empty = written(ranges)
    empty[0][0] = [empty[0][0][1]] * 2
    with pytest.raises(Refused, match="layer 2, neuron 0: the range is empty"):
        root_ranges(found, empty, None, Known())
    for wrong in (written(ranges)[1:], [*written(ranges), []], [table[1:] for table in written(ranges)]):
        with pytest.raises(Refused, match="entries"):
            root_ranges(found, wrong, None, Known())


def test_ranges_of_a_leaf(tmp_path: Path) -> None:
    around, found = made((5, 3, 4, 3, 2), tmp_path)
    known = tuple(pairs(table) for table in around.root_ranges(R))
    first = {1: tuple(rationals([0.0, 0.01])), 0: tuple(rationals([-0.01, 0.0]))}
    floats = {neuron: [float(end) for end in ends] for neuron, ends in first.items()}
    second = np.stack(around.intervals(1, R, None, floats), axis=1)
    stated = np.array([[float(end) for end in pair] for pair in known[0]])
    narrower = np.abs(second) < np.abs(stated)
    assert narrower.any()
    assert not narrower.all()
    second = np.where(narrower, second + OUTWARD, stated)
    third = np.stack(around.intervals(2, R, second), axis=1) + OUTWARD
    proved = leaf_ranges(found, written([second, third]), "leaf 0", known, first)
    np.testing.assert_array_equal([[float(end) for end in pair] for pair in proved[0]], second)
    np.testing.assert_array_equal([[float(end) for end in pair] for pair in proved[1]], third)
    with pytest.raises(Refused, match="layer 2"):  # the splits are what makes them true
        leaf_ranges(found, written([second, third]), "leaf 0", known, {})
    for layer, table in enumerate((second, third)):
        for place in np.ndindex(table.shape):
            tables = [second.copy(), third.copy()]
            tables[layer][place] -= np.sign(place[1] - 0.5) * 1e-6
            with pytest.raises(Refused, match=f"layer {layer + 2}, neuron {place[0]}"):
                leaf_ranges(found, written(tables), "leaf 0", known, first)
    # Third-layer ends that follow from the leaf's second layer only, and the known ones of the third layer itself.
    stated = np.array([[float(end) for end in pair] for pair in known[1]])
    leaf_ranges(found, written([second, stated]), "leaf 0", known, first)
    leaf_ranges(found, written([np.array(known[0], dtype=float), stated]), "leaf 0", known, {})


def test_first_ranges_are_rounded_outward(tmp_path: Path) -> None:
    around, found = made((3, 4, 3, 2), tmp_path)
    for neuron, row in enumerate(around.weights[0]):
        low, high = first_range(found, neuron)
        square = sum((value * value for value in rationals(row)), fmpq(0)) * fmpq(1, 4)
        assert low == -high
        assert square <= high * high < square * (1 + fmpq(1, 1 << 100))


def test_squares_and_multiples_of_an_interval() -> None:
    for low, high, least, most in (
        (-1, 2, 0, 4),
        (-3, 2, 0, 9),
        (1, 2, 1, 4),
        (-3, -2, 4, 9),
        (0, 0, 0, 0),
        (0, 2, 0, 4),
    ):
        assert _square(arb(low), arb(high)) == (least, most)
        assert _times(arb(3), (arb(low), arb(high))) == (3 * low, 3 * high)
        assert _times(arb(-3), (arb(low), arb(high))) == (-3 * high, -3 * low)
    (least, most), ends = _square(arb(1, 0.5), arb(2, 0.5)), _times(arb(1, 0.5), (arb(-2, 0.5), arb(2, 0.5)))
    assert least.contains(arb(0.25))
    assert most.contains(arb(6.25))
    assert ends[0].contains(arb(-3.75))
    assert ends[1].contains(arb(3.75))
    least, _ = _square(arb(0, 0.5), arb(2))  # the interval may contain zero
    assert least == 0


@pytest.mark.parametrize("seed", range(20))
def test_ends_a_little_beyond_the_truth_are_proved_at_every_precision_and_no_others(seed: int) -> None:
    """One input, so that all is rational: the ends of the sum over layer 2 of d w + c t², |t − w| ≤ r |a|, are known exactly."""
    generator = random.Random(seed)

    def dyadic(most: int) -> float:
        return generator.randrange(-most, most + 1) / 64

    size = 3
    model = Model(
        tuple(
            Matrix(rows, columns, [dyadic(99) for _ in range(rows * columns)])
            for rows, columns in ((2, 1), (size, 2), (size, size), (2, size))
        ),
        tuple([dyadic(99) for _ in range(rows)] for rows in (2, size, size, 2)),
        ((dyadic(64), dyadic(64), dyadic(64)), (dyadic(64), dyadic(64), dyadic(64)), (0.0, 1.0, 1.0)),
    )
    radius, u = fmpq(3, 8), fmpq(generator.randrange(-64, 65), 64)
    stated = [(-fmpq(generator.randrange(1, 99), 32), fmpq(generator.randrange(1, 99), 32)) for _ in range(size)]
    ends = _exact_ends(model, u, radius, stated)
    answers = []
    for bits in (64, 96, 128, 192, 256, 400):
        with working_precision(bits):
            found = HiddenLayers(model, Surroundings(model, [u], Balls), 0, 1, radius)
            proved = _intervals(found, 3, {}, stated)
            little, all_of_it = fmpq(1, 1 << 40), []
            for wider in (-little, little, *(fmpq(1, 1 << k) for k in range(40, 140))):
                told = [(low - wider, high + wider) for low, high in ends]
                all_of_it.append(not _open_ends(told, proved, None))
            assert not all_of_it[0]
            assert all_of_it[1]
            answers.append(all_of_it)
    for fewer, more in itertools.pairwise(answers):
        assert all(b or not a for a, b in zip(fewer, more, strict=True)), "what few bits prove, more bits do"


def _exact_ends(model: Model, u: fmpq, radius: fmpq, stated: list[tuple[fmpq, fmpq]]) -> list[tuple[fmpq, fmpq]]:
    """By the definition, in rationals."""

    def rational(values: Any) -> list[fmpq]:
        return [fmpq(*float(value).as_integer_ratio()) for value in values]

    values, slopes = [u], [fmpq(1)]
    for matrix, bias, sigma in zip(model.weights[:2], model.biases[:2], model.activations[:2], strict=True):
        rows, (c0, c1, c2) = [rational(matrix.row(i)) for i in range(matrix.rows)], rational(sigma)
        z = [
            sum((w * v for w, v in zip(row, values, strict=True)), b)
            for row, b in zip(rows, rational(bias), strict=True)
        ]
        a = [sum((w * s for w, s in zip(row, slopes, strict=True)), fmpq(0)) for row in rows]
        d = [c1 + 2 * c2 * p for p in z]
        values, slopes = [c0 + c1 * p + c2 * p * p for p in z], [x * y for x, y in zip(d, a, strict=True)]
    inner = []
    for (low, high), slope, rise in zip(stated, a, d, strict=True):
        t = [low - radius * abs(slope), high + radius * abs(slope)]
        squares = [c2 * end * end for end in t] + [fmpq(0)] * (t[0] < 0 < t[1])
        multiples = [rise * low, rise * high]
        inner.append((min(multiples) + min(squares), max(multiples) + max(squares)))
    result = []
    for i in range(model.weights[2].rows):
        pairs_of = [sorted((w * x, w * y)) for w, (x, y) in zip(rational(model.weights[2].row(i)), inner, strict=True)]
        result.append((sum((p[0] for p in pairs_of), fmpq(0)), sum((p[1] for p in pairs_of), fmpq(0))))
    return result
