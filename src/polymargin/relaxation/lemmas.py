"""Narrower intervals, proved by the rule on the whole region, one group of forms after the other.

A lemma bounds the remainders w or the arguments t of a group from one side. What it says holds for all that comes later, and for
all rivals. Remainders that are quadratic forms of δ get the eigenvalues of their curvatures; arguments that depend on neurons get
linear bounds, in which every neuron is replaced by a line on one side of its function.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.stages import Piecewise
from polymargin.regions.perturbations import Perturbations
from polymargin.relaxation.constraints.cauchy_schwarz import is_quadratic
from polymargin.relaxation.constraints.ellipsoid import EllipsoidShape
from polymargin.relaxation.constraints.encoding import packed, packed_integers
from polymargin.relaxation.constraints.pieces import met_pieces, widened
from polymargin.relaxation.curvatures import CurvatureCache, argument_ends
from polymargin.relaxation.enclosures import Enclosures
from polymargin.relaxation.expansion import Expansion, Group
from polymargin.relaxation.linear_bounds import Lemma, linear_lemmas
from polymargin.relaxation.space import ProgramCoordinates

Array = NDArray[np.float64]


@dataclass(eq=False)
class ProvedEnclosures:
    """Intervals on the whole region, and the lemmas that prove them."""

    enclosures: Enclosures
    coordinates: ProgramCoordinates
    shape: EllipsoidShape
    lemmas: list[Lemma] = field(default_factory=list)

    @property
    def decided(self) -> list[list[int | str]]:
        """Return the pieces of all piecewise stages, as certificates have them."""
        return [[stage, packed_integers(pieces)] for stage, pieces in self.enclosures.expansion.decided.items()]

    def narrow(self, number: int, cache: CurvatureCache, *, every_argument: bool = False) -> None:
        """Bound the remainders of a group, and its arguments where neurons depend on them or all are wanted.

        Where all arguments are wanted on a box, programs will bound them: eigenvalues on an ellipsoid around it add little.
        """
        enclosures, expansion = self.enclosures, self.enclosures.expansion
        group = expansion.groups[number]
        enclosures.enclose_remainders(group)
        if is_quadratic(expansion, group) and not (every_argument and not self.shape.of_ball):
            ends = cache.ends(expansion, group, self.coordinates, self.shape)
            self.lemmas += _by_curvatures(enclosures, number, group, ends)
        enclosures.enclose_arguments(group)
        if is_quadratic(expansion, group) and (
            every_argument or any(neurons.group == number for neurons in expansion.neurons)
        ):
            self.lemmas += _arguments_by_curvatures(enclosures, number, group, self.coordinates, self.shape)
        self.lemmas += linear_lemmas(enclosures, number)


def enclose(
    expansion: Expansion, region: Perturbations, *, is_cut: bool, cache: CurvatureCache, until: int | None = None
) -> ProvedEnclosures:
    """Bound all variables and arguments, group by group; up to the forms of the stage `until`."""
    coordinates = ProgramCoordinates.of(expansion, region, is_cut=is_cut, mixed=True)
    shape = EllipsoidShape.around(region)
    enclosures = Enclosures.unknown(expansion, region)
    result = ProvedEnclosures(enclosures, coordinates, shape)
    for number, group in enumerate(expansion.groups):
        result.narrow(number, cache)
        if group.stage == until:
            break
        if number + 1 == len(expansion.groups) or expansion.groups[number + 1].stage != group.stage:
            enclosures.enclose_neurons(group.stage)
    return result


def decided_pieces(enclosures: Enclosures, stage: int) -> NDArray[np.int8]:
    """Return the piece of each neuron of a piecewise stage on the region, −1 where it may have several."""
    expansion = enclosures.expansion
    (group,) = [group for group in expansion.groups if group.stage == stage]
    function = expansion.network.stages[stage - 1]
    assert isinstance(function, Piecewise)
    low, high = enclosures.of_forms(group)
    first, last = met_pieces(function, *widened(group.value + low, group.value + high))
    degrees = np.array([len(piece) - 1 for piece in function.pieces])
    settled = (first == last) & (degrees[first] <= 2) & (first <= 127)
    return np.where(settled, first, -1).astype(np.int8)


def _by_curvatures(enclosures: Enclosures, number: int, group: Group, found: tuple[Array, Array]) -> list[Lemma]:
    """Return lemmas for the ends that eigenvalues make narrower."""
    lemmas: list[Lemma] = []
    for side, ends, bounds, sign in zip(("low", "high"), enclosures.variables, found, (-1.0, 1.0), strict=True):
        here = ends[group.places]
        stated = bounds * (1 + 1e-6)
        better = np.flatnonzero(stated > here if sign < 0 else stated < here)
        if len(better):
            here[better] = stated[better]
            lemmas.append(
                {
                    "group": number,
                    "of": "w",
                    "side": side,
                    "forms": better.tolist(),
                    "bounds": packed(stated[better]),
                    "judge": "definite",
                    "ellipsoid": packed(np.abs(bounds[better])),
                }
            )
    return lemmas


def _arguments_by_curvatures(
    enclosures: Enclosures, number: int, group: Group, coordinates: ProgramCoordinates, shape: EllipsoidShape
) -> list[Lemma]:
    """Return the lemmas for arguments of neurons: value, slope and curvature are bounded together."""
    found, lemmas = argument_ends(enclosures.expansion, group, coordinates, shape), list[Lemma]()
    if found is None or group.remainder is None or group.tail[:, : group.places.start].any():
        return []
    for side, ends, made, sign in zip(("low", "high"), enclosures.arguments, found, (1.0, -1.0), strict=True):
        here = ends[group.forms]
        better = np.flatnonzero(made.bounds > here if sign > 0 else made.bounds < here)
        if len(better):
            here[better] = made.bounds[better]
            definition = np.zeros((len(better), group.remainder[0] + len(group)))
            definition[np.arange(len(better)), group.remainder[0] + better] = sign
            # The definition takes w off; a form that is definite needs a little of every variable.
            low, high = (part[: group.end] for part in enclosures.variables)
            little = np.where(high > low, 2.0**-34 / np.maximum(high - low, 1e-150) ** 2, 0.0)
            sizes = np.abs(made.bounds[better])
            lemmas.append(
                {
                    "group": number,
                    "of": "t",
                    "side": side,
                    "forms": better.tolist(),
                    "bounds": packed(made.bounds[better]),
                    "judge": "definite",
                    "ellipsoid": packed(made.multipliers[better]),
                    "definition": packed(definition),
                    "range": packed(sizes[:, None] * little),
                }
            )
    return lemmas
