"""Krawczyk's test for the critical equations F(x, λ) = (x − u + λ∇B(x), B(x)) on a box in ℂⁿ⁺¹, in balls.

With z the midpoint of the box X and any matrix Y, let K = z − YF(z) + (1 − Y·F'(X))(X − z). If K lies in the interior
of X, then X contains exactly one zero of F, this zero is regular, and it lies in K. The choice of Y only decides
whether the test succeeds; we take the inverse of the midpoint of F'(X).

The mean value form is valid over ℂ: F(x) − F(z) = M(x − z) with M = ∫F'(z + t(x − z))dt, and M lies in the convex hull
of F' over X, hence in the matrix of rectangles F'(X). `krawczyk_discs` is the same test for many boxes in doubles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import acb, acb_mat, arb, ctx

from polymargin_checker.work import spend

_INVERSE = 16
"""Products of real numbers for one entry of a row of an inverse of complex matrices and of a product with it."""

Box = list[acb]
"""Complex rectangles for x_1, …, x_n, λ."""


def contract(
    boundary: Any, u: Sequence[arb], x: Sequence[acb], radius: float, of_multiplier: float, *, real: bool
) -> Box | None:
    """Return K if the box around x passes the test, else None; λ of its midpoint is chosen, real for a real x."""
    n = boundary.dimension
    spend(boundary.work() + _INVERSE * (n + 1) ** 3, ctx.prec, f"Krawczyk's test in {n} variables")
    middle = [entry.mid() for entry in x]
    jet = boundary.jet(middle, hessian=False)
    gradient = jet.gradient.entries()
    multiplier = _multiplier(gradient, middle, u, real=real)
    if multiplier is None:
        return None
    residual = [xi - ui + multiplier * gi for xi, ui, gi in zip(middle, u, gradient, strict=True)]
    values = acb_mat(n + 1, 1, [*residual, jet.value])
    box = [_around(entry, radius) for entry in middle]
    box.append(_around(multiplier, of_multiplier))
    middle.append(multiplier)
    offset = acb_mat(n + 1, 1, [entry - centre for entry, centre in zip(box, middle, strict=True)])
    derivative = _derivative(boundary, box)
    try:
        inverse = derivative.mid().inv().mid()
    except ZeroDivisionError:
        return None
    deviation = _identity(n + 1) - inverse * derivative
    centre = acb_mat(n + 1, 1, middle)
    result: Box = (centre - inverse * values + deviation * offset).entries()
    inside = all(
        outer.real.contains_interior(inner.real) and outer.imag.contains_interior(inner.imag)
        for outer, inner in zip(box, result, strict=True)
    )
    return result if inside else None


def _multiplier(gradient: Sequence[acb], x: Sequence[acb], u: Sequence[arb], *, real: bool) -> acb | None:
    """Return −⟨∇B, x − u⟩/⟨∇B, ∇B⟩, rounded; every number will do."""
    conjugates = [acb(entry.real, -entry.imag) for entry in gradient]
    steps = [xi - ui for xi, ui in zip(x, u, strict=True)]
    above = sum((c * step for c, step in zip(conjugates, steps, strict=True)), acb(0))
    below = sum((c * entry for c, entry in zip(conjugates, gradient, strict=True)), acb(0)).real
    if not below > 0:
        return None
    found = (-above / below).mid()
    return acb(found.real) if real else found


def _around(middle: acb, radius: float) -> acb:
    return acb(middle.real + arb(0, radius), middle.imag + arb(0, radius))


def _derivative(boundary: Any, box: Box) -> acb_mat:
    """Return F'(X) = [[1 + λH, ∇Bᵀ], [∇B, 0]]."""
    *x, multiplier = box
    n = len(x)
    jet = boundary.jet(x, hessian=True)
    gradient = jet.gradient.entries()
    block = (jet.hessian * multiplier + _identity(n)).entries()
    rows: list[acb] = []
    for i in range(n):
        rows += block[i * n : (i + 1) * n]
        rows.append(gradient[i])
    return acb_mat(n + 1, n + 1, [*rows, *gradient, acb(0)])


def _identity(size: int) -> acb_mat:
    return acb_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])
