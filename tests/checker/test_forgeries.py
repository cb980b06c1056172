"""False certificates that a checker with one weak line would accept, and what each line has to know for that."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import certificate, completeness, hexes, write
from flint import acb, arb, arb_mat, arb_poly, fmpq
from problems import random_network

import polymargin as pm
from polymargin.networks.attention import LightningAttention
from polymargin_checker import check
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.attention import Attention
from polymargin_checker.completeness import Nature, _judge
from polymargin_checker.definite import positive_definite
from polymargin_checker.exact import exact_logits, slope
from polymargin_checker.krawczyk import contract, symmetrised
from polymargin_checker.leaf import BallProblem
from polymargin_checker.model import Matrix, Model, read_model
from polymargin_checker.network import LayeredBoundary
from polymargin_checker.refusal import Refused
from polymargin_checker.univariate import value_range


def refused(folder: Path, net: Any, document: Any, reason: str) -> None:
    verdict = check(*write(folder, net, document))
    assert not verdict.accepted
    assert reason in verdict.reason


# -- completeness --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_roots(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pm.PolynomialNetwork, Any]:
    """A completeness proof whose nearest solution is left out of the claim: lower is the distance of the next one."""
    folder = tmp_path_factory.mktemp("forged")
    net, u = random_network([3, 5, 2], 3, 0), np.array([0.3, -0.2, 0.5])
    label = int(net.predict(u))
    proof, distances = completeness(folder, net, u, label, 1 - label)
    radius = (sorted(distances)[1] * (1 - 1e-6)).hex()
    rivals = [{"rival": 1 - label, "lower": radius, "proof": proof}]
    return folder, net, certificate(net, u, label, {"kind": "robust", "radius": radius}, rivals, None)


@pytest.mark.parametrize("part", [0, 1], ids=["real", "imaginary"])
@pytest.mark.parametrize("where", ["x", "multiplier", "both"])
def test_another_root_moved_aside_does_not_stand_for_the_nearest(
    two_roots: tuple[Path, pm.PolynomialNetwork, Any], part: int, where: str
) -> None:
    folder, net, document = two_roots
    count = len(document["rivals"][0]["proof"]["solutions"])
    for other in range(1, count):
        forged = copy.deepcopy(document)
        solutions = forged["rivals"][0]["proof"]["solutions"]
        solutions[0] = copy.deepcopy(solutions[other])
        pairs = {"x": solutions[0]["x"], "multiplier": [solutions[0]["multiplier"]]}
        for pair in pairs["x"] + pairs["multiplier"] if where == "both" else pairs[where]:
            pair[part] = [*pair[part], (1e-4).hex()]
        refused(folder, net, forged, "solution 0: its box does not pass Krawczyk's test")


def line() -> tuple[LayeredBoundary, list[arb]]:
    """B = x + 1 at u = 0: the only critical point is x = −1, λ = 1, and Krawczyk's operator finds it without error."""
    net = pm.PolynomialNetwork([([[1.0], [0.0]], [1.0, 0.0])])
    affine = net.layers[0]
    model = Model((Matrix(2, 1, affine.weights.ravel().tolist()),), (affine.bias.tolist(),), ())
    return LayeredBoundary(model, 0, 1), [arb(0)]


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("direction", [(1, 0), (-1, 0), (0, 1), (0, -1)])
def test_a_root_on_the_edge_of_a_box_is_not_inside(index: int, direction: tuple[int, int]) -> None:
    boundary, u = line()
    around = arb(0, 0.5)
    radius = around.rad()  # a little more than ½: radii are rounded up in their 30 bits
    for share, inside in ((0.0, True), (0.5, True), (1.0, False), (1.25, False)):
        centres = [arb(-1), arb(0)], [arb(1), arb(0)]
        centres[index][0] += radius * share * direction[0]
        centres[index][1] += radius * share * direction[1]
        box = [acb(re + around, im + around) for re, im in centres]
        assert (box[0].contains(-1) and box[1].contains(1)) is (share <= 1)
        contracted = contract(boundary, u, box)
        assert (contracted is not None) is inside
        if contracted is not None:
            assert contracted[0].contains(-1)
            assert contracted[1].contains(1)
            assert all(entry.rad() < 1e-9 for value in contracted for entry in (value.real, value.imag))


