"""Completeness: N disjoint boxes, each with one regular critical point, hold all critical points there are.

N = D Σ_{i<m} (D−1)^i with D the degree that the stages can reach and m the number of linear forms of the inputs that they see,
at most the number of inputs, is the most isolated solutions that the critical equations can have; N regular ones leave no
room for any other solution (docs/theorems.md). A proof lists boxes with a real midpoint, and of boxes that are conjugate to
each other one: both count. If all N are disjoint, a zero in a box with a real midpoint is real, for its conjugate is a zero
in the same box, and no other is. A real zero of B nearest to u is a real critical point, so the least distance to a real
one is the distance to {B = 0}.

The boxes of all proofs are tested together, in doubles; those that do not pass there one by one in balls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import acb, arb, fmpq
from numpy.typing import NDArray

from polymargin_checker.arithmetic import working_precision
from polymargin_checker.arrays import doubles, powers_of_two
from polymargin_checker.discs import SAFE, UNIT, Complexes, Floats
from polymargin_checker.document import fields, integer
from polymargin_checker.jets import Jets
from polymargin_checker.krawczyk import contract
from polymargin_checker.krawczyk_discs import Boxes, contract_boxes
from polymargin_checker.refusal import Refused
from polymargin_checker.stages import Forms, Network, Polynomial, Product
from polymargin_checker.work import spend_doubles

PRECISION = 256
"""Bits of the balls that judge what doubles cannot."""
LARGEST_EXPONENT = 1000
"""Of radii, in powers of two."""
MOST_BOXES = 1 << 20


@dataclass(frozen=True, eq=False)
class Listed:
    """The boxes of a completeness proof: midpoints (boxes, n), their corrections, radii of x and λ (boxes, 2).

    The first `reals` midpoints are real. `boundary` makes B in balls.
    """

    network: Network
    boundary: Callable[[], Any]
    u: Floats
    label: int
    rival: int
    x: Complexes
    corrections: Complexes | None
    radii: Floats
    reals: int

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, eq=False)
class Completeness:
    """All critical points of one rival: bounds of the distances (reals,) of the real ones from u."""

    least: Floats
    most: Floats

    def proves_lower(self, lower: fmpq | None) -> bool:
        """Return whether no real zero of B is at a distance below `lower` (None is infinity)."""
        if lower is None:
            return not len(self.least)
        return lower <= 0 or all(fmpq(*value.as_integer_ratio()) >= lower for value in self.least.tolist())

    def proves_upper(self, index: int, upper: fmpq) -> bool:
        """Return whether real critical point `index` is at a distance of at most `upper`."""
        most = float(self.most[index])
        return bool(np.isfinite(most)) and bool(fmpq(*most.as_integer_ratio()) <= upper)


def read_completeness(
    network: Network, boundary: Callable[[], Any], u: Floats, label: int, rival: int, proof: Any
) -> Listed:
    """Read the boxes of a proof; there must be N with the conjugate ones."""
    fields(proof, "completeness proof", ("kind", "reals", "points", "radii"), ("corrections",))
    reals, n = integer(proof["reals"], "reals", 0, MOST_BOXES), network.dimension
    needed = most_critical_points(network)
    pairs = (needed - reals) // 2
    if pairs < 0 or reals + 2 * pairs != needed:
        raise Refused(f"{reals} real critical points of {needed} leave no pairs of conjugate ones")
    x = _midpoints(proof["points"], "points", reals, pairs, n)
    corrections = None
    if "corrections" in proof:
        corrections = _midpoints(proof["corrections"], "corrections", reals, pairs, n)
    count = reals + pairs
    radii = powers_of_two(proof["radii"], "radii", 2 * count, -LARGEST_EXPONENT, LARGEST_EXPONENT)
    return Listed(network, boundary, u, label, rival, x, corrections, radii.reshape(count, 2), reals)


def judge_completeness(proofs: Sequence[Listed], *, exact: bool) -> list[Completeness | Refused]:
    """Judge proofs about one network together."""
    if not proofs:
        return []
    network, boxes = proofs[0].network, _together(proofs)
    if exact:
        passed, reach = np.zeros(len(boxes), dtype=bool), np.zeros((len(boxes), network.dimension))
    else:
        found = contract_boxes(Jets(network), boxes)
        passed, reach = found.passed, found.reach[:, :-1]
    disjoint = _disjoint(boxes, proofs)
    least, most = _distances(boxes.x.real, boxes.u, reach)
    results: list[Completeness | Refused] = []
    end = 0
    for proof, apart in zip(proofs, disjoint.tolist(), strict=True):
        start, end = end, end + len(proof)
        place = slice(start, end)
        try:
            if not apart:
                raise Refused("two boxes are not shown to be disjoint")
            if proof.corrections is not None or not passed[place].all():
                _judge_in_balls(proof, passed[place], least[place], most[place])
            results.append(Completeness(least[start : start + proof.reals], most[start : start + proof.reals]))
        except Refused as refusal:
            results.append(refusal)
    return results


# -- how many there are --------------------------------------------------------------------------


def most_critical_points(network: Network) -> int:
    """Return N, or refuse a network that has no critical points or too many to be listed."""
    degree, variables = degree_of(network), variables_of(network)
    if degree < 1:
        raise Refused("the network is constant and has no critical points; use a hyperplane proof")
    needed, power = 0, degree
    for _ in range(variables):
        needed += power
        power *= degree - 1
        if power == 0:
            break
        if needed > MOST_BOXES:
            raise Refused(f"degree {degree} in {variables} variables allows more critical points than can be listed")
    return needed


def variables_of(network: Network) -> int:
    """Return how many linear forms of the inputs the logits depend on at most: the different ones that stages see."""
    rows = set()
    for forms in [*(part for stage in network.stages for part in stage.forms), network.readout]:
        for source, block in forms.blocks:
            if source == 0:
                for start, end in zip(block.starts[:-1].tolist(), block.starts[1:].tolist(), strict=True):
                    rows.add((block.columns[start:end].tobytes(), block.weights[start:end].tobytes()))
    return min(network.dimension, len(rows - {(b"", b"")}))


def degree_of(network: Network) -> int:
    """Return an upper bound on the degree of the logits: degrees add in products and multiply in polynomials."""
    degrees = [np.ones(network.dimension, dtype=np.int64)]
    for stage in network.stages:
        below = [_degrees(part, degrees) for part in stage.forms]
        if isinstance(stage, Product):
            degrees.append(below[0] + below[1])
        elif isinstance(stage, Polynomial):
            used = np.flatnonzero(stage.coefficients)
            degrees.append(below[0] * int(used[-1] if used.size else 0))
        else:
            raise Refused("a completeness proof speaks of polynomials, and this network has piecewise stages")
        if degrees[-1].max(initial=0) > MOST_BOXES:
            raise Refused("the degree of the network is too high to list its critical points")
    return int(_degrees(network.readout, degrees).max())


def _degrees(forms: Forms, known: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    result = np.zeros(len(forms), dtype=np.int64)
    for source, block in forms.blocks:
        np.maximum.at(result, block.rows, known[source][block.columns])
    return result


# -- boxes ---------------------------------------------------------------------------------------


def _midpoints(value: Any, name: str, reals: int, pairs: int, n: int) -> Complexes:
    found = doubles(value, name, (reals + 2 * pairs) * n)
    x = np.zeros((reals + pairs, n), dtype=np.complex128)
    x[:reals] = found[: reals * n].reshape(reals, n)
    parts = found[reals * n :].reshape(pairs, n, 2)
    x[reals:].real, x[reals:].imag = parts[..., 0], parts[..., 1]
    return x


def _together(proofs: Sequence[Listed]) -> Boxes:
    counts = [len(proof) for proof in proofs]

    def each(values: Sequence[Any]) -> NDArray[Any]:
        return np.repeat(np.array(values), counts, axis=0)

    return Boxes(
        np.concatenate([proof.x for proof in proofs]),
        np.concatenate([proof.radii for proof in proofs]),
        each([proof.u for proof in proofs]),
        each([proof.label for proof in proofs]),
        each([proof.rival for proof in proofs]),
        np.concatenate([np.arange(len(proof)) < proof.reals for proof in proofs]),
    )


def _disjoint(boxes: Boxes, proofs: Sequence[Listed]) -> NDArray[np.bool_]:
    """Return for each proof whether its boxes, with the conjugate ones, are pairwise disjoint in the coordinates of x."""
    owner = np.repeat(np.arange(len(proofs)), [len(proof) for proof in proofs])
    radii = boxes.radii[:, 0].copy()
    for place, proof in enumerate(proofs):
        if proof.corrections is not None:  # the box around the rounded sum lies in a larger one around the first part
            parts = np.abs(proof.corrections.real) + np.abs(proof.corrections.imag)
            radii[owner == place] += 2 * SAFE * parts.max(axis=1, initial=0.0)
    other = ~boxes.real
    x = np.concatenate([boxes.x, boxes.x[other].conj()])
    radii, owner = np.concatenate([radii, radii[other]]), np.concatenate([owner, owner[other]])
    order = np.lexsort((x[:, 0].real, owner))
    x, radii, owner = x[order], radii[order], owner[order]
    largest = np.zeros(len(proofs))
    np.maximum.at(largest, owner, radii)
    apart = np.ones(len(proofs), dtype=bool)
    for step in range(1, len(x)):
        # Sorted by the first real part: beyond the reach of the two largest boxes nothing meets.
        gap = x[step:, 0].real - x[:-step, 0].real
        near = (owner[step:] == owner[:-step]) & ~(gap > 2 * SAFE * largest[owner[step:]])
        first = np.flatnonzero(near)
        if not first.size:
            break
        spend_doubles(8 * first.size * x.shape[1], "the comparison of boxes")
        second = first + step
        difference = x[first] - x[second]
        widest = np.maximum(np.abs(difference.real), np.abs(difference.imag)).max(axis=1)
        meet = ~(widest > SAFE * (radii[first] + radii[second]))
        apart[owner[first[meet]]] = False
    return apart


def _distances(x: Floats, u: Floats, reach: Floats) -> tuple[Floats, Floats]:
    """Return the bounds of ‖y − u‖ over |y − x| ≤ reach, entry by entry."""
    steps = np.abs(x - u)
    least = np.maximum(steps * (1 - 4 * UNIT) - SAFE * reach, 0.0)
    most = steps * (1 + 4 * UNIT) + SAFE * reach
    rounding, tiny = (x.shape[1] + 16) * UNIT, np.finfo(np.float64).tiny
    return np.maximum(_lengths(least) * (1 - rounding) - tiny, 0.0), _lengths(most) * (1 + rounding) + tiny


def _lengths(vectors: Floats) -> Floats:
    """Return lengths, scaled by powers of two so that squares neither overflow nor all vanish."""
    exponents = np.frexp(vectors.max(axis=1, initial=0.0))[1]
    scaled = np.ldexp(vectors, -exponents[:, None])
    lengths: Floats = np.ldexp(np.sqrt((scaled * scaled).sum(axis=1)), exponents)
    return lengths


# -- balls ---------------------------------------------------------------------------------------


def _judge_in_balls(proof: Listed, passed: NDArray[np.bool_], least: Floats, most: Floats) -> None:
    """Test the boxes that did not pass, all of them where midpoints are sums; bounds of distances are written down."""
    with working_precision(PRECISION):
        boundary = proof.boundary()
        u = [arb(value) for value in proof.u.tolist()]
        for place in range(len(proof)) if proof.corrections is not None else np.flatnonzero(~passed).tolist():
            middle = [acb(value.real, value.imag) for value in proof.x[place].tolist()]
            if proof.corrections is not None:
                added = [acb(value.real, value.imag) for value in proof.corrections[place].tolist()]
                middle = [(one + other).mid() for one, other in zip(middle, added, strict=True)]
            found = contract(boundary, u, middle, *proof.radii[place].tolist(), real=place < proof.reals)
            if found is None:
                raise Refused(f"solution {place}: its box does not pass Krawczyk's test")
            if place < proof.reals:
                steps = [entry.real - coordinate for entry, coordinate in zip(found[:-1], u, strict=True)]
                least[place] = _below(sum((step.abs_lower() ** 2 for step in steps), arb(0)).sqrt())
                most[place] = _above(sum((step.abs_upper() ** 2 for step in steps), arb(0)).sqrt())


def _below(value: arb) -> float:
    return max(0.0, float(np.nextafter(float(value.lower()), -np.inf)))


def _above(value: arb) -> float:
    return float(np.nextafter(float(value.upper()), np.inf))
