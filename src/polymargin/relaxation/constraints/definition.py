"""definition:  w_i = linear_i · (earlier w) + Σ products · t t', what the forms of earlier stages make of a remainder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polymargin.relaxation.constraints.constraint import Array, Squares, Unknowns
from polymargin.relaxation.constraints.encoding import packed
from polymargin.relaxation.space import Space


@dataclass(frozen=True, eq=False)
class Definition:
    """The constraint for all remainders of a space."""

    space: Space
    name = "definition"

    def unknowns(self) -> Unknowns:
        """Return the multipliers of the constraint as unknowns of a program."""
        space = self.space
        groups = [group for group in space.groups if group.remainder is not None]
        count = sum(map(len, groups))
        tail, squares, start = np.zeros((count, space.variables)), dict[tuple[str, int], Squares](), 0
        for group in groups:
            own = slice(start, start + len(group))
            start = own.stop
            tail[own, : group.linear.shape[1]] = -group.linear
            tail[np.arange(own.start, own.stop), np.arange(group.places.start, group.places.stop)] = 1.0
            for part in products(space, group.products):
                if part.key not in squares:
                    squares[part.key] = Squares(part.key, part.rows, np.zeros((count, len(part.rows))))
                squares[part.key].weights[own] -= part.weights / self._halves[own, None]
        linear = space.of_variables(tail) / self._halves[:, None]
        return Unknowns(count, free=True, squares=list(squares.values()), linear=linear, start=0.0)

    def entry(self, y: Array) -> str:
        """Return the multipliers as certificates have them."""
        return packed(-y / self._halves)

    @cached_property
    def _halves(self) -> Array:
        space = self.space
        return np.concatenate([space.half[group.places] for group in space.groups if group.remainder is not None])


def products(space: Space, weights: dict[int, Array]) -> list[Squares]:
    """Return Σ weights[stage] · t t' as squares: t t' is t² where both are the same, else ((t + t')² − (t − t')²) / 4."""
    found = []
    for source, matrix in weights.items():
        left, right = space.factors(source)
        if left is right:
            found.append(Squares(("square", source), left, matrix))
        else:
            found.append(Squares(("sum", source), (left + right) / 2, matrix))
            found.append(Squares(("difference", source), (left - right) / 2, -matrix))
    return found
