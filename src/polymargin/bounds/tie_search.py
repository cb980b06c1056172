"""A point near u where a rival wins, as near as a local search finds one.

From many starts at once: steps to the nearest point of the linearised boundary, u + g (g·(x − u) − B) / ‖g‖² (DeepFool;
Hasofer and Lind in reliability analysis), with the part along the boundary damped; then Newton on the Lagrange equations

    η + λ∇B = 0,   B = 0        with matrix [[I + λ∇²B, ∇B], [∇Bᵀ, 0]],

which makes the distance accurate to rounding. In many dimensions it runs in the span of the best point, the gradients
there and the last moves, which grows by a gradient a round: no step costs more than a few gradients. The best points
are pushed across the boundary by the smallest step for which exact arithmetic says that the rival wins or ties.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.gradients import evaluate, evaluate_twice
from polymargin.bounds.views import AnyView
from polymargin.deadlines import Deadline

Array = NDArray[np.float64]

WALK = (1.0,) * 2 + (0.5,) * 5 + (0.25,) * 9
# From u itself: parts of a step, for a full one need not settle; how many, and where they stand still.
PARTS, SETTLING, SETTLED = (1.0, 0.5, 0.25), 60, 1e-6
NEWTON = 6
# Up to this dimension Newton's matrix is made in full, for every start; beyond it in subspaces, for the best few starts.
FULL_NEWTON = 48
MANY_STARTS, FEW_STARTS = 24, 4
REFINED = 4
ROUNDS = 24
WIDEST_SUBSPACE = 10
CONVERGED = 1e-7  # of the part along the boundary; the distance is that much squared away from its least value
NUDGES = 12
TRIES = 5
# Where to look along a ray, in units of B(u) / ‖∇B(u)‖, or of what moves a neuron by its own size if that is less.
REACHES = np.array([0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.5, 7.0, 12.0, 25.0, 60.0])


class LosingPoint(NamedTuple):
    """f_rival ≥ f_label at the point, in exact arithmetic; the distance is rounded up."""

    point: Array
    distance: float
    rival: int


def nearest_losing_point(
    view: AnyView, label: int, group: list[int], starts: int | None, seed: int, deadline: Deadline
) -> LosingPoint | None:
    """Of the rivals of a group, from so many starts for each; at the deadline it makes do with the points it has."""
    starts = starts or (MANY_STARTS if view.dimension <= FULL_NEWTON else FEW_STARTS)
    rivals = np.repeat(np.array(group), starts)
    with np.errstate(all="ignore"):
        first = _starts(view, label, rivals, starts, seed)
        each, parts = np.repeat(np.array(group), len(PARTS)), np.tile(PARTS, len(group))
        straight = _settled(view, label, each, parts, deadline)
        walked = np.concatenate([_walk(view, label, rivals, first, deadline), straight])
        first, rivals = np.concatenate([first, straight]), np.concatenate([rivals, each])
        if view.dimension <= FULL_NEWTON:
            places, winners = _newton(view, label, rivals, walked), rivals
        else:
            best = _most_promising(view, label, rivals, walked)
            refined = [_refined(view, label, rivals[i], walked[i], deadline) for i in best]
            places, winners = np.stack(refined), rivals[best]
        # Newton's method may end at a worse point than where it started.
        places, winners = np.concatenate([places, straight]), np.concatenate([winners, each])
        for candidates, classes in ((places, winners), (walked, rivals), (first, rivals)):
            found = _nearest(view, label, classes, candidates)
            if found is not None:
                return found
    return None


def _starts(view: AnyView, label: int, rivals: NDArray[np.int64], starts: int, seed: int) -> Array:
    """Where rays from u first cross the boundary, as far as a coarse look tells: downhill first, then at random."""
    generator = np.random.default_rng(seed)
    count, dimension = len(rivals), view.dimension
    values, slopes = evaluate(view, np.zeros((count, dimension)), label, rivals)
    steepness = np.maximum(np.linalg.norm(slopes, axis=1), 1e-300)
    directions = generator.normal(size=(count, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    directions *= np.where((directions * slopes).sum(axis=1) > 0, -1.0, 1.0)[:, None]
    directions[::starts] = -(slopes / steepness[:, None])[::starts]
    lengths = np.minimum(values / steepness, 2 * view.natural_length) * REACHES[:, None]
    points = (lengths[..., None] * directions).reshape(-1, dimension)
    along = evaluate(view, points, label, np.tile(rivals, len(REACHES)))[0].reshape(lengths.shape)
    crossing = np.where((along <= 0).any(axis=0), np.argmax(along <= 0, axis=0), np.arange(count) % len(REACHES))
    return np.asarray(lengths[crossing, np.arange(count)][:, None] * directions)


def _walk(view: AnyView, label: int, rivals: NDArray[np.int64], places: Array, deadline: Deadline) -> Array:
    """Onto the linearised boundary in full, towards u within it in part, and never too far at once."""
    for part in WALK:
        if deadline.passed:
            break
        values, slopes = evaluate(view, places, label, rivals)
        square = np.maximum((slopes * slopes).sum(axis=1), 1e-300)
        normal = ((slopes * places).sum(axis=1) / square)[:, None] * slopes
        move = part * (normal - places) - (values / square)[:, None] * slopes
        longest = 0.5 * np.linalg.norm(places, axis=1) / np.maximum(np.linalg.norm(move, axis=1), 1e-300)
        moved = places + np.minimum(1.0, longest)[:, None] * move
        places = np.where(np.isfinite(moved).all(axis=1)[:, None], moved, places)
    return places


def _settled(view: AnyView, label: int, rivals: NDArray[np.int64], part: Array, deadline: Deadline) -> Array:
    """From u itself in full steps or in parts of them until they stand still: what DeepFool finds is never missed."""
    places = np.zeros((len(rivals), view.dimension))
    for step in range(SETTLING):
        if step % 6 == 0 and deadline.passed:  # a step costs a gradient
            break
        values, slopes = evaluate(view, places, label, rivals)
        square = np.maximum((slopes * slopes).sum(axis=1), 1e-300)
        moves = (((slopes * places).sum(axis=1) - values) / square)[:, None] * slopes - places
        moved = places + part[:, None] * moves
        places = np.where(np.isfinite(moved).all(axis=1)[:, None], moved, places)
        if (np.linalg.norm(moves, axis=1) <= SETTLED * np.linalg.norm(places, axis=1)).all():
            break
    return places


def _newton(view: AnyView, label: int, rivals: NDArray[np.int64], places: Array, factor: Array | None = None) -> Array:
    """Newton on the Lagrange equations from every place, in all coordinates or in those of a subspace."""
    count, dimension = places.shape
    multipliers = np.zeros(0)
    system = np.zeros((count, dimension + 1, dimension + 1))
    inner = np.arange(dimension)
    for step in range(NEWTON if factor is None else NEWTON // 2):
        values, slopes, hessians = evaluate_twice(view, places, label, rivals, factor)
        if step == 0:
            multipliers = -(places * slopes).sum(axis=1) / np.maximum((slopes * slopes).sum(axis=1), 1e-300)
        system[:, :-1, :-1] = multipliers[:, None, None] * hessians
        system[:, inner, inner] += 1.0
        system[:, :-1, -1] = system[:, -1, :-1] = slopes
        right = np.concatenate([-places - multipliers[:, None] * slopes, -values[:, None]], axis=1)
        try:
            change = np.linalg.solve(system, right[..., None])[..., 0]
        except np.linalg.LinAlgError:
            break
        change[~np.isfinite(change).all(axis=-1)] = 0.0
        places = places + change[:, :-1]
        multipliers = multipliers + change[:, -1]
    return places


def _most_promising(view: AnyView, label: int, rivals: NDArray[np.int64], places: Array) -> NDArray[np.int64]:
    """The best place of each of the few rivals that seem nearest, by the distance to their linearised boundaries."""
    values, slopes = evaluate(view, places, label, rivals)
    steepness = np.linalg.norm(slopes, axis=1)
    distances = np.linalg.norm(places, axis=1) + np.abs(values) / np.maximum(steepness, 1e-300)
    order = np.argsort(np.where(np.isfinite(distances), distances, np.inf), kind="stable")
    ranked = rivals[order]
    first = [i for k, i in enumerate(order) if ranked[k] not in ranked[:k]]
    return np.array(first[:REFINED])


def _refined(view: AnyView, label: int, rival: int, place: Array, deadline: Deadline) -> Array:
    """Newton on the Lagrange equations in growing subspaces."""
    rivals = np.array([rival])
    recent: list[Array] = []
    for _ in range(ROUNDS):
        if deadline.passed:
            break
        _, slopes = evaluate(view, place[None], label, rivals)
        slope = slopes[0]
        multiplier = -(place @ slope) / max(float(slope @ slope), 1e-300)
        rest = float(np.linalg.norm(place + multiplier * slope))
        recent = [place, slope, *recent][:WIDEST_SUBSPACE]
        basis, _ = np.linalg.qr(np.stack([v / max(float(np.linalg.norm(v)), 1e-300) for v in recent], axis=1))
        inner = _newton(view, label, rivals, (place @ basis)[None], view.in_subspace(basis))[0]
        moved = basis @ inner
        if not np.isfinite(moved).all() or np.linalg.norm(moved) > 2 * np.linalg.norm(place):
            break
        recent.insert(2, moved - place)
        place = moved
        if rest <= CONVERGED * np.linalg.norm(place):
            break
    return place


def _nearest(view: AnyView, label: int, rivals: NDArray[np.int64], places: Array) -> LosingPoint | None:
    """The nearest of the places on or beyond the boundary that stands up to exact arithmetic."""
    values, slopes = evaluate(view, places, label, rivals)
    distances = np.linalg.norm(places, axis=1)
    near = np.isfinite(distances) & (values <= 1e-9 * np.linalg.norm(slopes, axis=1) * distances)
    tried: list[float] = []
    for i in np.argsort(np.where(near, distances, np.inf), kind="stable"):
        if not near[i] or len(tried) == TRIES:
            break
        if any(abs(distances[i] - distance) <= 1e-12 * distance for distance in tried):
            continue
        tried.append(float(distances[i]))
        x, slope = view.point + view.basis @ places[i], view.basis @ slopes[i]
        found = _push(view, label, int(rivals[i]), x, slope)
        if found is not None:
            return found
    return None


def _push(view: AnyView, label: int, rival: int, x: Array, slope: Array) -> LosingPoint | None:
    """Across the boundary by the least step that convinces exact arithmetic."""
    size = float(np.linalg.norm(slope))
    if size == 0.0:
        return None
    extra = 0.5 * np.finfo(np.float64).eps * float(np.abs(x).max())
    for _ in range(NUDGES):
        logits = view.network.exact_logits(x)
        behind = logits[label] - logits[rival]
        if behind <= 0:
            return LosingPoint(x, _distance(x, view.point), rival)
        if behind > sys.float_info.max:  # no double says how far to step
            return None
        x = x - slope / size * (float(behind) / size + extra)
        extra *= 2
    return None


def _distance(x: Array, u: Array) -> float:
    square = sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x.tolist(), u.tolist(), strict=True)), Fraction(0))
    return math.nextafter(math.sqrt(square), math.inf)
