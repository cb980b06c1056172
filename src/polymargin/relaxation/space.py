"""The variables ξ = (1, δ, w, y) of a program, each scaled to about [−1, 1], and rows over them.

With s the scaled variables, v = middle + half·s for every w and y. For δ there are two kinds of coordinates:

    inputs   δ = middle + half·s, coordinate by coordinate
    forms    δ = r ω⁻¹ Qᵀ s + what no row sees, Q an orthonormal basis of the rows a ω⁻¹ of the first stage

The second kind serves balls of L2 that no box cuts, if only the first stage sees the inputs and has fewer forms than there are
inputs. Inputs whose box is narrow may be coordinates of their own behind these, which later stages may see. Multipliers do not
depend on coordinates; the checker chooses its own of the same kind.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polymargin.regions.norms import Norm
from polymargin.regions.perturbations import Perturbations
from polymargin.relaxation.enclosures import Enclosures
from polymargin.relaxation.expansion import Expansion, Group, Neurons

Array = NDArray[np.float64]

THIN = 1e-9
"""Half of the interval of a piecewise neuron's value at least, relative to its argument."""
THINNEST = 1e-12
"""Half of an interval at least, relative to the size of its ends: a variable that is constant keeps a direction of its own."""
SMALLEST = 1e-40
"""The size of ends that are zero; multipliers are divided by squares of halves, which must not vanish."""


@dataclass(frozen=True, eq=False)
class ProgramCoordinates:
    """δ = middle + spread @ s, for all that rows see; spread (d,) is a diagonal, or (d, m).

    own   with forms, the inputs that are coordinates of their own, behind the others
    """

    name: str
    middle: Array
    spread: Array
    own: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def of(
        cls, expansion: Expansion, region: Perturbations, *, is_cut: bool, mixed: bool = False
    ) -> ProgramCoordinates:
        """Return the coordinates of a region; `is_cut` says whether its box cuts the ball, `mixed` allows inputs of their own."""
        if mixed and is_cut and region.norm is Norm.L2 and region.narrow.any():
            found = cls._with_own(expansion, region)
            if found is not None:
                return found
        if region.norm is Norm.L2 and not is_cut and _is_seen_by_first_stage(expansion):
            rows = np.concatenate([group.slopes for group in expansion.groups if group.stage == 1])
            if len(rows) < region.dimension:
                basis = np.linalg.qr((rows * region.inverse_weights).T)[0]
                spread = region.radius * region.inverse_weights[:, None] * basis
                return cls("forms", np.zeros(region.dimension), spread)
        middle, half = (region.low + region.high) / 2, (region.high - region.low) / 2
        return cls("inputs", middle, np.maximum(half, THINNEST * np.maximum(np.abs(region.low), np.abs(region.high))))

    @classmethod
    def _with_own(cls, expansion: Expansion, region: Perturbations) -> ProgramCoordinates | None:
        """Return forms with the narrow inputs behind them; None if the box cuts others, or later stages see them."""
        narrow, reach = region.narrow, region.radius * region.inverse_weights
        cut = (region.low > -reach * (1 - 1e-12)) | (region.high < reach * (1 - 1e-12))
        rows = [group.slopes for group in expansion.groups if group.stage == 1]
        wide, own = np.flatnonzero(~narrow), np.flatnonzero(narrow)
        network, moving = expansion.network, region.moving
        later = [*(forms for stage in network.stages[1:] for forms in stage.forms), network.readout]
        if (
            cut[wide].any()
            or moving is None
            or not rows
            or any(forms.block(0)[:, moving[wide]].any() for forms in later)
        ):
            return None
        seen = np.concatenate(rows)[:, wide] * region.inverse_weights[wide]
        if len(seen) >= len(wide):
            return None
        spread = np.zeros((region.dimension, len(seen) + len(own)))
        spread[wide, : len(seen)] = reach[wide, None] * np.linalg.qr(seen.T)[0]
        middle, half = np.zeros(region.dimension), (region.high - region.low)[own] / 2
        spread[own, len(seen) + np.arange(len(own))] = half
        middle[own] = region.low[own] + half
        return cls("forms", middle, spread, own)

    @property
    def entry(self) -> str | dict[str, str]:
        """Return the coordinates as certificates name them."""
        if not len(self.own):
            return self.name
        mask = np.zeros(len(self.middle), dtype=np.int8)
        mask[self.own] = 1
        return {"own": base64.b64encode(mask.tobytes()).decode("ascii")}

    @property
    def boxed(self) -> tuple[int, int]:
        """Return the first coordinate that is an input, and how many there are."""
        count = self.dimension if self.is_diagonal else len(self.own)
        return self.dimension - count, count

    @property
    def dimension(self) -> int:
        return int(self.spread.shape[-1])

    @property
    def is_diagonal(self) -> bool:
        return self.spread.ndim == 1

    def seen(self, slopes: Array) -> tuple[Array, Array]:
        """Return rows over δ as constants (h,) and rows over s (h, m)."""
        return slopes @ self.middle, slopes * self.spread if self.is_diagonal else slopes @ self.spread

    def steps(self, scaled: Array) -> Array:
        """Return δ (…, d) of scaled coordinates (…, m)."""
        return np.asarray(self.middle + (scaled * self.spread if self.is_diagonal else scaled @ self.spread.T))

    def places(self, steps: Array) -> Array:
        """Return scaled coordinates (…, m) of what rows see of δ (…, d)."""
        if self.is_diagonal:
            return np.asarray((steps - self.middle) / self.spread)
        return np.asarray(
            np.linalg.lstsq(self.spread, np.atleast_2d(steps - self.middle).T)[0].T.reshape(*steps.shape[:-1], -1)
        )