def test_the_distance_of_a_wide_box_is_taken_at_its_near_and_far_end() -> None:
    boundary, _ = line()
    box = [acb(arb(-1, 0.5), arb(0, 0.5)), acb(arb(1, 0.5), arb(0, 0.5))]
    for middle, near, far in ((-1.0, 0.75, 1.25), (1.0, 0.75, 1.25), (0.125, 0.0, 0.375)):
        contracted = [acb(arb(middle, 0.25), arb(0, 0.25)), acb(1)]
        solution = _judge(boundary, [arb(0)], box, contracted)
        assert solution.nature is Nature.REAL
        # Radii of balls round outward in their 30 bits.
        assert near**2 - 1e-6 < float(solution.least_square) <= near**2
        assert far**2 <= float(solution.most_square) < far**2 + 1e-6
    shifted = _judge(boundary, [arb(4)], box, [acb(arb(-1, 0.25), 0), acb(1)])
    assert shifted.least_square <= 22.5625
    assert shifted.least_square > 22.5
    assert shifted.most_square >= 27.5625
    assert shifted.most_square < 27.6


def test_natures() -> None:
    """Off the axis in any unknown is nonreal; on it, the mirrored box has to pass the test as well."""
    boundary, u = line()
    box = [acb(arb(-1, 0.5), arb(0, 0.5)), acb(arb(1, 0.5), arb(0, 0.5))]
    off = acb(1, arb(0.25, 0.125))
    assert _judge(boundary, u, box, [off, acb(1)]).nature is Nature.NONREAL
    assert _judge(boundary, u, box, [acb(1), off]).nature is Nature.NONREAL
    assert _judge(boundary, u, box, [acb(1, arb(0.125, 0.125)), acb(1)]).nature is Nature.REAL
    elsewhere = [acb(arb(9, 0.5), arb(0, 0.5)), acb(arb(1, 0.5), arb(0, 0.5))]
    assert _judge(boundary, u, elsewhere, [acb(9), acb(1)]).nature is Nature.UNDECIDED
    mirrored = symmetrised([acb(arb(3, 0.25), arb(0.5, 0.25)), acb(1, arb(-2, 1))])
    assert mirrored[0].real.contains(3.25)
    assert not mirrored[0].real.contains(3.26)
    for entry, reach in zip(mirrored, (0.75, 3), strict=True):
        assert entry.imag.contains(reach)
        assert entry.imag.contains(-reach)
        assert entry.imag.mid() == 0


def test_an_undecided_solution_proves_no_upper_bound(two_roots: tuple[Path, pm.PolynomialNetwork, Any]) -> None:
    """A box that only just holds its root, off the axis: its mirror image is too wide for the test."""
    folder, net, document = two_roots
    forged = copy.deepcopy(document)
    for index, solution in enumerate(forged["rivals"][0]["proof"]["solutions"]):
        forged["claim"] = {"kind": "vulnerable", "radius": "0x1p+20"}
        forged["rivals"][0]["lower"] = "0x0p0"
        forged["upper"] = {"kind": "critical-point", "rival": forged["rivals"][0]["rival"], "index": index}
        imaginary = max(abs(float.fromhex(pair[1][0])) for pair in [*solution["x"], solution["multiplier"]])
        verdict = check(*write(folder, net, forged))
        assert verdict.accepted is (imaginary < 1e-9), verdict.reason


# -- claims --------------------------------------------------------------------------------------

AFFINE = pm.PolynomialNetwork([([[3.0, 4.0], [0.0, 0.0]], [5.0, 0.0])])


def robust(net: pm.PolynomialNetwork, radius: str, rivals: list[Any], point: Any = (0.0, 0.0)) -> Any:
    return certificate(net, point, 0, {"kind": "robust", "radius": radius}, rivals, None)


@pytest.mark.parametrize("radius", ["0x1p+10", "inf"])
def test_a_robust_claim_without_rivals(tmp_path: Path, radius: str) -> None:
    refused(tmp_path, AFFINE, robust(AFFINE, radius, []), "rival 1 is missing")


