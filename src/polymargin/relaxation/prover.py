"""Proofs that f_label − f_rival − lead is positive on a region of one radius.

A `PreparedRegion` holds what all rivals share: the rows of the network, the intervals of all variables, their lemmas. For each
rival a guess from its worst point is tried first; where it does not suffice, the interior-point method goes on from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polymargin.deadlines import NEVER, Deadline
from polymargin.networks.network import Network
from polymargin.networks.stages import Piecewise
from polymargin.regions import Region
from polymargin.regions.norms import Norm
from polymargin.regions.perturbations import Perturbations
from polymargin.relaxation.candidates import parabolas
from polymargin.relaxation.constraints.argument import Argument
from polymargin.relaxation.constraints.ball import BallConstraint
from polymargin.relaxation.constraints.box import BoxConstraint
from polymargin.relaxation.constraints.cauchy_schwarz import CauchySchwarz, is_quadratic
from polymargin.relaxation.constraints.constraint import Constraint
from polymargin.relaxation.constraints.definition import Definition
from polymargin.relaxation.constraints.encoding import number
from polymargin.relaxation.constraints.line import LineConstraint
from polymargin.relaxation.constraints.minorant import Minorant, Parabolas, closest
from polymargin.relaxation.constraints.pieces import Pieces, settled
from polymargin.relaxation.constraints.range import Range
from polymargin.relaxation.curvatures import CurvatureCache
from polymargin.relaxation.expansion import Combination, Expansion, Neurons
from polymargin.relaxation.functions import values as row_values
from polymargin.relaxation.guess import guessed, made_definite
from polymargin.relaxation.interior_point import Optimum, maximise
from polymargin.relaxation.lemmas import ProvedEnclosures, decided_pieces, enclose
from polymargin.relaxation.relaxation import Leaf, Relaxation
from polymargin.relaxation.space import Space

Array = NDArray[np.float64]
Proof: TypeAlias = "dict[str, object]"

SLACKS = (0.1, 1.0)
FEW = 64
"""Size of programs for which the widest start is the first."""
ENOUGH = 5e-8
"""Bounds above this, relative to the size of the functional, leave room for rounding."""
ACCURACY, SHARP = 2e-3, 1e-8
"""Of an optimum, and where only its sign is looked for, relative to the size of the functional."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """A bound for one rival, how far it may be below the best of the relaxation, and the proof if it is positive."""

    value: float
    gap: float
    leaf: Leaf | None
    relaxation: Relaxation
    optimum: Optimum | None = None
    y: Array | None = None


@dataclass(frozen=True)
class StartingPoint:
    """How far inside a guess the interior-point method starts, all relative to the size of the functional.

    room     least eigenvalue of the form in the variables
    inward   what every multiplier with a sign is more than guessed
    drop     how far the bound is below what these multipliers prove
    tau      X Z = τ I
    poorest  guesses that prove a bound farther below zero are replaced by small multipliers

    Where a form starts with small eigenvalues, so do many boundaries nearby, and steps are short; where it starts with large
    ones in many coordinates, the bound is far below the optimum.
    """

    room: float
    inward: float
    drop: float
    tau: float
    poorest: float = 10.0

    def of(self, relaxation: Relaxation, guess: Array, scale: float) -> Array | None:
        """Return strictly feasible multipliers; None where rounding leaves none."""
        y = guess.copy() if guess[0] > -self.poorest * scale else relaxation.first() * scale
        y[relaxation.program.signed] += self.inward * scale
        y = made_definite(relaxation, y, scale, self.room)
        y[0] -= self.drop * scale
        return y if np.isfinite(y[0]) else None


CLOSE, WIDE = StartingPoint(1e-4, 0.02, 0.1, 0.3, poorest=np.inf), StartingPoint(1.0, 1.0, 2.0, 0.3)
"""Near a guess, and with every multiplier of the size of the functional."""


@dataclass(frozen=True, eq=False)
class PreparedRegion:
    """A network on a region around a point."""

    network: Network
    perturbations: Perturbations
    is_cut: bool
    proved: ProvedEnclosures
    cut_forms: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls,
        network: Network,
        point: Array,
        region: Region,
        radius: float,
        cache: CurvatureCache,
        deadline: Deadline = NEVER,
        *,
        with_box: bool = True,
    ) -> PreparedRegion:
        """Expand the network and bound all variables; neurons that the region decides are replaced by their pieces.

        Without its box a region that cuts an L2 ball is bounded by the multiplier of the ball, in fewer coordinates.
        """
        near = region.at(point, radius)
        cut = with_box and is_cut(near)
        piecewise = [k for k, stage in enumerate(network.stages, start=1) if isinstance(stage, Piecewise)]
        decided = {k: np.full(len(network.stages[k - 1]), -1, dtype=np.int8) for k in piecewise}
        for stage in piecewise:
            deadline.check()
            expansion = Expansion(network, point, near.dimension, near.seen, decided)
            found = enclose(expansion, near, is_cut=cut, cache=cache, until=stage)
            decided[stage] = decided_pieces(found.enclosures, stage)
        deadline.check()
        expansion = Expansion(network, point, near.dimension, near.seen, decided)
        return cls(network, near, cut, enclose(expansion, near, is_cut=cut, cache=cache))

    @cached_property
    def space(self) -> Space:
        return Space(self.proved.enclosures, self.proved.coordinates)

    def relaxation(self, label: int, rival: int, lead: float, worst: Array) -> Relaxation:
        """Return the program of f_label − f_rival − lead; `worst` is a δ that is likely to be nearly the worst."""
        functional = self.space.expansion.functional(label, rival)
        return Relaxation(self.space, functional, self.constraints(functional, worst), lead)

    def values(self, neurons: Neurons, x: Array) -> Array:
        """Return the functions of neurons at one argument each."""
        if neurons.powers is not None:
            return row_values(neurons.powers, x[:, None])[:, 0]
        stage = self.network.stages[neurons.stage - 1]
        assert isinstance(stage, Piecewise)
        return np.asarray(stage.activate(x))

    def constraints(self, functional: Combination, worst: Array) -> list[Constraint]:
        """Return the constraints for a functional; `worst` is a δ that is likely to be nearly the worst."""
        space, expansion = self.space, self.space.expansion
        found: list[Constraint] = []
        if self.perturbations.has_ball:
            found.append(BallConstraint(space))
        in_a_box = self.is_cut or self.perturbations.norm is not Norm.L2
        if len(space.coordinates.own) or (space.coordinates.is_diagonal and in_a_box):
            found.append(BoxConstraint(space))
        if expansion.remainders:
            found.append(Definition(space))
        if expansion.variables:
            found.append(Range(space))
        concave = {
            expansion.values[source].factors[0]: np.maximum(0.0, -weights[0])
            for source, weights in functional.products.items()
            if expansion.values[source].factors[0] == expansion.values[source].factors[1]
        }
        chosen = [np.array(sorted(self.cut_forms), dtype=np.int64)]
        if space.neurons:
            variables, arguments = expansion.state(worst)
            candidates, weights, xs = [], [], []
            for neurons in space.neurons:
                group = expansion.groups[neurons.group]
                x = arguments[group.forms][neurons.forms]
                x = x + group.value[neurons.forms] if neurons.powers is None else x
                weights.append(_weights(functional, expansion, neurons))
                wanted = settled(space, neurons) < 0
                candidates.append(parabolas(space.enclosures, neurons, x, weights[-1], wanted))
                chosen.append(group.start + neurons.forms[wanted])
                xs.append(x)
            minorant = self._minorants(candidates, weights, xs, variables, functional)
            found.append(minorant)
            concave |= minorant.concave()
            lines = LineConstraint(space)
            if lines.is_used:
                found.append(lines)
            pieces = Pieces(space)
            if pieces.is_used:
                found.append(pieces)
        narrow = np.unique(np.concatenate(chosen))
        if len(narrow):
            found.append(Argument(space, narrow))
        alpha = {n: a for n, a in concave.items() if a.any() and is_quadratic(expansion, expansion.groups[n])}
        if alpha:
            found.append(CauchySchwarz(space, self.proved.shape, alpha))
        return found

    def _minorants(
        self,
        candidates: list[Parabolas],
        weights: list[Array | None],
        xs: list[Array],
        variables: Array,
        functional: Combination,
    ) -> Minorant:
        joined, x = Parabolas.joined(candidates), np.concatenate(xs)
        y = np.concatenate([variables[neurons.places] for neurons in self.space.neurons])
        reference, known = np.full(len(x), -1), np.zeros(len(x))
        for neurons, own in zip(self.space.neurons, weights, strict=True):
            if own is not None and neurons.powers is not None:
                every = neurons.number + np.arange(len(neurons.forms))
                known[every] = own
                reference[every] = closest(joined, every, x, y)
        return Minorant(self.space, joined, reference, known, max(abs(float(functional.constant[0])), 1e-300))

    # -- bounds --------------------------------------------------------------------------------

    def bound(
        self,
        relaxation: Relaxation,
        worst: Array,
        *,
        decide: bool = True,
        solve: bool = True,
        accuracy: float = ACCURACY,
        deadline: Deadline = NEVER,
    ) -> Outcome:
        """Bound a functional; with `decide` the search ends as soon as the sign is known, without `solve` it guesses only."""
        scale = max(abs(relaxation.value), 1e-3 * float(np.abs(relaxation.base[0]).max()))
        enough = ENOUGH * max(scale, 1e-6 * float(np.abs(relaxation.base).max()))
        place = self.space.place(worst)
        best = np.full(1, -np.inf)
        for slack in SLACKS:
            deadline.check()
            guess = guessed(relaxation, place, scale, slack)
            best = guess.y if guess.value > best[0] else best
            if guess.value > enough and decide:
                return self._outcome(relaxation, guess.y, math.inf, None)
        if not solve:
            return self._outcome(relaxation, best, math.inf, None)
        limits = {"enough": enough, "hopeless": 0.0} if decide else {"hopeless": -scale}
        found = None
        for start in self._starts(relaxation):
            deadline.check()
            y = start.of(relaxation, best, scale)
            if y is not None:
                made = maximise(
                    relaxation.program.placed,
                    y,
                    scale,
                    tau=start.tau,
                    tolerance=SHARP if decide else accuracy,
                    deadline=deadline,
                    **limits,
                )
                found = made if found is None or (made is not None and made.value > found.value) else found
                if (made is not None and made.converged) or (found is not None and deadline.passed):
                    break
        if found is None or best[0] > found.value:
            return self._outcome(relaxation, best, math.inf, None)
        return self._outcome(relaxation, found.y, found.gap, found)

    def _starts(self, relaxation: Relaxation) -> list[StartingPoint]:
        """Return from where the interior-point method starts, and from where again if it gets nowhere."""
        size = relaxation.space.size
        if size <= FEW:
            return [WIDE]
        spread = StartingPoint(room=20 / size, inward=20 / size, drop=2.0, tau=2000 / size)
        is_hard = "box" in relaxation.parts or any(neurons.powers is None for neurons in relaxation.space.neurons)
        return [spread, WIDE] if is_hard else [CLOSE, spread, WIDE]

    def _outcome(self, relaxation: Relaxation, y: Array, gap: float, optimum: Optimum | None) -> Outcome:
        value = float(y[0])
        leaf = None
        if value > 0:
            with_room = relaxation.with_room(y)
            if relaxation.is_definite(with_room):
                leaf = relaxation.leaf(with_room)
        return Outcome(value, gap, leaf, relaxation, optimum, y)

    # -- certificates --------------------------------------------------------------------------

    def proof(self, tree: object) -> Proof:
        """Return the proof of one rival; all but the tree is the same for all rivals."""
        return {
            "kind": "relaxation",
            "radius": number(self.perturbations.radius),
            "coordinates": self.proved.coordinates.entry,
            "ellipsoid": self.proved.shape.to_entry(),
            "decided": self.proved.decided,
            "lemmas": self.proved.lemmas,
            "tree": tree,
        }


def _weights(functional: Combination, expansion: Expansion, neurons: Neurons) -> Array | None:
    """Return the weights of neurons in the functional; None if later forms depend on them too."""
    later = [group.tail[:, neurons.places] for group in expansion.groups if group.end >= neurons.places.stop]
    later += [
        group.linear[:, neurons.places] for group in expansion.groups if group.linear.shape[1] >= neurons.places.stop
    ]
    return None if any(part.any() for part in later) else functional.tail[0, neurons.places]


def is_cut(near: Perturbations) -> bool:
    """Return whether the box of a region cuts its ball."""
    reach = near.radius * near.inverse_weights
    return bool((near.low > -reach * (1 - 1e-12)).any() or (near.high < reach * (1 - 1e-12)).any())
