"""Programs of products, detail by detail: what a file may say, what the program is, and what its boundary is on a box."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explicit_polynomials import explicit
from flint import acb, arb, fmpq

import polymargin as pm
from polymargin.networks.product_network import Activation, Forms, Product, ProductNetwork
from polymargin_checker import products, squares, work
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.model import read_model
from polymargin_checker.product_boundary import ProductBoundary
from polymargin_checker.products import Products
from polymargin_checker.refusal import Refused, Unusable
from polymargin_checker.work import limited_work


def model_of(network: ProductNetwork, folder: Path) -> Products:
    network.save(folder / "model.npz")
    model = read_model(folder / "model.npz")
    assert isinstance(model, Products)
    return model


def rationals(values: Any) -> list[fmpq]:
    return [fmpq(*float(value).as_integer_ratio()) for value in values]


def fractions(values: Any) -> list[Fraction]:
    return [Fraction(int(value.p), int(value.q)) for value in values]


# -- the program -----------------------------------------------------------------------------------


def mixed(basis: str, coefficients: tuple[float, ...]) -> ProductNetwork:
    """A product, an activation of it, and a product of both with an input; biases and weights are small dyadics."""
    first = Product(Forms.of([[1.0, 0.5], [0.0, -2.0]], [0.25, 1.0]), Forms.of([[0.0, 1.0], [1.5, 0.0]], [0.0, -0.5]))
    bent = Activation(Forms.of([[0.5, 0.0, 0.25, 0.0], [0.0, 0.0, -0.5, 1.0]], [0.125, 0.0]), coefficients, basis)
    last = Product(Forms.of([[0.0, 0.0, 0.0, 0.0, 1.0, -0.5]], [0.5]), Forms.of([[1.0, 0.0, 0.0, 1.0, 0.0, 0.25]]))
    readout = Forms.of(
        [
            [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0],
            [1.0, 0.0, -0.5, 0.0, 1.0, 2.0, 0.0],
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        ],
        [0.5, 0.0, -0.25],
    )
    return ProductNetwork([first, bent, last], readout)


SERIES = [
    ("powers", (0.5, -1.0)),
    ("powers", (0.0, 0.0, 0.75)),
    ("powers", (0.25, 0.0, -0.5, 0.0, 0.0, 1.5)),
    ("chebyshev", (0.5, -1.0)),
    ("chebyshev", (0.25, 0.0, 0.5)),
    ("chebyshev", (0.0, 1.0, 0.0, -0.5)),
    ("chebyshev", (0.5, 0.0, -0.25, 0.0, 1.0, 0.0, 0.125, 2.0)),
    ("legendre", (0.5, -1.0)),
    ("legendre", (0.25, 0.0, 0.5)),
    ("legendre", (0.5, 0.0, -0.25, 0.0, 1.0, 0.0, 0.125, 2.0)),
    ("hermite", (0.5, -1.0)),
    ("hermite", (0.0, 1.0, 0.0, -0.5)),
    ("hermite_e", (0.5, 0.0, -0.25, 0.0, 1.0, 0.125)),
]


def value_of(basis: str, coefficients: tuple[float, ...], z: Fraction) -> Fraction:
    return sum((Fraction(c) * explicit(basis, k, z) for k, c in enumerate(coefficients)), Fraction(0))


def by_definition(network: ProductNetwork, point: list[Fraction]) -> list[Fraction]:
    def rows(forms: Forms, values: list[Fraction]) -> list[Fraction]:
        pairs = [forms.row(index) for index in range(len(forms))]
        return [
            Fraction(bias) + sum(Fraction(w) * values[c] for c, w in zip(columns, weights, strict=True))
            for (columns, weights), bias in zip(pairs, forms.bias.tolist(), strict=True)
        ]

    values = list(point)
    for stage in network.stages:
        results = [rows(forms, values) for forms in stage.forms]
        if isinstance(stage, Activation):
            values += [value_of(stage.basis, stage.coefficients, z) for z in results[0]]
        else:
            values += [a * b for a, b in zip(*results, strict=True)]
    return rows(network.readout, values)


@pytest.mark.parametrize(("basis", "coefficients"), SERIES)
def test_exact_logits_and_layers_are_the_definition(basis: str, coefficients: Any, tmp_path: Path) -> None:
    network = mixed(basis, coefficients)
    model = model_of(network, tmp_path)
    lowering = network.layered(0, 1).lowering["scales"]
    layers = model.layers({"scales": [(3 * float(scale)).hex() for scale in lowering]})
    for point in ([Fraction(3, 8), Fraction(-5, 4)], [Fraction(7), Fraction(1, 32)], [Fraction(3), Fraction(-2)]):
        truth = by_definition(network, point)
        exact = [fmpq(part.numerator, part.denominator) for part in point]
        assert fractions(model.exact_logits(exact)) == truth
        values: list[Any] = exact
        for weights, bias in zip(layers.weights, layers.biases, strict=True):
            rows = [weights.row(index) for index in range(weights.rows)]
            z = [
                sum((a * b for a, b in zip(row, values, strict=True)), fmpq(c))
                for row, c in zip(rows, bias, strict=True)
            ]
            values = [entry * entry for entry in z]
        assert fractions(z) == truth


def test_the_degree_is_that_of_the_highest_logit(tmp_path: Path) -> None:
    for basis, coefficients in SERIES:
        order = len(coefficients) - 1
        model = model_of(mixed(basis, coefficients), tmp_path)
        assert model.degree == 4 * order  # the product of two activations of products
        network = mixed(basis, coefficients)
        readout = Forms.of([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
        assert model_of(ProductNetwork(network.stages, readout), tmp_path).degree == 2


def test_the_forms_of_the_input_are_counted_once_each(tmp_path: Path) -> None:
    """What a form adds of later values, or of a constant, makes no form of the input; the size of a weight neither."""
    seen, other = [5.0, 7.0, 0.0], [5.0, 7.0, 9.0]

    def variables(*rows: list[float]) -> int:
        """Of x₀, x₁, x₂, a product of the first two rows, and a product of the last two, the second of which sees it."""
        first = Product(Forms.of([rows[0]]), Forms.of([rows[1]], [3.0]))
        second = Product(Forms.of([[*rows[2], 0.0]]), Forms.of([[*rows[3], 4.0]]))
        readout = Forms.of([[0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]])
        return model_of(ProductNetwork([first, second], readout), tmp_path).variables

    nothing = [0.0, 0.0, 0.0]
    assert variables(seen, seen, seen, seen) == 1
    assert variables(seen, seen, seen, nothing) == 1
    assert variables(seen, seen, seen, other) == 2
    assert variables(seen, other, [1.0, 0.0, 0.0], nothing) == 3
    assert variables(seen, other, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]) == 3  # no more than inputs


def test_a_lowering_says_its_scales_and_nothing_else(tmp_path: Path) -> None:
    network = mixed("powers", (0.0, 0.0, 0.75))
    model = model_of(network, tmp_path)
    scales = [float(scale).hex() for scale in network.layered(0, 1).lowering["scales"]]
    model.layers({"scales": scales})
    for wrong in ({}, {"scales": scales, "more": scales}, [scales]):
        with pytest.raises(Refused, match="lowering"):
            model.layers(wrong)


# -- the boundary on a box -------------------------------------------------------------------------


@pytest.mark.parametrize(("basis", "coefficients"), SERIES)
def test_jets_are_derivatives(basis: str, coefficients: Any, tmp_path: Path) -> None:
    network = mixed(basis, coefficients)
    model = model_of(network, tmp_path)
    point = np.array([0.375, -0.625])
    for label, rival in ((0, 1), (1, 0), (2, 1)):
        truth = pm.Boundary.from_network(network, label, rival)
        with working_precision(128):
            jet = ProductBoundary(model, label, rival).jet([acb(x) for x in point], hessian=True)
            found = [float(entry.real.mid()) for entry in (jet.value, *jet.gradient.entries(), *jet.hessian.entries())]
        expected = [truth(point), *truth.gradient(point), *truth.hessian(point).ravel()]
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("basis", "coefficients"), SERIES)
def test_jets_of_a_box_contain_those_of_its_points(basis: str, coefficients: Any, tmp_path: Path) -> None:
    """At its corners, where a part of the formula that was taken at the midpoint only would be too narrow."""
    model = model_of(mixed(basis, coefficients), tmp_path)
    with working_precision(128):
        boundary = ProductBoundary(model, 0, 1)
        middle = (acb(0.375, 0.125), acb(-0.625, 0.25))
        box = [acb(arb(part.real, 0.0625), arb(part.imag, 0.0625)) for part in middle]
        wide = boundary.jet(box, hessian=True)
        for corner in np.ndindex(3, 3, 3, 3):
            a, b, c, d = (0.0625 * (index - 1) for index in corner)
            there = boundary.jet([middle[0] + acb(a, b), middle[1] + acb(c, d)], hessian=True)
            assert wide.value.contains(there.value.mid())
            for name in ("gradient", "hessian"):
                pairs = zip(getattr(wide, name).entries(), getattr(there, name).entries(), strict=True)
                assert all(one.contains(other.mid()) for one, other in pairs), name


def test_every_part_of_a_box_counts(tmp_path: Path) -> None:
    """σ' and σ'' on their own: B = σ(z) with z = x, so ∂B = σ'(X) and ∂²B = σ''(X), and nothing else has a radius."""
    for basis, coefficients, first, second in (
        ("powers", (0.0, 0.0, 0.0, 1.0), (0.75, 6.75), (3.0, 9.0)),  # z³ on 0.5 ≤ z ≤ 1.5
        ("chebyshev", (0.0, 0.0, 0.0, 0.25), (0.0, 6.0), (3.0, 9.0)),  # z³ − 3z/4
    ):
        stage = Activation(Forms.of([[1.0]]), coefficients, basis)
        model = model_of(ProductNetwork([stage], Forms.of([[0.0, 1.0], [0.0, 0.0]])), tmp_path)
        with working_precision(128):
            jet = ProductBoundary(model, 0, 1).jet([acb(arb(1.0, 0.5))], hessian=True)
            for entry, ends in ((jet.gradient[0, 0], first), (jet.hessian[0, 0], second)):
                assert all(entry.contains(acb(end)) for end in ends)


def test_weights_of_both_logits_meet_in_the_boundary(tmp_path: Path) -> None:
    """A value that both logits read, one of them, and none; the two constants."""
    stage = Product(Forms.of([[1.0], [0.0], [1.0]], [0.0, 2.0, 0.0]), Forms.of([[1.0], [1.0], [0.0]], [0.0, 0.0, 3.0]))
    readout = Forms.of([[1.0, 2.0, 0.5, 0.0], [0.0, 0.75, 0.0, 1.0]], [0.25, 4.0])
    model = model_of(ProductNetwork([stage], readout), tmp_path)
    with working_precision(128):
        jet = ProductBoundary(model, 0, 1).jet([acb(2)], hessian=True)
    # x + 1.25 x² + 0.5·2x − 3x − 3.75
    assert [float(v.real.mid()) for v in (jet.value, jet.gradient[0, 0], jet.hessian[0, 0])] == [-0.75, 4.0, 2.5]


# -- limits ----------------------------------------------------------------------------------------


def squared_again_and_again(times: int) -> ProductNetwork:
    forms = [Forms.of([[0.0] * k + [1.0]]) for k in range(times)]
    return ProductNetwork(
        [Product(form, form) for form in forms], Forms.of([[0.0] * times + [1.0], [1.0] + [0.0] * times])
    )


def test_logits_of_a_high_degree_are_refused_before_they_are_computed(tmp_path: Path) -> None:
    model = model_of(squared_again_and_again(40), tmp_path)
    assert model.degree == 2**40
    assert model_of(squared_again_and_again(5), tmp_path).exact_logits([fmpq(3)])[0] == fmpq(3) ** 32
    for point in (fmpq(3), fmpq(3, 2)):
        with pytest.raises(Refused, match="more memory than this checker allows"):
            model.exact_logits([point])


def test_the_sizes_of_integers_are_looked_at_before_they_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every sum, every activation and every joining of values asks, with what it is about to make."""
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(products, "afford", lambda bits, count: asked.append((bits, count)))
    model = model_of(mixed("powers", (0.0, 0.0, 0.0, 1.0)), tmp_path)
    logits = model.exact_logits([fmpq(1 << 100), fmpq(1, 1 << 50)])
    assert len(asked) == 5 + 1 + 1 + 3  # forms, with the read-out; the activation; one joining per stage
    longest = max(int(value.p).bit_length() for value in logits)
    assert max(bits for bits, _ in asked) >= longest


