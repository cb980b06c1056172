"""Curvatures of rests: proved only where they hold, for the forms they are stated of, and in the leaf that states them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.test_region_form import RADIUS, REGIONS, U, rational, region_of, samples
from checker.views_of_files import read_view
from flint import fmpq
from problems import random_network

import polymargin as pm
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.checker import check
from polymargin_checker.enclosures import Balls
from polymargin_checker.floats import Floats
from polymargin_checker.neighbourhood import PLAIN
from polymargin_checker.refusal import Refused
from polymargin_checker.region import CheckedRegion
from polymargin_checker.region_curvatures import StatedRanges, proved_rests
from polymargin_checker.region_expansion import EnclosedExpansion
from polymargin_checker.region_proof import KnownExpansions

SLOPES = np.array([[1.0, 0.5], [-0.5, 2.0], [0.25, 1.0]])
WEIGHTS = np.array([[1.0, -2.0, 0.5], [-1.0, -0.5, -3.0], [2.0, 1.0, 0.0]])


def number(value: fmpq) -> float:
    return float(value.p) / float(value.q)


@pytest.mark.parametrize(("norm", "weighted", "domain"), REGIONS)
@pytest.mark.parametrize("centre", ["point", "middle"])
def test_reaches_hold_on_the_region(norm: str, weighted: bool, domain: bool, centre: str) -> None:
    region = region_of(norm, weighted, domain)
    place = list(region.point) if centre == "point" else region.middle()
    scales, bound = region.reaches(place)
    deltas = samples(region, np.random.default_rng(1)) - np.array([number(v) for v in place])
    lengths = ((deltas / np.array([number(v) for v in scales])) ** 2).sum(axis=1)
    assert (lengths <= number(bound) * (1 + 1e-12)).all()
    if not domain and centre == "point":  # and no more than they need
        assert lengths.max() >= 0.4 * number(bound)


def exact_ends(scales: np.ndarray, neuron: int) -> tuple[float, float]:
    scaled = SLOPES * scales
    values = np.linalg.eigvalsh(scaled.T @ (WEIGHTS[neuron][:, None] * scaled))
    return min(values[0], 0.0), max(values[-1], 0.0)


@pytest.mark.parametrize("arithmetic", [Balls, Floats])
@pytest.mark.parametrize(("norm", "weighted", "domain"), [REGIONS[0], REGIONS[3], REGIONS[6], REGIONS[9]])
def test_curvatures_are_proved_down_to_the_eigenvalues(
    norm: str, weighted: bool, domain: bool, arithmetic: type[Any]
) -> None:
    region = region_of(norm, weighted, domain)
    centre = region.middle()
    reaches, bound = region.reaches(centre)
    scales = np.array([number(v) for v in reaches])
    with working_precision(128):
        slopes = arithmetic.of(3, 2, [rational(v) for v in SLOPES.ravel()])
        weights = arithmetic.of(3, 3, [rational(v) for v in WEIGHTS.ravel()])

        def ranges(stated: list[tuple[float, float]]) -> list[tuple[float, float]]:
            pairs = [(rational(low), rational(high)) for low, high in stated]
            return proved_rests(pairs, slopes, weights, region, centre, arithmetic)

        true = [tuple(number(bound) * end for end in exact_ends(scales, neuron)) for neuron in range(3)]
        largest = max(abs(end) for pair in true for end in pair)
        wide = [(low - 1e-5 * largest, high + 1e-5 * largest) for low, high in true]
        found = ranges(wide)
        for (low, high), (less, more) in zip(found, wide, strict=True):
            assert low == pytest.approx(less, rel=1e-12)
            assert high == pytest.approx(more, rel=1e-12)
            assert low <= less
            assert high >= more
        deltas = samples(region, np.random.default_rng(2)) - np.array([number(v) for v in centre])
        rests = (deltas @ SLOPES.T) ** 2 @ WEIGHTS.T
        assert (np.array(found)[:, 0] <= rests + 1e-12).all()
        assert (rests <= np.array(found)[:, 1] + 1e-12).all()
        for neuron in range(3):
            for side in (0, 1):
                if true[neuron][side] == 0:  # of the right sign already
                    continue
                less_ = [list(pair) for pair in wide]
                less_[neuron][side] = 0.99 * true[neuron][side]
                with pytest.raises(Refused, match=f"that of neuron {neuron} is not shown"):
                    ranges([(low, high) for low, high in less_])


def test_entries_are_read_in_order() -> None:
    pair = ["-0x1p+0", "0x1p+1"]
    stated = StatedRanges([None, [pair, ["0x0p+0", "0x0p+0"]]])
    assert stated.next(5) is None
    assert stated.next(2) == [(fmpq(-1), fmpq(2)), (fmpq(0), fmpq(0))]
    stated.end()
    with pytest.raises(Refused, match="fewer entries"):
        stated.next(1)
    nothing = StatedRanges(None)
    assert [nothing.next(size) for size in (1, 2, 3)] == [None] * 3
    nothing.end()
    with pytest.raises(Refused, match="more entries"):
        StatedRanges([None]).end()
    for entry, words in (
        ([[pair]], "expected 2 entries"),
        ([[pair, pair, pair]], "expected 2 entries"),
        ([[pair, ["0x1p+0"]]], "expected 2 entries"),
        ([[pair, ["0x1p-3", "0x1p+0"]]], "up to 0"),
        ([[pair, ["-0x1p+0", "-0x1p-3"]]], "from 0 on"),
        ([7], "expected a list"),
    ):
        with pytest.raises(Refused, match=words):
            StatedRanges(entry).next(2)
    with pytest.raises(Refused, match="expected a list"):
        StatedRanges({})


def known(network: Any, folder: Path, region: CheckedRegion) -> KnownExpansions:
    network.save(folder / "model.npz")
    return KnownExpansions(read_view(str(folder / "model.npz")), True, region.near, region.point)  # type: ignore[arg-type]


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_ranges_of_rests_are_narrowed_and_hold(norm: str, tmp_path: Path) -> None:
    network, region = random_network([2, 3, 4, 2], 2, seed=1), region_of(norm, False, False)
    steps = known(network, tmp_path, region)
    wide = [["-0x1p+5", "0x1p+5"]] * 4
    with working_precision(128):
        plain = EnclosedExpansion(steps.prepared(), region, list(region.point)).at[1].forms[0].rest
        scales, bound = region.reaches(region.point)
        first, second = network.chain.layers[0].weights, network.chain.layers[1].weights
        scaled = first * np.array([number(v) for v in scales])
        stated = []
        for row in second:
            values = number(bound) * np.linalg.eigvalsh(scaled.T @ (row[:, None] * scaled))
            stated.append([float(min(values[0], 0) - 1e-4).hex(), float(max(values[-1], 0) + 1e-4).hex()])
        narrow = EnclosedExpansion(steps.prepared(), region, list(region.point), [stated]).at[1].forms[0].rest
        same = EnclosedExpansion(steps.prepared(), region, list(region.point), [wide]).at[1].forms[0].rest
        assert same == plain
        with pytest.raises(Refused, match="more entries"):
            EnclosedExpansion(steps.prepared(), region, list(region.point), [stated, None])
    assert plain is not None
    assert narrow is not None
    widths = [(b - a, d - c) for (a, b), (c, d) in zip(plain, narrow, strict=True)]
    assert all(new <= old for old, new in widths)
    assert sum(new for _, new in widths) < 0.95 * sum(old for old, _ in widths)
    deltas = samples(region, np.random.default_rng(3)) - np.array(U)
    rests = (deltas @ first.T) ** 2 @ second.T
    assert (np.array(narrow)[:, 0] <= rests + 1e-12).all()
    assert (rests <= np.array(narrow)[:, 1] + 1e-12).all()
    assert number(bound) == pytest.approx(2.0 if norm == "linf" else RADIUS**2)


def not_made_of_squares() -> dict[str, tuple[Any, list[Any]]]:
    generator = np.random.default_rng(1)
    layers = [(generator.normal(size=s), generator.normal(size=s[0])) for s in ((3, 2), (3, 3), (2, 3))]
    huge = ["-0x1p+20", "0x1p+20"]
    factors = [generator.normal(size=(2, 2)) for _ in range(3)]
    return {
        "cubes": (pm.PolynomialNetwork(layers, activations=[(0.0, 1.0, 0.5, 0.2), (0.0, 0.0, 1.0)]), [[huge] * 3]),
        "products": (pm.pi_net(factors, generator.normal(size=(2, 2))), [[huge] * 2]),
        "a third layer": (random_network([2, 2, 2, 2, 2], 2, seed=3), [None, [huge] * 2]),
    }


@pytest.mark.parametrize("name", not_made_of_squares())
def test_other_rests_have_none(name: str, tmp_path: Path) -> None:
    network, stated = not_made_of_squares()[name]
    region = region_of("linf", False, False)
    steps = known(network, tmp_path, region)
    with working_precision(128), pytest.raises(Refused, match="expected a rest of squares"):
        EnclosedExpansion(steps.prepared(), region, list(region.point), stated)


def proof() -> tuple[Any, dict[str, Any]]:
    """Three classes, proved on the whole region by curvatures, which it needs; made once."""
    if not _made:
        network, u = random_network([10, 10, 8, 3], 2, seed=3), np.full(10, 0.05)
        attacked = pm.attack(network, u, within=pm.Linf())
        assert attacked is not None
        verdict = pm.verify(network, u, 0.6 * attacked.distance, within=pm.Linf())
        assert verdict.certificate is not None
        _made.append((network, verdict.certificate.data))
    network, data = _made[0]
    return network, copy.deepcopy(data)


_made: list[tuple[Any, dict[str, Any]]] = []


def leaf(data: dict[str, Any], rival: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = data["rivals"][rival]["proof"]["tree"]
    return found


def judged(network: Any, data: dict[str, Any], folder: Path) -> tuple[bool, str]:
    network.save(folder / "model.npz")
    (folder / "proof.json").write_text(json.dumps(data))
    found = check(folder / "model.npz", folder / "proof.json")
    return found.accepted, found.reason


def halved(data: dict[str, Any], rival: int) -> None:
    (rows,) = leaf(data, rival)["ranges"]
    leaf(data, rival)["ranges"] = [[[(0.5 * float.fromhex(end)).hex() for end in row] for row in rows]]


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "smaller ones": lambda d: halved(d, 0),
    "smaller ones of the second rival alone": lambda d: halved(d, 1),
    "none": lambda d: leaf(d).pop("ranges"),
    "null": lambda d: leaf(d).update(ranges=None),
    "no entry": lambda d: leaf(d).update(ranges=[]),
    "an entry of null": lambda d: leaf(d).update(ranges=[None]),
    "an entry too many": lambda d: leaf(d)["ranges"].append(None),
    "a neuron too few": lambda d: leaf(d)["ranges"][0].pop(),
    "another order": lambda d: leaf(d)["ranges"][0].reverse(),
}


@pytest.mark.parametrize("name", CHANGES)
def test_no_change_passes(name: str, tmp_path: Path) -> None:
    network, data = proof()
    assert judged(network, data, tmp_path)[0]
    CHANGES[name](data)
    accepted, reason = judged(network, data, tmp_path)
    assert not accepted, name
    assert "could not finish" not in reason


def test_a_plain_ball_around_the_point_has_its_radius() -> None:
    region = CheckedRegion(PLAIN, [fmpq(1), fmpq(2)], fmpq(3), PLAIN.box([fmpq(1), fmpq(2)], fmpq(3)))
    assert region.reaches([fmpq(1), fmpq(2)]) == ([fmpq(1)] * 2, fmpq(9))
    assert region.reaches([fmpq(1), fmpq(1)]) == ([fmpq(3), fmpq(4)], fmpq(2))
