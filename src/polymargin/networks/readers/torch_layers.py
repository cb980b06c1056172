"""The one module of PyTorch's kind that polymargin brings: a polynomial activation. Imported only where torch is needed."""

from __future__ import annotations

from typing import Any

import torch


class Polynomial(torch.nn.Module):  # type: ignore[misc]
    """Σ_k c_k x^k per entry; the coefficients (c_0, c_1, …) are a buffer. A plain power x^d stays a plain power."""

    coefficients: Any

    def __init__(self, coefficients: Any) -> None:
        super().__init__()
        self.register_buffer("coefficients", torch.as_tensor(coefficients, dtype=torch.float64))
        row = self.coefficients.tolist()
        self.degree = len(row) - 1
        self.plain = self.degree > 0 and row == [*[0.0] * self.degree, 1.0]

    def forward(self, x: Any) -> Any:
        if self.plain:
            return x**self.degree
        value = torch.zeros_like(x) + self.coefficients[-1]
        for k in range(self.degree - 1, -1, -1):
            value = value * x + self.coefficients[k]
        return value

    def extra_repr(self) -> str:
        return f"degree={self.degree}"
