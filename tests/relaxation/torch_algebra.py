"""The algebra of the interior-point method over torch's tensors, which are strict about what may meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch


class TorchAlgebra:
    def put(self, array: Any) -> torch.Tensor:
        return torch.tensor(array.toarray() if hasattr(array, "toarray") else array, dtype=torch.float64)

    def get(self, matrix: torch.Tensor) -> np.ndarray:
        return matrix.numpy().copy()

    def zeros(self, shape: tuple[int, ...]) -> torch.Tensor:
        return torch.zeros(shape, dtype=torch.float64)

    def stack(self, matrices: Sequence[torch.Tensor]) -> torch.Tensor:
        return torch.stack(list(matrices))

    def diagonal(self, matrix: torch.Tensor) -> torch.Tensor:
        return matrix.diagonal()

    def inner(self, left: torch.Tensor, right: torch.Tensor) -> float:
        return float((left * right).sum())

    def row_sums(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return (left * right).sum(dim=1)

    def finite(self, matrix: torch.Tensor) -> bool:
        return bool(torch.isfinite(matrix).all())

    def inverse_root(self, matrix: torch.Tensor) -> torch.Tensor | None:
        factor, info = torch.linalg.cholesky_ex(matrix)
        if int(info):
            return None
        unit = torch.eye(len(matrix), dtype=torch.float64)
        return torch.linalg.solve_triangular(factor, unit, upper=False)

    def gram(self, root: torch.Tensor) -> torch.Tensor:
        return root.T @ root

    def definite(self, matrices: torch.Tensor) -> bool:
        return not bool(torch.linalg.cholesky_ex(matrices)[1].any())

    def solver(self, matrix: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor] | None:
        factor, info = torch.linalg.cholesky_ex(matrix)
        if int(info):
            return None
        return lambda right: torch.cholesky_solve(right[:, None], factor)[:, 0]
