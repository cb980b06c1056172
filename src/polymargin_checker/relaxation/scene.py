"""The view of constraints: rows over ξ in the coordinates of a proof, up to a group or all, with their intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from polymargin_checker.arrays import small_integers
from polymargin_checker.document import fields
from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import Arithmetic, EnclosedMatrix, Floats, down, rational, up
from polymargin_checker.relaxation.enclosures import Enclosures, Ends
from polymargin_checker.relaxation.expansion import Expansion, Group, Neurons
from polymargin_checker.relaxation.region import Region


@dataclass(eq=False)
class Coordinates:
    """δ itself, or η with δ = J η + what no row sees, J = diag(ω)⁻² Aᵀ for the rows A of the first stage.

    That other part of δ is orthogonal to J η in the norm, so it only makes the norm larger. Inputs `own` are coordinates of their
    own behind η, and columns of A are zero there; the first stage alone sees the others.
    """

    expansion: Expansion
    directions: EnclosedMatrix | None = None
    own: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def of(cls, expansion: Expansion, entry: Any) -> Coordinates:
        """Return the coordinates that a proof names, or refuse."""
        if entry == "inputs":
            return cls(expansion, None)
        region, network = expansion.region, expansion.network
        later = [part for stage in network.stages[1:] for part in stage.forms] + [network.readout]
        own = np.zeros(0, dtype=np.int64)
        if entry != "forms":
            fields(entry, "coordinates", ("own",))
            mask = small_integers(entry["own"], "coordinates, own", region.dimension)
            if region.moving is None or not np.isin(mask, (0, 1)).all():
                raise Refused("coordinates, own: expected zeros and ones, and inputs without a frame")
            own = np.flatnonzero(mask)
        seen = [block.columns for part in later for source, block in part.blocks if source == 0]
        allowed = own if region.moving is None else region.moving[own]
        if not region.has_ball or not network.stages or not all(np.isin(columns, allowed).all() for columns in seen):
            raise Refused(
                "coordinates of forms are for balls and networks of which only the first stage sees the inputs"
            )
        found = cls(expansion, None, own)
        inverse = [1 / rational(weight) ** 2 for weight in region.weights.tolist()]
        along = expansion.arithmetic.column(inverse) * found._first.T
        unit = np.zeros((region.dimension, len(own)))
        unit[own, np.arange(len(own))] = 1.0
        found.directions = along.beside([along, expansion.arithmetic.exact(unit)]) if len(own) else along
        return found

    @cached_property
    def _first(self) -> EnclosedMatrix:
        """Rows of the first stage, without the inputs of their own."""
        rows = [group.slopes for group in self.expansion.groups if group.stage == 1]
        others = np.ones((1, self.expansion.region.dimension))
        others[0, self.own] = 0.0
        whole = rows[0].stacked(rows)
        return whole * self.expansion.arithmetic.exact(others) if len(self.own) else whole

    @cached_property
    def gram(self) -> EnclosedMatrix:
        """Return A J = Jᵀ diag(ω²) J: the square of the norm of J η."""
        assert self.directions is not None
        return self._first @ self.directions[:, : self.first_own]

    @property
    def first_own(self) -> int:
        """How many coordinates come before the inputs of their own."""
        return self.dimension - len(self.own)

    @property
    def dimension(self) -> int:
        return self.expansion.region.dimension if self.directions is None else self.directions.shape[1]

    def seen(self, slopes: EnclosedMatrix) -> EnclosedMatrix:
        """Return rows over δ as rows over the coordinates."""
        return slopes if self.directions is None else slopes @ self.directions


@dataclass(eq=False)
class Ellipsoid:
    """Σ D_i² δ_i² ≤ 1 on the region, with D_i² = share · ω_i² + e_i.

    share    λ/r², with a number for r² that is not too small
    squares  (d,) at most D²
    """

    share: fmpq
    box: Floats
    squares: Floats

    @classmethod
    def of(cls, region: Region, norm: fmpq, box: Floats) -> Ellipsoid:
        """Return the ellipsoid of λ and e, or refuse if it is not shown to contain the region."""
        if norm < 0 or not (box >= 0).all() or (norm > 0 and not region.has_ball):
            raise Refused("ellipsoid: a negative number, or a part of the norm's where the norm has no ball")
        reaches = np.maximum(np.abs(region.low), np.abs(region.high)).tolist()
        parts = list(map(rational, box.tolist()))
        used = [e * rational(reach) ** 2 for e, reach in zip(parts, reaches, strict=True) if e != 0]
        if sum(used, norm) > 1:
            raise Refused("ellipsoid: it is not shown to contain the region")
        share = norm / rational(region.square)
        weights = map(rational, region.squared_weights.tolist())
        squares = [down(share * weight + e) for weight, e in zip(weights, parts, strict=True)]
        return cls(share, box, np.array(squares))

    def inverse(self) -> Floats:
        """Return numbers (d,) that are at least 1/D²."""
        if not (self.squares > 0).all():
            raise Refused("ellipsoid: a coordinate without bound")
        return np.array([up(1 / rational(value)) for value in self.squares.tolist()])


@dataclass(eq=False)
class Scene:
    """An expansion in coordinates with intervals; of a lemma, what comes before and with the group `until`.

    rows   of t of groups, by number; kept for all scenes in the same coordinates
    """

    enclosures: Enclosures
    coordinates: Coordinates
    ellipsoid: Ellipsoid | None
    rows: dict[int, EnclosedMatrix]
    until: int | None = None

    @property
    def expansion(self) -> Expansion:
        return self.enclosures.expansion

    @property
    def arithmetic(self) -> Arithmetic:
        return self.expansion.arithmetic

    @property
    def region(self) -> Region:
        return self.enclosures.region

    @property
    def groups(self) -> list[Group]:
        groups = self.expansion.groups
        return groups if self.until is None else groups[: self.until + 1]

    @property
    def neurons(self) -> list[Neurons]:
        """Return what has y among the variables."""
        known = self.expansion.neurons
        return known if self.until is None else [n for n in known if n.start[1] < self.variables]

    @property
    def variables(self) -> int:
        """Number of variables after δ."""
        return self.expansion.variables if self.until is None else self.groups[-1].end

    @property
    def remainders(self) -> int:
        return sum(len(group) for group in self.groups if group.remainder is not None)

    @property
    def forms(self) -> int:
        return sum(map(len, self.groups))

    @property
    def first(self) -> int:
        """Place of the first variable after δ in ξ."""
        return 1 + self.coordinates.dimension

    @property
    def size(self) -> int:
        return self.first + self.variables

    def row(
        self, slopes: EnclosedMatrix, tail: EnclosedMatrix, constant: EnclosedMatrix | None = None
    ) -> EnclosedMatrix:
        """Return rows over ξ; without a constant it is zero."""
        corner = self.arithmetic.zeros(slopes.shape[0], 1) if constant is None else constant
        return corner.beside([corner, self.coordinates.seen(slopes), tail])

    def arguments(self, number: int) -> EnclosedMatrix:
        """Return the rows t of a group."""
        if number not in self.rows:
            group = self.expansion.groups[number]
            self.rows[number] = self.row(group.slopes, group.tail)
        return self.rows[number]

    def inputs(self, neurons: Neurons) -> EnclosedMatrix:
        """Return the rows that the functions of neurons are written in: t, or z = p + t for piecewise ones."""
        rows = self.arguments(neurons.group)
        if neurons.powers is not None:
            return rows
        value = self.expansion.groups[neurons.group].value
        return rows.beside([value, rows[:, 1:]])[neurons.forms]

    def factors(self, source: int) -> tuple[EnclosedMatrix, EnclosedMatrix]:
        """Return the rows t and t' of a stage with products; the same object twice for squares."""
        first, second = self.expansion.values[source].factors
        rows = self.arguments(first)
        if first == second:
            return rows, rows
        others = self.arguments(second)
        return self.arithmetic.padded(rows, others.shape[1]), others

    def least(self, row: EnclosedMatrix) -> Floats:
        """Return lower bounds (count,) of rows over (1, δ, variables) on the region."""
        d = self.region.dimension
        place = slice(0, row.shape[1] - 1 - d)
        ends: Ends = self.enclosures.variables[0][place], self.enclosures.variables[1][place]
        parts = [self.region.support(row[:, 1 : 1 + d]), self.enclosures.image(row[:, 1 + d :], ends)]
        constant = row[:, :1].lower()[:, 0]
        return self.enclosures.added([*parts, (constant, constant)])[0]
