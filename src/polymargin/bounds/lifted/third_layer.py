"""How much the rests of the third layer can curve on a ball of radius r.

The rests of the second layer are quadratic forms, so with x_j = c₂ W³_ij

    w_i = δᵀM_iδ + Σ_j x_j (2 (a_j·δ) w_j + w_j²),      M_i = a²ᵀ diag(x) a² + a¹ᵀ diag(d_i) a¹,  d_i = c₁ (W³_i ∘ σ'(p²)) W².

The cubic terms are at most r b‖δ‖² + (r/b) δᵀR_iδ for any b > 0 (`cubic.py`), and w_j² ≤ r² δᵀQ_j²δ by Cauchy and Schwarz:

    w_i ≤ δᵀ(M_i + (r/b) R_i + r² Σ_j max(x_j, 0) Q_j²)δ + r b‖δ‖²,

and so is −w_i with −M_i and −x. The best b is close to the root of the largest eigenvalue of R_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.lifted.cubic import cubic_parts
from polymargin.bounds.lifted.curvatures import SquaredCurvatures
from polymargin.bounds.lifted.curved import Curved, factors_below
from polymargin.bounds.lifted.eigenvalues import LANCZOS, OUTWARD, SMALL, largest_eigenvalues
from polymargin.bounds.lifted.expansion import LiftedExpansion
from polymargin.bounds.lifted.local import weighted_squares
from polymargin.deadlines import Deadline
from polymargin.relaxation.algebra import NUMPY, Algebra, Matrix, algebra_for
from polymargin.relaxation.lanczos import extremes

Array = NDArray[np.float64]

# Neurons that a GPU has at a time.
BLOCK = 128
# Ladder of radii for which a GPU finds eigenvalues anew: those of a larger radius hold for a smaller one.
RUNG = 1.005


class Ingredients:
    """What the forms of the third layer are made of, whatever the weights: sums of squares, once for an expansion."""

    def __init__(self, expansion: LiftedExpansion, algebra: Algebra) -> None:
        self._sums = [weighted_squares(algebra, layer.squares) for layer in expansion.layers[:2]]
        self._squares, self._cubic = SquaredCurvatures(expansion, algebra), cubic_parts(expansion)

    def parts(self, first: Array, own: Array) -> Parts:
        """From d (B, h₁) and x (B, h₂)."""
        return Parts(
            even=self._sums[0](first) + self._sums[1](own),
            cubic=self._cubic(own),
            above=self._squares(np.maximum(own, 0.0)),
            below=self._squares(np.maximum(-own, 0.0)),
        )


@dataclass(frozen=True, eq=False)
class Parts:
    """M, R and the sums of Q_j² of the two signs, (B, m, m) each."""

    even: Matrix
    cubic: Matrix
    above: Matrix
    below: Matrix


@dataclass(frozen=True, eq=False)
class LargestOfParts:
    """Upper bounds of the largest eigenvalues of M, −M, R and the two sums, (B,) each."""

    up: Array
    down: Array
    cubic: Array
    above: Array
    below: Array

    @classmethod
    def of(cls, algebra: Algebra, parts: Parts) -> LargestOfParts:
        matrices = parts.even, -parts.even, parts.cubic, parts.above, parts.below
        return cls(*(largest_eigenvalues(algebra, matrix) for matrix in matrices))

    def curved(self, radius: float, last: bool) -> Curved:
        balances = np.sqrt(self.cubic)
        cubic, r2 = 2 * radius * balances, radius**2
        limits = np.stack([-(self.down + cubic + r2 * self.below), self.up + cubic + r2 * self.above], axis=-1)
        return Curved(limits, None if last else cubic + r2 * (self.above + self.below), balances)


class WholeForms:
    """The eigenvalues of whole forms, found for every radius."""

    def __init__(self, algebra: Algebra, parts: Parts) -> None:
        self._algebra, self._parts = algebra, parts
        count, side = parts.cubic.shape[:2]
        found = extremes(algebra, lambda v: (parts.cubic @ v[:, :, None])[:, :, 0], count, side, LANCZOS)
        self._balances = np.sqrt(np.maximum(found.largest, 0.0)) + 1e-100

    def curved(self, radius: float, last: bool) -> Curved:
        parts, algebra, r2 = self._parts, self._algebra, radius**2
        cubic = algebra.put(radius / self._balances)[:, None, None] * parts.cubic
        more = (1 + OUTWARD) * radius * self._balances
        up = largest_eigenvalues(algebra, cubic + r2 * parts.above + parts.even) + more
        down = largest_eigenvalues(algebra, cubic + r2 * parts.below - parts.even) + more
        errors = None
        if not last:
            errors = largest_eigenvalues(algebra, cubic + r2 * (parts.above + parts.below)) + more
        return Curved(np.stack([-down, up], axis=-1), errors, self._balances)


class ThirdLayer:
    """Neurons of the third layer with these weights, around a point.

    For few inputs, and on a GPU, the eigenvalues of a whole form are found for every radius; a CPU adds up those of its parts,
    which are as much as a quarter more.
    """

    def __init__(self, expansion: LiftedExpansion, weights: Array, deadline: Deadline) -> None:
        algebra = algebra_for(expansion.dimension)
        self._last, self._on_ladder = len(expansion.layers) == 3, algebra is not NUMPY
        first, own = factors_below(expansion, 3, weights)
        if Ingredients not in expansion.known:
            expansion.known[Ingredients] = Ingredients(expansion, algebra)
        whole = self._on_ladder or expansion.dimension <= SMALL
        self._found: dict[float, Curved] = {}
        self._blocks: list[WholeForms | LargestOfParts] = []
        size = BLOCK if self._on_ladder else 1
        for start in range(0, len(own), size):
            deadline.check()
            rows = slice(start, start + size)
            parts = expansion.known[Ingredients].parts(first[rows], own[rows])
            self._blocks.append(WholeForms(algebra, parts) if whole else LargestOfParts.of(algebra, parts))

    def on(self, radius: float, deadline: Deadline) -> Curved:
        """On the ball of this radius."""
        if self._on_ladder:
            radius = RUNG ** float(np.ceil(np.log(radius) / np.log(RUNG)))
        if radius not in self._found:
            blocks = []
            for block in self._blocks:
                deadline.check()
                blocks.append(block.curved(radius, self._last))
            self._found = {radius: Curved.stacked(blocks)}
        return self._found[radius]