def _is_seen_by_first_stage(expansion: Expansion) -> bool:
    network = expansion.network
    later = [*(forms for stage in network.stages[1:] for forms in stage.forms), network.readout]
    return bool(network.stages) and not any(source == 0 for forms in later for source, _ in forms.blocks)


@dataclass(eq=False)
class Space:
    """An expansion with intervals in coordinates; for a lemma up to a group of forms (`until`, its number)."""

    enclosures: Enclosures
    coordinates: ProgramCoordinates
    until: int | None = None
    _rows: dict[tuple[str, int], Array] = field(default_factory=dict, repr=False)

    @property
    def expansion(self) -> Expansion:
        return self.enclosures.expansion

    @property
    def region(self) -> Perturbations:
        return self.enclosures.region

    @property
    def groups(self) -> list[Group]:
        groups = self.expansion.groups
        return groups if self.until is None else groups[: self.until + 1]

    @property
    def neurons(self) -> list[Neurons]:
        return [neurons for neurons in self.expansion.neurons if neurons.place < self.variables]

    @property
    def variables(self) -> int:
        """Number of variables after δ."""
        return self.expansion.variables if self.until is None else self.groups[-1].end

    @property
    def first(self) -> int:
        """Place of the first variable after δ in ξ."""
        return 1 + self.coordinates.dimension

    @property
    def size(self) -> int:
        return self.first + self.variables

    @cached_property
    def middle(self) -> Array:
        """Return middles (variables,) of the intervals of w and y."""
        low, high = (ends[: self.variables] for ends in self.enclosures.variables)
        return (low + high) / 2

    @cached_property
    def half(self) -> Array:
        """Halves of the intervals; none is so thin that a checker's interval is much wider."""
        low, high = (ends[: self.variables] for ends in self.enclosures.variables)
        half = np.maximum((high - low) / 2, THINNEST * np.maximum(SMALLEST, np.maximum(np.abs(low), np.abs(high))))
        for neurons in self.neurons:
            if neurons.powers is None:
                ends = self.enclosures.inputs_of(neurons)
                size = THIN * np.maximum(np.abs(ends[0]), np.abs(ends[1]))
                half[neurons.places] = np.maximum(half[neurons.places], size)
        return half

    def row(self, constant: Array | float, slopes: Array, tail: Array) -> Array:
        """Return constant + slopes · δ + tail · (w, y) as rows (h, size) over (1, s)."""
        known = tail.shape[1]
        about, along = self.coordinates.seen(slopes)
        result = np.zeros((len(slopes), self.size))
        result[:, 0] = constant + about + tail @ self.middle[:known]
        result[:, 1 : self.first] = along
        result[:, self.first : self.first + known] = tail * self.half[:known]
        return result

    def of_variables(self, tail: Array) -> Array:
        """Return tail · (w, y) as rows over (1, s)."""
        return self.row(0.0, np.zeros((len(tail), self.region.dimension)), tail)

    def arguments(self, number: int) -> Array:
        """Return the rows t of a group."""
        key = ("t", number)
        if key not in self._rows:
            group = self.expansion.groups[number]
            self._rows[key] = self.row(0.0, group.slopes, group.tail)
        return self._rows[key]

    def inputs(self, neurons: Neurons) -> Array:
        """Return the rows that the functions of neurons are written in: t, or z = p + t for piecewise ones."""
        rows = self.arguments(neurons.group)[neurons.forms]
        if neurons.powers is None:
            rows = rows.copy()
            rows[:, 0] += self.expansion.groups[neurons.group].value[neurons.forms]
        return rows

    def place(self, step: Array) -> Array:
        """Return ξ in scaled variables (size,) at one δ."""
        variables = self.expansion.state(step)[0][: self.variables]
        return np.concatenate([[1.0], self.coordinates.places(step), (variables - self.middle) / self.half])

    def factors(self, source: int) -> tuple[Array, Array]:
        """Return the rows t and t' of a stage with products; the same array twice for squares."""
        first, second = self.expansion.values[source].factors
        return self.arguments(first), self.arguments(second)