def test_layers_of_squares_have_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = mixed("powers", (0.0, 0.0, 0.75))
    model = model_of(network, tmp_path)
    lowering = {"scales": [float(scale).hex() for scale in network.layered(0, 1).lowering["scales"]]}
    layers = model.layers(lowering)
    largest = max(matrix.rows * matrix.columns for matrix in layers.weights)
    numbers = [*(w for matrix in layers.weights for w in matrix.values), *(b for bias in layers.biases for b in bias)]
    longest = max(int(w.p).bit_length() + int(w.q).bit_length() for w in numbers)
    for name, least, reason in (("_LARGEST_LAYER", largest, "too large"), ("_LONGEST", longest, "longer numbers")):
        with monkeypatch.context() as patched:
            patched.setattr(squares, name, least)
            assert model.layers(lowering) == layers
            patched.setattr(squares, name, least - 1)
            with pytest.raises(Refused, match=reason):
                model.layers(lowering)


def test_memory_for_integers() -> None:
    for bits, count in ((1 << 20, 1), (1 << 15, 1 << 15), (1, 1 << 30)):
        products.afford(bits, count)
    for bits, count in (((1 << 20) + 1, 1), ((1 << 15) + 1, 1 << 15), (2, 1 << 30)):
        with pytest.raises(Refused, match="more memory"):
            products.afford(bits, count)