def test_a_label_that_ties_at_the_point(tmp_path: Path) -> None:
    net = pm.PolynomialNetwork([([[3.0, 4.0], [0.0, 0.0], [0.0, 0.0]], [5.0, 0.0, 5.0])])
    rivals = [{"rival": rival, "lower": "0x0p0", "proof": {"kind": "trivial"}} for rival in (1, 2)]
    refused(tmp_path, net, robust(net, "0x0p0", rivals), "class 2 ties or wins")
    vulnerable = robust(net, "0x0p0", [])
    vulnerable["claim"] = {"kind": "vulnerable", "radius": "0x1p+3"}
    vulnerable["upper"] = {"kind": "counterexample", "rival": 2, "point": hexes([0.0, 0.0])}
    refused(tmp_path, net, vulnerable, "class 2 ties or wins")


def test_a_key_that_is_given_twice(tmp_path: Path) -> None:
    """The second one would be read, the first one shown by another program."""
    rivals = [{"rival": 1, "lower": "0x1p0", "proof": {"kind": "hyperplane"}}]
    text = json.dumps(robust(AFFINE, "0x1p0", rivals))
    assert check(*write(tmp_path, AFFINE, text)).accepted
    for once, twice in (
        ('"label": 0', '"label": 1, "label": 0'),
        ('"radius": "0x1p0"', '"radius": "0x1p+9", "radius": "0x1p0"'),
        ('"lower": "0x1p0"', '"lower": "0x1p0", "lower": "0x1p0"'),
        ('"seed": 0', '"seed": 0, "seed": 0'),
    ):
        assert once in text
        refused(tmp_path, AFFINE, text.replace(once, twice), "a key occurs twice")


# -- exclusion -----------------------------------------------------------------------------------


def narrow(w: float, radius: float, multiplier: float) -> tuple[pm.PolynomialNetwork, Any]:
    """B = 0.64 − (w x₁)² in two variables: the margin is 0.8 / w."""
    net = pm.PolynomialNetwork([[[w, 0.0]], ([[-1.0], [0.0]], [0.64, 0.0])], degree=2)
    bound = {"slopes": [], "quadratics": [["-0x1p0", "0x0p0", "0x0p0"]], "multiplier": multiplier.hex()}
    proof = {"kind": "exclusion", "radius": radius.hex(), "tree": {"ranges": [], "bound": bound}}
    return net, robust(net, radius.hex(), [{"rival": 1, "lower": radius.hex(), "proof": proof}])


def test_the_ball_is_measured_in_the_inputs_not_in_the_first_layer(tmp_path: Path) -> None:
    assert check(*write(tmp_path, *narrow(0.1, 7.99, 0.010001))).accepted
    for radius, multiplier in ((8.01, 0.010001), (50.0, 0.00015), (50.0, 0.000256), (8.01, 0.01)):
        refused(tmp_path, *narrow(0.1, radius, multiplier), "positive definite")


