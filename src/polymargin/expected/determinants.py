"""E[|p| · |det(p(I − rM) − rZ)|] for a normal p and an independent Gaussian matrix Z: the inner expectation, without sampling.

Size 0: E|p|. Size 1: p and p(1 − rM) − rZ are jointly normal, and for normal X, Y with correlation sin φ
E|XY| = (2/π) σ_X σ_Y (cos φ + φ sin φ).

Size 2: the determinant is a quadratic form Q = yᵀAy in y = (p/σ, ζ), four standard normal variables. Its transform with the
weight |y₁| is elementary: integrating out the other variables leaves

    ψ(t) = E[|y₁| e^{itQ}] = √(2/π) √det(I − 2itA₂₂) / det(I − 2itA),       A₂₂ = A without the first row and column,

a function of the eigenvalues μ of A and μ' of A₂₂. The positive part of Q comes back by an integral along a line below the
real axis, E[|y₁|Q₊] = (1/2π)∫ −ψ(t)/t² dt over Im t = −1/(4 max μ), half way between the pole at 0 and the nearest one of ψ.
With t = (sinh w − i)/(4 max μ) all singularities have |Im w| ≥ π/2, so the trapezoidal rule with step h errs by e^{−π²/h}.
"""

from __future__ import annotations

import numpy as np

from polymargin.errors import InputError
from polymargin.expected.tangent import Array, TangentLaw, entries

# Step and end of the trapezoidal rule: e^{−π²/h} is 5e−16, times some hundreds for a singularity of high order, and the
# integrand has fallen to e^{−2w} ≈ 1e−13 at the end.
STEP, REACH = 0.28, 15.0
# Largest size with a closed form.
LARGEST_CLOSED = 2


def mean_absolute_determinant(law: TangentLaw, radii: Array) -> Array:
    """Return E[|p| · |det(p(I − rM) − rZ)|] at every point of the law, with radii (T,); for sizes 0, 1 and 2."""
    size = law.mean.shape[1]
    if size > LARGEST_CLOSED:
        raise InputError(f"matrices of size {size}: beyond size {LARGEST_CLOSED} the expectation is sampled")
    if size == 0:
        return np.asarray(np.sqrt(2 / np.pi) * law.spread)
    if size == 1:
        along = law.spread * (1 - radii * law.mean[:, 0, 0])
        across = radii * law.root[:, 0, 0]
        return np.asarray(2 / np.pi * law.spread * (across + along * np.arctan2(along, across)))
    return law.spread * _weighted_absolute_form(_quadratic_form(law, radii))


def _quadratic_form(law: TangentLaw, radii: Array) -> Array:
    """Return a (T, 4, 4) with det(p(I − rM) − rZ) = yᵀAy."""
    rows, columns = entries(2)
    linear = np.empty((len(radii), len(rows), 1 + len(rows)))  # the entries of the matrix as combinations of y
    straight = np.eye(2)[rows, columns] - radii[:, None] * law.mean[:, rows, columns]
    linear[:, :, 0] = law.spread[:, None] * straight
    linear[:, :, 1:] = -radii[:, None, None] * law.root
    at = {(int(i), int(j)): linear[:, place] for place, (i, j) in enumerate(zip(rows, columns, strict=True))}
    product = at[0, 0][:, :, None] * at[1, 1][:, None, :]
    return np.asarray((product + product.transpose(0, 2, 1)) / 2 - at[0, 1][:, :, None] * at[0, 1][:, None, :])


def _weighted_absolute_form(form: Array) -> Array:
    """Return E[|y₁| · |yᵀAy|] for standard normal y and forms A (T, 4, 4)."""
    size = np.abs(form).max(axis=(1, 2))
    scaled = form / np.where(size > 0, size, 1.0)[:, None, None]
    whole, others = np.linalg.eigvalsh(scaled), np.linalg.eigvalsh(scaled[:, 1:, 1:])
    # A form without positive values has no positive part; a tiny positive eigenvalue may stand for rounding.
    largest = np.maximum(whole[:, -1], 1e-14)
    total = np.zeros(len(form))
    for w in np.arange(0.0, REACH, STEP):
        t = (np.sinh(w) - 1j) / (4 * largest)
        factor = np.sqrt(1 - 2j * t[:, None] * others).prod(axis=1) / (1 - 2j * t[:, None] * whole).prod(axis=1)
        term = (-factor / t**2 * np.cosh(w)).real / (4 * largest)
        total += term if w else term / 2
    positive = np.sqrt(2 / np.pi) * STEP / np.pi * total
    mean = np.sqrt(2 / np.pi) * (scaled[:, 0, 0] + np.einsum("tii->t", scaled))
    return np.asarray(size * (2 * positive - mean))
