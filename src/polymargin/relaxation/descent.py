"""Where functionals are lowest on the perturbations that a region allows: projected gradient steps from many points at once.

A step goes to the projection of δ − t∇ on the ball in the box, with the step length t of Barzilai and Borwein (Birgin, Martínez
and Raydan's spectral projected gradients), or towards the point where the linearised functional is lowest (Frank and Wolfe). The
better of both is taken if it falls. On concave functionals the second jumps from corner to corner, on others the first converges
fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polymargin.deadlines import NEVER, Deadline
from polymargin.networks.network import Network
from polymargin.regions import Perturbations
from polymargin.relaxation.balls import TINY, NormBall
from polymargin.relaxation.coordinates import directions
from polymargin.relaxation.gradients import Functionals

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


class HasGradients(Protocol):
    """Functionals with row numbers, at many points."""

    def gradients(self, points: Array, rows: Rows, /) -> tuple[Array, Array]:
        """Return values (S,) and gradients (S, d)."""
        ...


ROUNDS = 40
# Starts for each functional, where each round costs little, and in many dimensions.
MANY_STARTS, FEW_STARTS, FEW = 24, 4, 32
# By what a step shrinks that did not fall, and after how many of them a point stays.
SHORTER, FAILURES = 0.2, 4
# A fall by less than this share of what a step of full length promised counts as none.
LEAST_FALL = 1e-9


def lowest_points(
    network: Network,
    point: Array,
    perturbations: Perturbations,
    label: int,
    rivals: Sequence[int],
    starts: Array | None = None,
    seed: int = 0,
    deadline: Deadline = NEVER,
) -> tuple[Array, Array]:
    """Return low values (R,) of f_label − f_rival for each rival, and the steps δ (R, d) at which they are taken.

    starts   steps (R, d), one for each rival, in place of random ones
    """
    return lowest_of(Functionals.leads(network, label, rivals), point, perturbations, starts, seed, deadline)


def lowest_of(
    functionals: Functionals,
    point: Array,
    perturbations: Perturbations,
    starts: Array | None = None,
    seed: int = 0,
    deadline: Deadline = NEVER,
) -> tuple[Array, Array]:
    """Return low values (R,) of functionals of the inputs, and the steps δ (R, d) at which they are taken."""
    weights = perturbations.weights
    scaled = directions(len(point), perturbations.moving, perturbations.columns, weights)
    local = functionals.around(point).along(scaled)
    ball = NormBall(perturbations.norm, perturbations.low * weights, perturbations.high * weights)
    if starts is not None:
        rows = np.arange(len(functionals))
        first = ball.projected(starts * weights, np.full(len(rows), perturbations.radius))
    else:
        count = MANY_STARTS if ball.dimension <= FEW else FEW_STARTS
        rows = np.tile(np.arange(len(functionals)), count)
        first = random_starts(ball, perturbations.radius, len(functionals), count, np.random.default_rng(seed))
    values, steps = descend(local, rows, ball, np.full(len(rows), perturbations.radius), first, deadline=deadline)
    values = values.reshape(-1, len(functionals))
    best, each = values.argmin(axis=0), np.arange(len(functionals))
    chosen = steps.reshape(len(values), len(functionals), -1)[best, each]
    return values[best, each], ball.clipped(chosen) / weights


def random_starts(ball: NormBall, radius: float, count: int, starts: int, generator: np.random.Generator) -> Array:
    """Return the point itself, then where random linear functions are lowest."""
    slopes = generator.normal(size=(count * (starts - 1), ball.dimension))
    far = ball.lowest(slopes, np.full(len(slopes), radius))
    return np.concatenate([ball.clipped(np.zeros((count, ball.dimension))), far])


@np.errstate(all="ignore")  # far out numbers may overflow; such places are not taken
def descend(
    functionals: HasGradients,
    rows: Rows,
    ball: NormBall,
    radii: Array,
    starts: Array,
    rounds: int = ROUNDS,
    deadline: Deadline = NEVER,
    goal: float = -np.inf,
) -> tuple[Array, Array]:
    """Return low values (S,) of the functionals with these row numbers within the radii, and the steps (S, d).

    It ends once a value is at most `goal`.
    """
    steps = starts.copy()
    values, slopes = functionals.gradients(steps, rows)
    values = np.where(np.isfinite(values), values, np.inf)
    strides = 2 * radii / np.maximum(np.linalg.norm(slopes, axis=1), TINY)
    shares, failures = np.ones(len(rows)), np.zeros(len(rows), dtype=np.int64)
    for _ in range(rounds):
        active = np.flatnonzero(failures < FAILURES)
        if not active.size or not ball.dimension or values.min() <= goal or deadline.passed:
            break
        here, slope, reach = steps[active], slopes[active], radii[active]
        corner = ball.lowest(slope, reach)
        tried = np.stack(
            [
                ball.projected(here - strides[active, None] * slope, reach),
                here + shares[active, None] * (corner - here),
            ]
        )
        found, gradients = functionals.gradients(tried.reshape(-1, tried.shape[2]), np.tile(rows[active], len(tried)))
        found = np.where(np.isfinite(found), found, np.inf).reshape(len(tried), -1)
        best, each = found.argmin(axis=0), np.arange(len(active))
        promised = (slope * (here - corner)).sum(axis=1)
        better = found[best, each] < values[active] - LEAST_FALL * promised
        place, change = tried[best, each], gradients.reshape(*tried.shape)[best, each] - slope
        move = place - here
        bend, square = (move * change).sum(axis=1), (move * move).sum(axis=1)
        stride = np.where(bend > 0, square / np.maximum(bend, TINY), 10 * strides[active])
        strides[active] = np.where(better, stride, SHORTER * strides[active])
        shares[active] = np.where(
            found[1] < values[active], np.minimum(2 * shares[active], 1.0), SHORTER * shares[active]
        )
        failures[active] = np.where(better, 0, failures[active] + 1)
        taken = active[better]
        steps[taken], values[taken] = place[better], found[best, each][better]
        slopes[taken] = (change + slope)[better]
    return values, steps
