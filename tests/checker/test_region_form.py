"""The form of a region proof lies below B − lead on the whole region, whatever the multipliers; ranges hold what they say.

Truth: the networks themselves, evaluated in doubles at points of the region, its corners and its boundary among them.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.views_of_files import read_view
from flint import arb, fmpq
from numpy.typing import NDArray
from problems import random_network

import polymargin as pm
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.neighbourhood import StatedNeighbourhood
from polymargin_checker.region import CheckedRegion
from polymargin_checker.region_expansion import EnclosedExpansion
from polymargin_checker.region_leaf import _RegionForm, check_linear
from polymargin_checker.region_proof import KnownExpansions

U = (0.25, -0.5)
RADIUS = 0.375
WEIGHTS = (2.0, 0.5)
LEAD = 0.125


def rational(value: float) -> fmpq:
    return fmpq(*float(value).as_integer_ratio())


def region_of(norm: str, weighted: bool, domain: bool) -> CheckedRegion:
    low, high = ((rational(0.125), None), (rational(0.5), rational(-0.25))) if domain else (None, None)
    weights = tuple(map(rational, WEIGHTS)) if weighted else None
    near = StatedNeighbourhood(norm, weights, low, high, None, None, rational(LEAD))
    point = tuple(map(rational, U))
    return CheckedRegion(near, point, rational(RADIUS), near.box(point, rational(RADIUS)))


def samples(region: CheckedRegion, generator: np.random.Generator) -> NDArray[np.float64]:
    """Corners of the box and random points, drawn towards u until they are in the ball; all inside in exact arithmetic."""
    box = np.array([[float(low.p) / float(low.q), float(high.p) / float(high.q)] for low, high in region.box])
    corners = np.array(list(itertools.product(*box)))
    inside = []
    for x in (*corners, *generator.uniform(box[:, 0], box[:, 1], (40, 2))):
        for share in (1.0, 0.999, 0.7, 0.5, 0.3):
            place = np.array(U) + share * (x - np.array(U))
            if region.near.within(region.point, [rational(v) for v in place], region.radius):
                inside.append(place)
                break
    return np.array(inside)


def quartic() -> pm.Network:
    generator = np.random.default_rng(2)
    layers = [(generator.normal(size=s), generator.normal(size=s[0])) for s in ((3, 2), (2, 3))]
    return pm.PolynomialNetwork(layers, activations=[(0.1, 0.5, 0.3, 0.2, -0.1)])


def gates() -> pm.Network:
    generator = np.random.default_rng(1)
    return pm.pi_net([generator.normal(size=(2, 2)) for _ in range(3)], generator.normal(size=(2, 2)), bias=[0.0, 0.4])


NETWORKS = {
    "squares": random_network([2, 3, 2], 2, seed=4),
    "deep squares": random_network([2, 3, 3, 2], 2, seed=1),
    "quartic": quartic(),
    "products": gates(),
}
REGIONS = [
    (norm, weighted, domain) for norm in ("linf", "l2", "l1") for weighted in (False, True) for domain in (False, True)
]


def middle(value: arb) -> float:
    return float(value.mid())


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("norm", "weighted", "domain"), REGIONS)
@pytest.mark.parametrize("centre", ["point", "middle"])
@pytest.mark.parametrize("lifted", [False, True])
def test_the_form_lies_below(
    name: str, norm: str, weighted: bool, domain: bool, centre: str, lifted: bool, tmp_path: Path
) -> None:
    network: Any = NETWORKS[name]
    network.save(tmp_path / "model.npz")
    region, generator = region_of(norm, weighted, domain), np.random.default_rng(7)
    known = KnownExpansions(read_view(str(tmp_path / "model.npz")), True, region.near, region.point)  # type: ignore[arg-type]
    with working_precision(128):
        place = region.middle() if centre == "middle" else list(region.point)
        expansion = EnclosedExpansion(known.prepared(), region, place)
        form = _RegionForm(expansion, expansion.functional(0, 1), "leaf")
        rests = [f for at in expansion.at for f in at.forms if f.rest is not None]
        if lifted and rests:
            shifts = [[float(v).hex() for v in 0.3 * generator.normal(size=len(f.linear))] for f in rests]
            kappas = [float(v).hex() for v in generator.uniform(0, 0.5, sum(len(f.linear) for f in rests))]
            form.lift(shifts, kappas)
        flat = ["0x0p+0", "0x0p+0", "-0x1p+7"]
        form.add_steps([[flat] * len(at.range) if name == "quartic" else None for at in expansion.at])
        box = [rational(v) for v in generator.uniform(0, 0.5, 2)]
        multiplier = rational(0.0 if norm == "linf" else 0.75)
        form.add_region(box, multiplier, region.near.abstain)
        matrix = form.matrix()
        values = np.array([middle(v) for v in matrix.entries()]).reshape(matrix.shape)
        origin = np.array([float(v.p) / float(v.q) for v in place])
        gaps = []
        for x in samples(region, generator):
            delta = x - origin
            vector = [1.0, *delta]
            if lifted and rests:
                vector += _rests_at(network, expansion, rests, x, delta)
            logits = network(x)
            form_value = float(np.array(vector) @ values @ np.array(vector))
            slack = float(logits[0] - logits[1]) - LEAD - form_value
            assert slack >= -1e-9
            gaps.append(slack)
        if name == "squares" and norm == "linf":  # nothing is lost at the corners of the box
            assert min(gaps) == pytest.approx(0.0, abs=1e-9)
        for row in (Balls.of(2, 2, [1.0, -2.0, 0.5, 0.25]), Balls.of(2, 2, [-1.0, 0.0, 3.0, 1.0])):
            numbers = np.array([middle(v) for v in row.entries()]).reshape(2, 2)
            ends = np.array(region.support(row, Balls, place))
            seen = (samples(region, generator) - origin) @ numbers.T
            assert (seen >= ends[:, 0] - 1e-12).all()
            assert (seen <= ends[:, 1] + 1e-12).all()
            if norm == "linf":
                assert seen.max(axis=0) == pytest.approx(ends[:, 1])
                assert seen.min(axis=0) == pytest.approx(ends[:, 0])


def _rests_at(network: Any, expansion: EnclosedExpansion, rests: list[Any], x: Any, delta: Any) -> list[float]:
    """w = z(x) − p − a·δ of every form with a rest, from the values of the steps at x."""
    values, result = [np.asarray(x)], []
    for step, at in zip(expansion.steps.steps, expansion.at, strict=True):
        forms = []
        for form, around in zip(step.forms, at.forms, strict=True):
            z = np.array([middle(v) for v in form.bias.entries()])
            for source, block in form.blocks:
                z = z + np.array([middle(v) for v in block.entries()]).reshape(block.shape) @ values[source]
            forms.append(z)
            if any(around is one for one in rests):
                p = np.array([middle(v) for v in around.value.entries()])
                a = np.array([middle(v) for v in around.slopes.entries()]).reshape(around.slopes.shape)
                result += (z - p - a @ delta).tolist()
        if step.coefficients is None:
            values.append(forms[0] * forms[1])
        else:
            numbers = [float(c.p) / float(c.q) for c in step.coefficients]
            values.append(np.polynomial.polynomial.polyval(forms[0], numbers))
    return result


@pytest.mark.parametrize("name", NETWORKS)
def test_the_linear_bound_is_refused_where_a_point_has_less_than_the_lead(name: str, tmp_path: Path) -> None:
    """The lead just below and far above what the region has."""
    from polymargin_checker.refusal import Refused

    network: Any = NETWORKS[name]
    network.save(tmp_path / "model.npz")
    region = region_of("linf", False, False)
    known = KnownExpansions(read_view(str(tmp_path / "model.npz")), True, region.near, region.point)  # type: ignore[arg-type]
    with working_precision(128):
        expansion = EnclosedExpansion(known.prepared(), region, list(region.point))
        lowest = min(float(v[0] - v[1]) for v in network(samples(region, np.random.default_rng(0))))
        with pytest.raises(Refused):
            check_linear(expansion, expansion.functional(0, 1), rational(lowest), "leaf")
        check_linear(expansion, expansion.functional(0, 1), rational(lowest - 100.0), "leaf")
