"""The quadric of a class pair, and the polynomials in the weights at which its ED degree drops; all differentiable.

    f_label − f_rival = xᵀA x + bᵀx + c,     A = W₁ᵀ diag(α) W₁,   b = 2 W₁ᵀ(α∘b₁),   c = α·b₁² + β,

with α and β the differences of the two rows of W₂ and entries of b₂. With M = [[A, b/2], [bᵀ/2, c]] the ED degree is
that of a general quadric unless one of three factors of the parameter discriminant vanishes:

    RANK      det A            a direction in which the boundary is not curved: paraboloids and cylinders
    SINGULAR  det M            a singular point: cones, pairs of lines
    REPEATED  Disc(charpoly A) equal eigenvalues: circles, spheres, surfaces of revolution

Disc = ∏_{i<j} (λᵢ − λⱼ)² from the eigenvalues of A. Its gradient is right at repeated eigenvalues too (it is zero
there, as that of a square has to be): torch differentiates eigenvalues by vᵢᵀ dA vᵢ, without dividing by their gaps.

`scaled` factors are for A and M divided by their size, so that B and sB score alike and large networks are not judged
by powers of their weights. They lie in [−1, 1]: |det| is largest where all |λ| are equal (Hadamard), and Disc where the
λ are the zeros of the Hermite polynomial (Stieltjes), where Σλ² = n(n−1)/2 and Disc = ∏ kᵏ / 2^{n(n−1)/2}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

from polymargin.errors import InputError
from polymargin.learning.extra import torch_package
from polymargin.learning.shallow import layer_tensors


class Factor(Enum):
    """A factor of the parameter discriminant; the value says what it is the vanishing of."""

    RANK = "det A"
    SINGULAR = "det M"
    REPEATED = "Disc(charpoly A)"

    @property
    def multiplicity(self) -> int:
        """Return the order to which the factor vanishes on its real zero set: Disc is a square of distances there."""
        return 2 if self is Factor.REPEATED else 1


@dataclass(frozen=True, eq=False)
class Quadratic:
    """B(x) = xᵀA x + bᵀx + c as torch tensors: `matrix` (n, n), symmetric, `linear` (n,), `constant` ()."""

    matrix: Any
    linear: Any
    constant: Any

    @classmethod
    def of(cls, network: Any, label: int = 0, rival: int = 1) -> Quadratic:
        """Return f_label − f_rival of a Sequential(Linear, x², Linear) or of tensors (W₁, b₁, W₂, b₂)."""
        weights, bias, readout, shift = layer_tensors(network)
        classes = readout.shape[0]
        if label == rival or not (0 <= label < classes and 0 <= rival < classes):
            raise InputError(f"classes {label} and {rival}: expected two different ones among 0 … {classes - 1}")
        signs = readout[label] - readout[rival]
        signed = signs * bias
        constant = signed @ bias + shift[label] - shift[rival]
        return cls(weights.T @ (signs[:, None] * weights), 2 * (weights.T @ signed), constant)

    @property
    def dimension(self) -> int:
        """Return the number of variables."""
        return int(self.matrix.shape[0])

    @property
    def bordered(self) -> Any:
        """Return M = [[A, b/2], [bᵀ/2, c]], of shape (n + 1, n + 1)."""
        torch = torch_package()
        half = self.linear[:, None] / 2
        return torch.cat(
            [torch.cat([self.matrix, half], dim=1), torch.cat([half.T, self.constant.reshape(1, 1)], dim=1)]
        )

    def __call__(self, points: Any) -> Any:
        """Return B at points (…, n)."""
        return ((points @ self.matrix) * points).sum(-1) + points @ self.linear + self.constant

    def factor(self, which: Factor, *, scaled: bool = False) -> Any:
        """Return one factor as a differentiable scalar; `scaled` ones do not change when B is multiplied by a number."""
        torch = torch_package()
        n = self.dimension
        if which is Factor.REPEATED:
            if n == 1:
                return torch.ones_like(self.constant)
            if scaled:
                return _discriminant(_of_size(self.matrix, n * (n - 1) / 2)) / _largest_discriminant(n)
            return _discriminant(self.matrix)
        matrix = self.matrix if which is Factor.RANK else self.bordered
        if scaled:
            matrix = _of_size(matrix, matrix.shape[0])
        return torch.linalg.det(matrix)


def _of_size(matrix: Any, square: float) -> Any:
    """Return the multiple of the matrix whose entries have this sum of squares."""
    torch = torch_package()
    norm = torch.linalg.matrix_norm(matrix)
    tiny = torch.finfo(matrix.dtype).tiny
    return matrix * (math.sqrt(square) / torch.clamp(norm, min=tiny))


def _discriminant(matrix: Any) -> Any:
    torch = torch_package()
    values = torch.linalg.eigvalsh((matrix + matrix.T) / 2)
    first, second = torch.triu_indices(len(values), len(values), offset=1)
    return ((values[first] - values[second]) ** 2).prod()


def _largest_discriminant(n: int) -> float:
    """Return ∏ kᵏ / 2^{n(n−1)/2}: the largest Disc among the matrices with ‖A‖² = n(n−1)/2."""
    logarithm = sum(k * math.log(k) for k in range(1, n + 1)) - n * (n - 1) / 2 * math.log(2)
    try:
        return math.exp(logarithm)
    except OverflowError:
        raise InputError(f"a discriminant for {n} inputs is beyond floating point; use RANK or SINGULAR") from None