@pytest.mark.parametrize("w", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("above", [True, False])
def test_the_multiplier_has_to_outweigh_the_curvature(tmp_path: Path, w: float, above: bool) -> None:
    net, document = narrow(w, 0.5 / w, w * w * (1.0001 if above else 0.9999))
    verdict = check(*write(tmp_path, net, document))
    assert verdict.accepted is above, verdict.reason


def test_a_matrix_of_wide_balls_is_as_bad_as_its_worst_member() -> None:
    wide, half = arb(1, 0.9), fmpq(1, 2)
    assert not positive_definite(arb_mat([[wide, half], [half, 1]]))
    assert not positive_definite(arb_mat([[1, arb(0, 0.9)], [arb(0, 0.9), 0.5]]))
    assert not positive_definite(arb_mat([[1, 0], [0, arb(1, 1.5)]]))
    assert positive_definite(arb_mat([[arb(1, 0.25), half], [half, 1]]))
    generator = np.random.default_rng(0)
    for size in (3, 4, 6, 7):
        root = generator.normal(size=(size, size))
        member = root @ root.T
        member -= np.linalg.eigvalsh(member)[0] * np.eye(size)  # one eigenvalue is zero
        for where in range(size):
            table = [[arb(value) for value in row] for row in (member + 0.4 * np.eye(size)).tolist()]
            assert positive_definite(arb_mat(table))
            for k in range(size):
                table[k][k] = arb(float(member[k, k]) + 0.4, 0.41)
            assert not positive_definite(arb_mat(table)), where


def test_ranges_of_a_polynomial_that_is_known_roughly_stay_wide() -> None:
    """The pieces run out before anything is settled; what is left counts."""
    with working_precision(128):
        for polynomial, low, high in (
            (arb_poly([0, arb(1, 0.125)]), 0.0, 1.125),
            (arb_poly([arb(1, 0.25)]), 0.75, 1.25),
            (arb_poly([arb(0, 1), arb(0, 1), 1]), -1.25, 3.0),
            (arb_poly([0, -1, 1]), -0.25, 0.0),
            (arb_poly([]), 0.0, 0.0),
            (arb_poly([arb(0.0)]), 0.0, 0.0),
        ):
            bottom, top = value_range(polynomial, (arb(0), arb(1)))
            assert low - 0.01 < float(bottom)
            assert bottom <= low
            assert float(top) < high + 0.01
            assert top >= high


def test_the_root_ranges_are_rounded_outward() -> None:
    model = Model(
        (Matrix(3, 2, [1.0, 1.0, 0.0, 0.0, 1e-3, 3.0]), Matrix(2, 3, [1.0] * 6)), ([0.0] * 3, [0.0] * 2), ((0.0, 1.0),)
    )
    with working_precision(128):
        for radius in (fmpq(1), fmpq(1, 3), fmpq(7, 1 << 30)):
            ranges = BallProblem(model, [fmpq(0)] * 2, radius).root_ranges()
            for (low, high), square in zip(
                ranges, (fmpq(2), fmpq(0), fmpq(*(1e-3).as_integer_ratio()) ** 2 + 9), strict=True
            ):
                assert low == -high
                assert high.is_exact()
                assert high * high >= arb(square * radius * radius)
                assert float(high) <= float(arb(square * radius * radius).sqrt()) * (1 + 1e-15)


# -- exact arithmetic ----------------------------------------------------------------------------


def logits_by_definition(net: pm.PolynomialNetwork, point: list[Fraction]) -> list[Fraction]:
    values = point
    for index, layer in enumerate(net.layers):
        values = [
            sum((Fraction(w) * v for w, v in zip(row, values, strict=True)), Fraction(b))
            for row, b in zip(layer.weights.tolist(), layer.bias.tolist(), strict=True)
        ]
        if index < len(net.activations):
            values = [sum(Fraction(float(c)) * z**k for k, c in enumerate(net.activations[index])) for z in values]
    return values


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("depth", [1, 2])
def test_exact_logits_are_those_of_the_definition(tmp_path: Path, degree: int, depth: int) -> None:
    generator = np.random.default_rng([degree, depth])
    widths = [3, *generator.integers(1, 4, size=depth).tolist(), 2]
    scales = 2.0 ** generator.integers(-40, 40, size=len(widths))
    layers = [
        (generator.normal(size=(after, before)) * scale, generator.normal(size=after) / scale)
        for before, after, scale in zip(widths, widths[1:], scales, strict=False)
    ]
    net = pm.PolynomialNetwork(layers, activations=[generator.normal(size=degree + 1) for _ in range(depth)])
    net.save(tmp_path / "model.npz")
    model = read_model(tmp_path / "model.npz")
    assert isinstance(model, Model)
    for point in ([0.0, 0.0, 0.0], [1.0, -2.0, 3.0], [2.0**-70, 1e10, -0.1]):
        exact = [fmpq(*value.as_integer_ratio()) for value in point]
        ours = [Fraction(int(value.p), int(value.q)) for value in exact_logits(model, exact)]
        assert ours == logits_by_definition(net, [Fraction(value) for value in point])
        if degree <= 1:
            step = [fmpq(*value.as_integer_ratio()) for value in (0.1, 1e-20, 7.0)]
            moved = exact_logits(model, [a + b for a, b in zip(exact, step, strict=True)])
            here = exact_logits(model, exact)
            w = slope(model, 1, 0)
            assert sum((a * b for a, b in zip(w, step, strict=True)), fmpq(0)) == (moved[1] - moved[0]) - (
                here[1] - here[0]
            )


# -- attention -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape", [(1, 1, 1, 1), (2, 4, 1, 1), (1, 5, 1, 1), (3, 3, 1, 1), (2, 6, 2, 1), (1, 6, 1, 2), (2, 2, 2, 2)], ids=str
)
def test_a_boundary_of_attention_depends_on_as_many_forms_as_are_counted(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    """The span of the gradients at many points, by differences."""
    network = LightningAttention.random(*shape, classes=2, seed=4)
    network.save(tmp_path / "model.npz")
    model = read_model(tmp_path / "model.npz")
    assert isinstance(model, Attention)
    points = np.random.default_rng(0).normal(size=(60, network.dimension))
    step = 1e-4
    gradients = [
        [np.subtract(*(network(x + e) - network(x - e))) / (2 * step) for e in step * np.eye(network.dimension)]
        for x in points
    ]
    rank = int(np.linalg.matrix_rank(np.array(gradients), tol=1e-4))
    assert model.layers(0, 1).variables >= rank
    t, d, d_prime, a = shape
    assert model.layers(0, 1).variables == min(t * d, t * (d_prime + 2 * a))


def module(**zeros: Any) -> Attention:
    """One token of two numbers, one value: B = b + (v·x) (k·x) (q·x), with some entries made zero."""
    parts = {name: [1.0, 2.0] for name in ("value", "key", "query")} | zeros
    value, key, query = (
        Matrix(*shape, parts[name]) for name, shape in (("value", (1, 2)), ("key", (2, 1)), ("query", (2, 1)))
    )
    return Attention(value, key, query, Matrix(2, 1, parts.get("readout", [1.0, 0.0])), [0.5, 0.0])


def lowering(*scales: str) -> Any:
    return {"values": [["0x1p0"]], "keys": [["0x1p0"]], "scales": [[list(scales)]]}


@pytest.mark.parametrize(
    "scales", [("0x0p0",) * 3, ("0x0p0", "0x1p0", "0x1p0"), ("0x1p0", "0x0p0", "0x1p0"), ("0x1p0", "0x1p0", "0x0p0")]
)
@pytest.mark.parametrize("name", [None, "value", "key", "query"])
@pytest.mark.parametrize("entries", [[0.0, 1.0], [1.0, 0.0]])
def test_a_product_is_left_out_only_if_all_of_a_factor_is_zero(scales: Any, name: Any, entries: list[float]) -> None:
    partly = module(**({} if name is None else {name: entries}))
    with pytest.raises(Refused, match="a scale of the product 0, 0 is zero, but the product is not"):
        partly.layers(0, 1, lowering(*scales))
    for dead in [{name: [0.0, 0.0]}] if name else [{"readout": [1.0, 1.0]}]:
        layers = module(**dead).layers(0, 1, lowering(*scales))
        assert [list(matrix.values) for matrix in layers.weights] == [[0, 0], [0, 0]]
        assert [list(bias) for bias in layers.biases] == [[0], [fmpq(1, 2), 0]]


def test_a_product_of_which_some_tokens_vanish_is_not_left_out() -> None:
    """Two tokens, and a read-out that looks at one of them."""
    base = module()
    two = Attention(base.value, base.key, base.query, Matrix(2, 2, [1.0, 0.0, 0.0, 0.0]), base.bias)
    with pytest.raises(Refused, match="the product is not"):
        two.layers(0, 1, lowering("0x0p0", "0x0p0", "0x0p0"))


def test_points_and_radii_of_many_bits_are_enclosed() -> None:
    """130 bits and more do not fit the precision of an exclusion proof."""
    model = Model((Matrix(1, 1, [1.0]), Matrix(2, 1, [1.0, 0.0])), ([0.0], [0.0, 0.0]), ((0.0, 0.0, 1.0),))
    long = 1 + fmpq(1, 1 << 140)
    with working_precision(128):
        problem = BallProblem(model, [long], long)
        assert problem.start[0].contains(long)
        assert problem.quadratic._square.contains(long * long)
        assert problem.root_ranges()[0][1] >= arb(long)
        assert problem.shifted[0](arb(0)).contains(long * long)
        wide = Model((Matrix(1, 2, [1.0, 2.0**-70]), *model.weights[1:]), model.biases, model.activations)
        end = BallProblem(wide, [fmpq(0)] * 2, fmpq(1)).root_ranges()[0][1]
    with working_precision(400):
        assert end * end >= arb(1 + fmpq(1, 1 << 140))