def test_a_deep_program_is_refused_for_its_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its layers has to look through all forms of those above: as many steps as the square of the depth."""
    monkeypatch.setattr(work, "FLAT", 1 << 34)
    monkeypatch.setattr(work, "PER_NUMBER", 0)
    for times, refused in ((4, False), (120, True)):
        network = squared_again_and_again(times)
        model = model_of(network, tmp_path)
        with limited_work():
            scales = {"scales": ["0x1p0"] * (2 * times)}
            if refused:
                with pytest.raises(Refused, match="the layers of squares: more work"):
                    model.layers(scales)
            else:
                assert len(model.layers(scales).weights) == times + 1


def test_every_step_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums, products and activations of the exact logits; rows and sums of the layers of squares."""
    asked: list[tuple[int, int, str]] = []
    for module in (products, squares):
        monkeypatch.setattr(module, "spend", lambda *words: asked.append(words))
    network = mixed("powers", (0.0, 0.0, 0.0, 1.0))
    model = model_of(network, tmp_path)
    model.exact_logits(rationals([1.0, 2.0]))
    weights = [64 * (len(form.weights) + len(form)) for stage in model.stages for form in stage.forms]
    assert [count for count, *_ in asked] == [
        weights[0],
        weights[1],
        2,
        weights[2],
        3 * 2,
        weights[3],
        weights[4],
        1,
        64 * (7 + 3),
    ]
    assert {step for *_, step in asked} == {"the exact logits"}
    asked.clear()
    model.layers({"scales": [float(scale).hex() for scale in network.layered(0, 1).lowering["scales"]]})
    assert {step for *_, step in asked} == {"the layers of squares"}
    # Two kinds of steps: a row that is looked through, at no length, and a sum, at the length of its numbers.
    assert {bits > 0 for _, bits, _ in asked} == {False, True}


