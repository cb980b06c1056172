"""Margins in other norms and inside boxes, against closed forms, another search and dense sampling."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from problems import asked, region
from scipy.optimize import brentq

import polymargin as pm
from polymargin.errors import InputError, PolymarginError
from polymargin.margins.faces.face import face_count, faces, path_count
from polymargin.standing import Standing

Array = NDArray[np.float64]


def network(seed: int, inputs: int, hidden: int, degree: int = 3, classes: int = 2) -> pm.Network:
    generator = np.random.default_rng(seed)
    layers = [
        (generator.normal(size=(hidden, inputs)), generator.normal(size=hidden)),
        (generator.normal(size=(classes, hidden)), generator.normal(size=classes)),
    ]
    return pm.PolynomialNetwork(layers, degree=degree)


def margin(model: Any, point: Any, **options: Any) -> pm.Margin:
    return pm.margin(model, point, proof=False, workers=1, **options)


@pytest.mark.parametrize("seed", range(4))
def test_hyperplanes_in_closed_form(seed: int) -> None:
    """|a·u − b| over the dual norm of a."""
    generator = np.random.default_rng(seed)
    a, u, w = generator.normal(size=3), generator.normal(size=3), generator.uniform(0.5, 2, size=3)
    net = pm.PolynomialNetwork([(np.stack([a, np.zeros(3)]), [0.3, 0.0])])
    height = abs(a @ u + 0.3)
    for norm, dual in (("linf", 1), ("l1", np.inf), ("l2", 2)):
        assert margin(net, u, **asked(norm=norm)).radius == pytest.approx(height / np.linalg.norm(a, dual))
        assert margin(net, u, **asked(norm=norm, weights=w)).radius == pytest.approx(
            height / np.linalg.norm(a / w, dual)
        )
    assert margin(net, u, **asked(norm="linf", movable=[0, 2])).radius == pytest.approx(
        height / np.abs(a[[0, 2]]).sum()
    )
    matrix = np.diag(w) + 0.1
    expected = height / np.sqrt(a @ np.linalg.solve(matrix, a))
    assert margin(net, u, **asked(weights=matrix)).radius == pytest.approx(expected)


def least_square(net: pm.Network, u: Array, low: Array, high: Array) -> float:
    """The half width at which a growing square around u, cut off at the domain, first meets the boundary.

    On each edge B is a polynomial in one variable; its least value there comes from its derivative's roots.
    """
    label = int(net.predict(u))

    def value(x: Array) -> Array:
        logits = net(x)
        return logits[..., label] - logits[..., 1 - label]

    def reached(t: float) -> bool:
        corner_low, corner_high = np.maximum(u - t, low), np.minimum(u + t, high)
        for axis, end in itertools.product((0, 1), (corner_low, corner_high)):
            other = 1 - axis
            nodes = np.linspace(-1.0, 1.0, net.degree + 1)
            middle, half = (corner_low + corner_high)[other] / 2, (corner_high - corner_low)[other] / 2
            points = np.empty((len(nodes), 2))
            points[:, axis], points[:, other] = end[axis], middle + half * nodes
            edge = np.polynomial.Polynomial.fit(nodes, value(points), net.degree, domain=[-1, 1], window=[-1, 1])
            turns = edge.deriv().roots()
            places = np.array([-1.0, 1.0, *turns[(abs(turns.imag) < 1e-9) & (abs(turns.real) <= 1)].real])
            if edge(places).min() <= 0:
                return True
        return False

    steps = np.linspace(0, 6, 1201)[1:]
    first = next((t for t in steps if reached(t)), None)
    if first is None:
        return np.inf
    below, above = first - steps[0], first
    for _ in range(60):
        middle = (below + above) / 2
        below, above = (below, middle) if reached(middle) else (middle, above)
    return above


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("domain", [None, (-0.8, 0.9)])
@pytest.mark.parametrize("degree", [2, 3])
def test_squares_that_grow_until_they_touch(seed: int, domain: tuple[float, float] | None, degree: int) -> None:
    net = network(seed, 2, 4, degree)
    u = np.random.default_rng(seed + 100).uniform(-0.5, 0.5, size=2)
    found = margin(net, u, within=pm.Linf(domain=domain))
    low, high = (np.full(2, end) for end in (domain or (-np.inf, np.inf)))
    truth = least_square(net, u, low, high)
    if truth < 6 and found.standing is not Standing.BRACKETED:
        assert found.radius == pytest.approx(truth, rel=1e-7)
    assert found.lower <= truth * (1 + 1e-7)
    assert found.standing is Standing.NUMERICAL or not np.isfinite(truth)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
@pytest.mark.parametrize("domain", [None, (-1.0, 1.0)])
def test_nothing_sampled_is_nearer_and_the_tie_is_one(seed: int, norm: str, domain: Any) -> None:
    net = network(seed, 3, 5)
    generator = np.random.default_rng(seed)
    u = generator.uniform(-0.5, 0.5, size=3)
    found = margin(net, u, **asked(norm=norm, domain=domain))
    near = region(3, norm=norm, domain=domain)
    assert found.standing is Standing.NUMERICAL
    assert found.norm == norm
    if found.point is None:
        return
    logits = net(found.point)
    assert logits[0] == pytest.approx(logits[1], abs=1e-7 * np.abs(logits).max())
    assert near.admits(found.point)
    assert near.length(found.point - u) == pytest.approx(found.radius)
    steps = generator.normal(size=(20_000, 3))
    steps[::2] = np.sign(steps[::2]) * generator.integers(0, 2, size=steps[::2].shape)
    steps = steps[np.abs(steps).any(axis=1)]
    lengths = np.array([near.length(step) for step in steps])
    inside = near.clipped(
        u + steps * (found.radius * (1 - 1e-9) * generator.uniform(0.5, 1, len(steps)) / lengths)[:, None]
    )
    assert (net.predict(inside) == found.label).all()


@pytest.mark.parametrize(("norm", "n"), [("linf", 2), ("linf", 3), ("l1", 2), ("l1", 3)])
def test_as_many_solutions_as_the_formula_says(norm: str, n: int) -> None:
    terms = np.random.default_rng(n).integers(-9, 10, size=200)
    names = ["x", "y", "z"][:n]
    powers = [p for p in itertools.product(range(4), repeat=n) if sum(p) <= 3]
    text = " + ".join(
        f"({terms[i]})*" + "*".join(f"{name}**{k}" for name, k in zip(names, p, strict=True))
        for i, p in enumerate(powers)
    )
    boundary = pm.Boundary.from_expression(text, variables=" ".join(names))
    near = region(n, norm=norm)
    found = margin(boundary, [0.3, -0.2, 0.1][:n], **asked(norm=norm))
    assert found.complex_count == path_count(near, n, 3)
    assert len(list(faces(near, np.zeros(n), n))) == face_count(near, n)


def test_order_of_the_norms_and_of_the_domains() -> None:
    net = network(3, 3, 5)
    u = [0.1, -0.2, 0.3]
    two, most, sum_of = (margin(net, u, **asked(norm=norm)).radius for norm in ("l2", "linf", "l1"))
    assert most <= two <= sum_of
    assert most * np.sqrt(3) >= two
    assert margin(net, u, within=pm.L2(domain=(-0.4, 0.4))).radius >= two * (1 - 1e-12)
    assert margin(net, u, within=pm.L2(domain=(-50, 50))).radius == pytest.approx(two)


def test_rivals_and_abstaining() -> None:
    net = network(5, 2, 4, classes=4)
    u = np.array([0.2, -0.1])
    everything = margin(net, u)
    label = everything.label
    alone = [margin(net, u, rivals=[c]).radius for c in range(4) if c != label]
    assert min(alone) == pytest.approx(everything.radius)
    lead = np.sort(net(u))[-1] - np.sort(net(u))[-2]
    cautious = margin(net, u, abstain=lead / 2)
    assert 0 < cautious.radius < everything.radius
    logits = np.sort(net(cautious.point))
    assert net(cautious.point)[label] - max(
        v for c, v in enumerate(net(cautious.point)) if c != label
    ) == pytest.approx(lead / 2)
    assert logits.shape == (4,)
    assert margin(net, u, abstain=2 * lead).radius == 0.0
    with pytest.raises(InputError, match="no other rival"):
        margin(net, u, rivals=[label])
    with pytest.raises(InputError, match="classes 0 to 3"):
        margin(net, u, rivals=[4])


def test_subspaces_are_substitutions() -> None:
    net = network(6, 3, 5)
    u = np.array([0.1, 0.2, -0.1])
    columns = np.array([[1.0], [2.0], [-1.0]])
    found = margin(net, u, **asked(movable=columns))
    line = np.linspace(-8, 8, 400_001)[:, None] * (columns[:, 0] / np.linalg.norm(columns))
    labels = net.predict(u + line)
    first = np.linalg.norm(line[labels != found.label], axis=1).min()
    assert found.radius == pytest.approx(first, abs=1e-4)


def test_points_outside_and_problems_too_large() -> None:
    with pytest.raises(InputError, match="outside the domain"):
        margin(network(0, 2, 3), [0.5, 2.0], within=pm.L2(domain=(0, 1)))
    source = pm.Boundary.from_network(network(0, 14, 20), 0, 1)
    with pytest.raises(PolymarginError, match="faces"):
        margin(source, np.zeros(14), within=pm.Linf())


@pytest.mark.parametrize("options", [{"norm": "linf"}, {"norm": "linf", "domain": (-3, 3)}, {"domain": (-3, 3)}])
def test_too_many_faces_have_bounds(options: dict[str, Any]) -> None:
    """As certify proves them, and no perturbation that was sampled is nearer."""
    net, u = network(0, 14, 20), np.random.default_rng(0).normal(size=14)
    found = margin(net, u, timeout=1.0, **asked(**options))
    assert found.method == "bounds"
    assert "faces" in found.notes[0]
    assert 0 < found.lower <= found.upper
    assert found.upper == pytest.approx(pm.attack(net, u, **asked(**options)).distance, rel=0.05)
    steps = np.random.default_rng(1).uniform(-1, 1, size=(20_000, 14))
    sizes = np.abs(steps).max(axis=1) if found.norm == "linf" else np.linalg.norm(steps, axis=1)
    inside = np.clip(u + steps * (found.lower / sizes)[:, None], -3, 3)
    assert (net.predict(inside) == found.label).all()


def test_faces_with_open_ends_are_settled_by_bounds() -> None:
    """x⁴ + y⁴ = 1: on the face where both coordinates grow alike, some paths have no known end."""
    net = pm.PolynomialNetwork([(np.eye(2), np.zeros(2)), ([[1.0, 1.0], [0.0, 0.0]], [0.0, 1.0])], degree=4)
    found = margin(net, [0.05, 0.02], within=pm.Linf())
    step = brentq(lambda t: (0.05 + t) ** 4 + (0.02 + t) ** 4 - 1, 0.0, 1.0, xtol=1e-14)
    assert found.standing is Standing.CERTIFIED
    assert found.lower <= step <= found.upper


def test_batches_and_single_points_agree() -> None:
    net = network(8, 2, 4)
    points = np.random.default_rng(1).uniform(0.1, 0.9, size=(4, 2))
    rows = margin(net, points, within=pm.Linf(domain=(0, 1)))
    for row, point in zip(rows, points, strict=True):
        assert row.radius == margin(net, point, within=pm.Linf(domain=(0, 1))).radius


def test_a_tie_outside_the_unit_cube_is_remarked_on() -> None:
    net = pm.PolynomialNetwork([([[1.0, 1.0], [0.0, 0.0]], [-5.0, 0.0])])
    found = margin(net, [[0.5, 0.5], [0.2, 0.9]])
    assert all(any("[0, 1]" in note for note in row.notes) for row in found)
    assert not any("[0, 1]" in note for note in margin(net, [0.5, 1.5]).notes)
