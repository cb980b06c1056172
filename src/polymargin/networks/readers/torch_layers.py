"""The modules of PyTorch's kind that polymargin brings: polynomial activations. Imported only where torch is needed."""

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


class Chebyshev(torch.nn.Module):  # type: ignore[misc]
    """Σ_k c_k T_k(z) per entry, z = (2x − a − b) / (b − a) on the domain (a, b), by Clenshaw's rule.

    `from_torch` keeps it in this basis, up to degree 127; nothing is expanded into powers of x.
    """

    coefficients: Any

    def __init__(self, coefficients: Any, domain: tuple[float, float] = (-1.0, 1.0)) -> None:
        super().__init__()
        self.register_buffer("coefficients", torch.as_tensor(coefficients, dtype=torch.float64))
        self.low, self.high = (float(end) for end in domain)

    def forward(self, x: Any) -> Any:
        z = (2.0 * x - (self.low + self.high)) / (self.high - self.low)
        later, last = torch.zeros_like(z), torch.zeros_like(z)
        for c in reversed(self.coefficients[1:].unbind(0)):
            later, last = last, 2.0 * z * last - later + c
        return z * last - later + self.coefficients[0]

    def extra_repr(self) -> str:
        return f"degree={len(self.coefficients) - 1}, domain=({self.low:g}, {self.high:g})"