# -- the file --------------------------------------------------------------------------------------


@pytest.fixture
def arrays(tmp_path: Path) -> dict[str, Any]:
    mixed("chebyshev", (0.25, 0.0, 0.5)).save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as data:
        return dict(data)


def read(folder: Path, arrays: dict[str, Any]) -> Any:
    np.savez(folder / "other.npz", **arrays)
    return read_model(folder / "other.npz")


def test_the_file_is_read_as_it_is(arrays: dict[str, Any], tmp_path: Path) -> None:
    model = read(tmp_path, arrays)
    network = mixed("chebyshev", (0.25, 0.0, 0.5))
    assert model.fingerprint() == network.fingerprint
    forms = [form for stage in model.stages for form in stage.forms] + [model.readout]
    theirs = [form for stage in network.stages for form in stage.forms] + [network.readout]
    for ours, expected in zip(forms, theirs, strict=True):
        assert (ours.width, ours.starts, ours.columns) == (
            expected.width,
            expected.starts.tolist(),
            expected.columns.tolist(),
        )
        assert list(ours.weights) == expected.weights.tolist()
        assert list(ours.bias) == expected.bias.tolist()
    assert [(len(stage), stage.letter, stage.coefficients) for stage in model.stages] == [
        (2, "P", ()),
        (2, "C", (0.25, 0.0, 0.5)),
        (1, "P", ()),
    ]
    assert (model.dimension, model.class_count) == (2, 3)


def test_every_entry_is_part_of_the_fingerprint(arrays: dict[str, Any], tmp_path: Path) -> None:
    found = {read(tmp_path, arrays).fingerprint()}
    changed = 1
    for name, values in arrays.items():
        if name.endswith(("weights", "bias")) or name.startswith("activation"):
            for index in range(len(values)):
                other = values.copy()
                other[index] = np.nextafter(other[index], 9.0)
                found.add(read(tmp_path, arrays | {name: other}).fingerprint())
                changed += 1
    found.add(read(tmp_path, arrays | {"stages": np.array("PAP")}).fingerprint())
    assert len(found) == changed + 1
    # The same numbers in other columns, and in other rows.
    for starts, columns in (([0, 2, 4], [0, 1, 2, 3]), ([0, 1, 4], [0, 1, 2, 3]), ([0, 1, 4], [0, 0, 2, 3])):
        other = {"forms_3_starts": np.array(starts), "forms_3_columns": np.array(columns)}
        found.add(read(tmp_path, arrays | other).fingerprint())
    assert len(found) == changed + 4


