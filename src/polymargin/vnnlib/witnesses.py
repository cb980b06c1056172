"""Points that satisfy a case, checked in exact arithmetic.

Candidates come from `verify` and from a short ascent of the outputs inside the region; which of them count is decided by rational
arithmetic on the query as it stands. Points that float32 holds exactly are preferred, so that other programs see the same point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from polymargin.networks import Network
from polymargin.vnnlib.expressions import Case, VariablePolynomial
from polymargin.vnnlib.regions import QueryRegion

Array = NDArray[np.float64]

# Where to look on the ray from the centre through a tie: just beyond it, half way to the edge, at the edge.
SHARES = (0.5, 0.1, 0.9, 1e-3, 1e-6, 1e-9, 1e-12, 0.0, 1.0)
STEPS, STARTS = 30, 8


def satisfies(network: Network, cases: Sequence[Case], point: Array) -> bool:
    """Return whether one of the cases holds at a float point, in exact arithmetic."""
    inputs = [Fraction(value) for value in point.tolist()]
    possible = [case for case in cases if all(c.holds(inputs, []) for c in case if "Y" not in c.polynomial.kinds)]
    # Exact outputs are dear: they are computed only where the rounded ones leave a chance.
    rounded = network(point).tolist()
    if not np.isfinite(rounded).all() or not any(_nearly(case, inputs, rounded) for case in possible):
        return False
    outputs = network.exact_logits(point)
    return any(all(comparison.holds(inputs, outputs) for comparison in case) for case in possible)


def _nearly(case: Case, inputs: Sequence[Fraction], outputs: Sequence[float]) -> bool:
    exact = [Fraction(value) for value in outputs]
    slack = Fraction(1e-6) * (1 + max(map(abs, exact)))
    return all(
        comparison.polynomial.value(inputs, exact) >= -slack * _slope(comparison.polynomial)
        for comparison in case
        if comparison.polynomial.kinds == {"Y"} and comparison.polynomial.degree == 1
    )


def _slope(polynomial: VariablePolynomial) -> Fraction:
    return sum((abs(value) for value in polynomial.terms.values()), Fraction(0))


def first_witness(network: Network, cases: Sequence[Case], candidates: Sequence[Array]) -> Array | None:
    """Return the first candidate that satisfies one of the cases, after rounding to float32 if possible."""
    with np.errstate(over="ignore"):
        rounded = [point.astype(np.float32).astype(np.float64) for point in candidates]
    for point in (*rounded, *candidates):
        if np.isfinite(point).all() and satisfies(network, cases, point):
            return point
    return None


def around(region: QueryRegion, point: Array) -> Iterator[Array]:
    """Yield candidates on the ray through a point whose outputs are nearly right, moved into the bounds of the inputs."""
    ball = region.balls[0]
    centre = ball.float_centre
    distance, reach = float(np.linalg.norm(point - centre)), ball.inner_radius
    yield point
    if 0.0 < distance <= reach:
        for share in SHARES:
            yield region.clip(centre + (1.0 + share * (reach / distance - 1.0)) * (point - centre))
    if region.box is not None:
        yield region.clip(point)
        for stretch in (1.5, 3.0):
            yield region.clip(centre + stretch * (point - centre))


def ascended(network: Network, region: QueryRegion, seed: int) -> list[Array]:
    """Return points of the region where class 0 of a comparator is weak, by projected ascent of the best rival's lead."""
    generator = np.random.default_rng(seed)
    ball = region.balls[0]
    centre, radius = ball.float_centre, max(ball.inner_radius, 0.0)
    found = []
    for start in range(STARTS):
        direction = generator.normal(size=len(centre))
        place = centre + (0.5 * radius * direction / np.linalg.norm(direction) if start else 0.0)
        for step in range(STEPS):
            slope = _lead_gradient(network, place)
            size = float(np.linalg.norm(slope))
            if not np.isfinite(size) or size == 0.0:
                break
            length = radius * 0.5 * (1.0 - step / STEPS)
            if region.box is not None:
                place = region.clip(place + length * np.sign(slope))
                continue
            place = place + length * slope / size
            away = float(np.linalg.norm(place - centre))
            place = centre + (place - centre) * min(1.0, radius * (1.0 - 1e-12) / away) if away > 0.0 else place
            place = region.clip(place)
        found.append(place)
    return found


def _lead_gradient(network: Network, place: Array) -> Array:
    """Return the gradient of max_r f_r − f_0 by complex steps, as exact as the values themselves."""
    logits = network(place)
    rival = 1 + int(np.argmax(logits[1:]))
    steps = place + 1e-30j * np.eye(len(place))
    values = network.logits(steps)
    return np.asarray((values[:, rival] - values[:, 0]).imag / 1e-30)
