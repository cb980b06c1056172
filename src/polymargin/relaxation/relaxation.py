"""The program of a functional on a region: the best lower bound γ that multipliers of constraints prove.

    maximise γ   such that   functional − γ − Σ multiplier · constraint   is positive semidefinite as a form in ξ.

Constraints bring their unknowns; here they become one `SemidefiniteProgram`, a first strictly feasible point, and the leaf of a
certificate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.relaxation.constraints.constraint import Constraint, Entry, Unknowns
from polymargin.relaxation.constraints.definition import products
from polymargin.relaxation.constraints.encoding import joined
from polymargin.relaxation.constraints.minorant import Minorant
from polymargin.relaxation.expansion import Combination
from polymargin.relaxation.program import SemidefiniteProgram
from polymargin.relaxation.space import Space

Array = NDArray[np.float64]
Leaf: TypeAlias = dict[str, Entry]


@dataclass(frozen=True, eq=False)
class Relaxation:
    """A functional (one row and products) with constraints in a space.

    offset   what is taken off the functional: the lead asked for, or the end of a range that is to be proved
    """

    space: Space
    functional: Combination
    constraints: Sequence[Constraint]
    offset: float = 0.0
    _unknowns: list[Unknowns] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_unknowns", [constraint.unknowns() for constraint in self.constraints])

    # -- the program ---------------------------------------------------------------------------

    @cached_property
    def base(self) -> Array:
        """Return the functional as a form (size, size)."""
        made, space = self.functional, self.space
        row = space.row(made.constant - self.offset, made.slopes, made.tail)[0]
        base = np.zeros((space.size, space.size))
        for part in products(space, made.products):
            weights = part.weights[0]
            used = np.flatnonzero(weights)
            base += part.rows[used].T @ (weights[used, None] * part.rows[used])
        base[0] += row / 2
        base[:, 0] += row / 2
        for constraint in self.constraints:
            if isinstance(constraint, Minorant):
                base += constraint.base()
        return base

    @property
    def value(self) -> float:
        """Return the functional at the point."""
        return float(self.functional.constant[0]) - self.offset

    @cached_property
    def places(self) -> list[slice]:
        """Return the places of the unknowns of each constraint; γ comes first."""
        ends = np.cumsum([1, *(unknowns.count for unknowns in self._unknowns)]).tolist()
        return [slice(a, b) for a, b in pairwise(ends)]

    @property
    def count(self) -> int:
        """Return the number of unknowns."""
        return self.places[-1].stop if self.places else 1

    @cached_property
    def program(self) -> SemidefiniteProgram:
        """Return the semidefinite program."""
        size, count = self.space.size, self.count
        forms, starts, height = list[Array](), dict[tuple[str, int], int](), 0
        for unknowns in self._unknowns:
            for part in unknowns.squares:
                if part.key not in starts:
                    starts[part.key] = height
                    forms.append(part.rows)
                    height += len(part.rows)
        squares = np.zeros((count, height))
        linear, diagonal = np.zeros((count, size)), np.zeros((count, size))
        linear[0, 0] = -1.0
        dense, free = [], [0]
        for unknowns, place in zip(self._unknowns, self.places, strict=True):
            for part in unknowns.squares:
                start = starts[part.key]
                if part.weights.ndim == 1:
                    columns = start + np.arange(len(part.weights))
                    squares[np.arange(place.start, place.stop), columns] += part.weights
                else:
                    squares[place, start : start + part.weights.shape[1]] += part.weights
            if unknowns.linear is not None:
                linear[place] += unknowns.linear
            if unknowns.places is not None:
                diagonal[np.arange(place.start, place.stop), unknowns.places] += 1.0
            if unknowns.diagonal is not None:
                diagonal[place] += unknowns.diagonal
            if unknowns.corner is not None:
                diagonal[place, 0] += unknowns.corner
            if unknowns.dense is not None:
                dense.append((place.start, unknowns.dense))
            if unknowns.free:
                free += range(place.start, place.stop)
        signed = np.setdiff1d(np.arange(count), free)
        rows = np.concatenate(forms) if forms else np.zeros((0, size))
        return SemidefiniteProgram.build(self.base, rows, squares, linear, diagonal, signed, tuple(dense))

    @cached_property
    def parts(self) -> dict[str, slice]:
        """Return the places of the unknowns of each constraint by its name."""
        return {constraint.name: place for constraint, place in zip(self.constraints, self.places, strict=True)}

    @cached_property
    def remainder_places(self) -> NDArray[np.int64]:
        """Return the places of the w in ξ."""
        space = self.space
        groups = [group.places for group in space.groups if group.remainder is not None]
        return space.first + np.concatenate([np.arange(place.start, place.stop) for place in groups])

    @cached_property
    def convexifying(self) -> NDArray[np.int64]:
        """Return unknowns that make the form more convex in δ, one for all or one for each coordinate, and in each variable."""
        inner = [name for name in ("box", "ball", "ellipsoid") if name in self.parts]
        count = 1 if self.space.coordinates.is_diagonal else 2
        names = [*inner[:count], *(name for name in self.parts if name == "range")]
        return np.concatenate([np.arange(self.parts[name].start, self.parts[name].stop) for name in names])

    def rows_of(self, own: slice) -> tuple[Array, Array, Array]:
        """Return the rows whose squares some unknowns add, the weights (n, rows) and the linear rows (n, size)."""
        (unknowns,) = [u for u, place in zip(self._unknowns, self.places, strict=True) if place == own]
        rows = (
            np.concatenate([part.rows for part in unknowns.squares])
            if unknowns.squares
            else np.zeros((0, self.space.size))
        )
        weights = [np.diag(p.weights) if p.weights.ndim == 1 else p.weights for p in unknowns.squares]
        linear = np.zeros((unknowns.count, self.space.size)) if unknowns.linear is None else unknowns.linear
        return rows, np.hstack(weights) if weights else np.zeros((unknowns.count, 0)), linear

    def first(self) -> Array:
        """Return first multipliers, by what the constraints suggest."""
        y = np.zeros(self.count)
        for unknowns, place in zip(self._unknowns, self.places, strict=True):
            y[place] = unknowns.start
        return y

    # -- proofs --------------------------------------------------------------------------------

    def with_room(self, y: Array) -> Array:
        """Return multipliers whose form, with y_0 = 0, is definite with room: half of y_0 makes every direction more convex."""
        result, raised = y.copy(), self.convexifying
        result[0] = 0.0
        result[raised] += y[0] / (2 * len(raised))
        return result

    def is_definite(self, y: Array) -> bool:
        """Return whether Cholesky's method runs through for the form with these multipliers."""
        matrix = np.asarray(self.program.matrix(y))
        for constraint, place in zip(self.constraints, self.places, strict=True):
            if isinstance(constraint, Minorant):
                matrix[np.diag_indices(len(matrix))] -= constraint.shares(y[place])
        return bool(linalg.lapack.dpotrf(matrix, lower=1)[1] == 0)

    def leaf(self, y: Array) -> Leaf:
        """Return the multipliers y as a leaf of a certificate; y_0 is not part of it."""
        result: Leaf = {"judge": "definite"}
        for constraint, place in zip(self.constraints, self.places, strict=True):
            entry = constraint.entry(y[place])
            if constraint.name == "line":  # lines are minorants with equality
                entry = joined(result.pop("minorant", None), entry)
            if entry is not None:
                result["minorant" if constraint.name == "line" else constraint.name] = entry
        return result