def test_what_is_missing_or_unknown(arrays: dict[str, Any], tmp_path: Path) -> None:
    for name in arrays:
        if name != "format":
            rest = {key: value for key, value in arrays.items() if key != name}
            with pytest.raises(Unusable, match=f"{name}' is missing"):
                read(tmp_path, rest)
    for name in ("forms_7_starts", "activation_1", "activation_3", "note", "weight_1"):
        with pytest.raises(Unusable, match="not part of a network of products"):
            read(tmp_path, arrays | {name: np.zeros(2)})


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("stages", "", "expected the letters"),
        ("stages", "PCX", "expected the letters"),
        ("stages", "P" * 1000, "expected"),
        ("stages", "PC", "sizes"),
        ("stages", "PCPP", "sizes"),
        ("sizes", [2, 2, 2, 1], "sizes"),
        ("sizes", [2, 2, 2, 1, 3, 1], "sizes"),
        ("sizes", [0, 2, 2, 1, 3], "sizes"),
        ("sizes", [2, 2, 2, 0, 3], "sizes"),
        ("sizes", [2, 2, 2, 1, 1], "at least two logits"),
        ("sizes", [2.5, 2, 2, 1, 3], "whole numbers"),
        ("sizes", [-2, 2, 2, 1, 3], "whole numbers"),
        ("sizes", [2, 3, 2, 1, 3], "lengths"),
        ("activation_2", [1.0], "expected 2 to 128"),
        ("activation_2", [1.0] * 129, "expected 2 to 128"),
        ("activation_2", [1.0, 1.0, 0.0], "the last not zero"),
        ("activation_2", [1.0, np.inf], "not finite"),
        ("forms_1_starts", [0, 2], "lengths"),
        ("forms_1_starts", [0, 2, 3, 3], "lengths"),
        ("forms_1_starts", [1, 2, 3], "starts do not rise"),
        ("forms_1_starts", [0, 2, 2], "starts do not rise"),
        ("forms_1_starts", [0, 4, 3], "starts do not rise"),
        ("forms_1_columns", [0, 1], "lengths"),
        ("forms_1_columns", [0, 1, 1, 1], "lengths"),
        ("forms_1_columns", [0, 0, 1], "columns of row 0 do not rise"),
        ("forms_1_columns", [1, 0, 1], "columns of row 0 do not rise"),
        ("forms_1_columns", [0, 2, 1], "columns of row 0 do not rise within 0 and 1"),
        ("forms_1_columns", [0, 1, 2], "columns of row 1 do not rise within 0 and 1"),
        ("forms_1_columns", [-1, 1, 1], "whole numbers"),
        ("forms_1_columns", [0, 0.5, 1], "whole numbers"),
        ("forms_1_bias", [0.0], "lengths"),
        ("forms_1_bias", [0.0, np.nan], "not finite"),
        ("forms_1_weights", [1.0, 1.0], "lengths"),
        ("forms_6_columns", [1, 7, 0, 2, 4, 5, 0], "columns of row 0 do not rise within 0 and 6"),
    ],
)
def test_what_a_file_may_not_say(name: str, value: Any, reason: str, arrays: dict[str, Any], tmp_path: Path) -> None:
    assert all(a <= b for a, b in pairwise(arrays["forms_1_starts"].tolist()))
    with pytest.raises(Unusable, match=reason):
        read(tmp_path, arrays | {name: np.array(value)})


def test_degrees_up_to_the_limit_and_rows_without_weights(arrays: dict[str, Any], tmp_path: Path) -> None:
    assert len(read(tmp_path, arrays | {"activation_2": np.ones(128)}).stages[1].coefficients) == 128
    assert len(read(tmp_path, arrays | {"activation_2": np.ones(2)}).stages[1].coefficients) == 2
    empty = {"forms_1_starts": np.array([0, 0, 0]), "forms_1_columns": np.zeros(0), "forms_1_weights": np.zeros(0)}
    model = read(tmp_path, arrays | empty)
    assert [model.stages[0].forms[0].row(index) for index in (0, 1)] == [[], []]
    assert model.degree == 4  # 1 for the first product, 2 for the activation, and a product of two of these
