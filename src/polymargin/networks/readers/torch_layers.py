"""The modules of PyTorch's kind that polymargin brings: polynomial activations. Imported only where torch is needed."""

from __future__ import annotations

from typing import Any

import torch

from polymargin.networks.recurrences import basis_named
from polymargin.networks.tape.series import series


class PolynomialActivation(torch.nn.Module):  # type: ignore[misc]
    """Σ_k c_k x^k per entry; the coefficients (c_0, c_1, …) are a buffer. A plain power x^d stays a plain power."""

    coefficients: Any

    def __init__(self, coefficients: Any) -> None:
        super().__init__()
        self.register_buffer("coefficients", torch.as_tensor(coefficients, dtype=torch.float64))
        row = self.coefficients.tolist()
        self.degree = len(row) - 1
        self.plain = self.degree > 0 and row == [*[0.0] * self.degree, 1.0]

    def forward(self, x: Any) -> Any:
        """Return the activation of a tensor."""
        if self.plain:
            return x**self.degree
        value = torch.zeros_like(x) + self.coefficients[-1]
        for k in range(self.degree - 1, -1, -1):
            value = value * x + self.coefficients[k]
        return value

    def extra_repr(self) -> str:
        """Return the part of the repr that names the settings."""
        return f"degree={self.degree}"


class Series(torch.nn.Module):  # type: ignore[misc]
    """Σ_k c_k P_k(z) per entry, z = (2x − a − b) / (b − a) on the domain (a, b), by Clenshaw's rule.

    The basis is "chebyshev", "legendre", "hermite" (of physicists) or "hermite_e" (of probabilists). `from_torch` keeps it, up to
    degree 127; nothing is expanded into powers of x. The state dict says what it holds: `chebyshev_coefficients` and `domain`.
    """

    domain: Any

    def __init__(self, coefficients: Any, basis: str, domain: tuple[float, float] = (-1.0, 1.0)) -> None:
        super().__init__()
        self.basis = basis_named(basis).name
        self.register_buffer(f"{basis}_coefficients", torch.as_tensor(coefficients, dtype=torch.float64))
        self.register_buffer("domain", torch.as_tensor(domain, dtype=torch.float64))

    @property
    def coefficients(self) -> Any:
        """Return the coefficients in the basis."""
        return getattr(self, f"{self.basis}_coefficients")

    def forward(self, x: Any) -> Any:
        """Return the activation of a tensor."""
        if torch.overrides.has_torch_function_unary(x):  # while it is read, the basis is kept
            given = (x, self.coefficients.tolist(), self.basis, tuple(self.domain.tolist()))
            return torch.overrides.handle_torch_function(series, (x,), *given)
        low, high = self.domain.unbind(0)
        z = x if (float(low), float(high)) == (-1.0, 1.0) else (2.0 * x - (low + high)) / (high - low)
        row, recurrence = self.coefficients.unbind(0), basis_named(self.basis)
        later, last = torch.zeros_like(z), torch.zeros_like(z) + row[-1]
        for k in range(len(row) - 2, -1, -1):
            first, second = float(recurrence.factors(k)[0]), float(recurrence.factors(k + 1)[1])
            later, last = last, first * (z * last) - second * later + row[k]
        return last

    def extra_repr(self) -> str:
        """Return the part of the repr that names the settings."""
        low, high = self.domain.tolist()
        return f"degree={len(self.coefficients) - 1}, basis={self.basis}, domain=({low:g}, {high:g})"


class Chebyshev(Series):
    """A `Series` in Chebyshev polynomials."""

    def __init__(self, coefficients: Any, domain: tuple[float, float] = (-1.0, 1.0)) -> None:
        super().__init__(coefficients, "chebyshev", domain)
