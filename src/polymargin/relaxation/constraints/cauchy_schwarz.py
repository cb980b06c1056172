"""cauchy_schwarz:  Σ α_i (‖D⁻¹Q_iδ‖² − w_i²) ≥ 0 for w_i = δᵀQ_iδ and an ellipsoid Σ D²δ² ≤ 1, with chosen α ≥ 0.

For (δᵀQδ)² ≤ ‖Dδ‖² ‖D⁻¹Qδ‖². With Q_i = ½ Σ_j m_ij (a_j a'_jᵀ + a'_j a_jᵀ) the sum over i is

    Σ α_i Q_i D⁻² Q_i = ¼ Sᵀ (S'D⁻²S'ᵀ ∘ K) S,    S = [a; a'],  S' = [a'; a],  K = Σ α_i [m_i; m_i][m_i; m_i]ᵀ,

and aᵀ (a D⁻² aᵀ ∘ Σ α_i m_i m_iᵀ) a for squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polymargin.relaxation.constraints.constraint import Array, Unknowns
from polymargin.relaxation.constraints.ellipsoid import EllipsoidShape
from polymargin.relaxation.constraints.encoding import packed
from polymargin.relaxation.expansion import Expansion, Group
from polymargin.relaxation.space import Space


def is_quadratic(expansion: Expansion, group: Group) -> bool:
    """Return whether the remainders of a group are quadratic forms of δ alone."""
    if group.remainder is None or group.linear.any() or not group.products:
        return False
    factors = [expansion.groups[k] for source in group.products for k in expansion.values[source].factors]
    return not any(factor.tail.any() for factor in factors)


@dataclass(frozen=True, eq=False)
class CauchySchwarz:
    """One unknown for the remainders of some groups, with weights alpha (h,) of those of each group, by its number."""

    space: Space
    shape: EllipsoidShape
    alpha: dict[int, Array]
    name = "cauchy_schwarz"

    def unknowns(self) -> Unknowns:
        """Return the multipliers of the constraint as unknowns of a program."""
        space = self.space
        matrix = np.zeros((space.size, space.size))
        for number, alpha in self.alpha.items():
            self._add(matrix, space.groups[number], alpha)
        return Unknowns(1, dense=matrix * self._scale)

    def _add(self, matrix: Array, group: Group, alpha: Array) -> None:
        space = self.space
        values, groups = space.expansion.values, space.expansion.groups
        m = np.hstack(list(group.products.values()))
        sides = [[values[source].factors[side] for source in group.products] for side in (0, 1)]
        slopes = [np.concatenate([groups[k].slopes for k in side]) for side in sides]
        rows = [np.concatenate([space.arguments(k) for k in side]) for side in sides]
        among = m.T @ (alpha[:, None] * m)
        if sides[0] == sides[1]:
            seen, twisted = rows[0], slopes[0]
        else:
            seen, twisted = np.concatenate(rows), np.concatenate(slopes[::-1])
            among = np.tile(among, (2, 2)) / 4
        gram = (twisted / self.shape.squares) @ twisted.T
        matrix -= seen.T @ ((gram * among) @ seen)
        w = space.of_variables(np.eye(space.variables)[group.places])
        matrix += w.T @ (alpha[:, None] * w)

    def entry(self, y: Array) -> str:
        """Return the multipliers as certificates have them."""
        parts = [
            self._scale * y[0] * self.alpha.get(number, np.zeros(len(group)))
            for number, group in enumerate(self.space.groups)
            if group.remainder is not None
        ]
        return packed(np.concatenate(parts))

    @cached_property
    def _scale(self) -> float:
        halves = ((alpha, self.space.half[self.space.groups[k].places]) for k, alpha in self.alpha.items())
        return 1 / max(sum(float(alpha @ half**2) for alpha, half in halves), 1e-300)
