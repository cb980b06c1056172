"""Krawczyk's test for the critical equations F(x, λ) = (x − u + λ∇B(x), B(x)) on a box in ℂⁿ⁺¹.

With z the midpoint of the box X and any matrix Y, let K = z − YF(z) + (1 − Y·F'(X))(X − z). If K lies in the interior
of X, then X contains exactly one zero of F, this zero is regular, and it lies in K. The choice of Y only decides
whether the test succeeds; we take the inverse of the midpoint of F'(X).

The mean value form is valid over ℂ: F(x) − F(z) = M(x − z) with M = ∫F'(z + t(x − z))dt, and M lies in the convex hull
of F' over X, hence in the matrix of rectangles F'(X).
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import acb, acb_mat, arb, ctx

from polymargin_checker.network import LayeredBoundary
from polymargin_checker.work import spend

_INVERSE = 16
"""Products of real numbers for one entry of a row of an inverse of complex matrices and of a product with it."""

Box = list[acb]
"""Complex rectangles for x_1, …, x_n, λ."""


def contract(boundary: LayeredBoundary, u: Sequence[arb], box: Box) -> Box | None:
    """K if the box passes the test, None if not."""
    n = boundary.dimension
    spend(boundary.work() + _INVERSE * (n + 1) ** 3, ctx.prec, f"Krawczyk's test in {n} variables")
    middle = [entry.mid() for entry in box]
    offset = acb_mat(n + 1, 1, [entry - centre for entry, centre in zip(box, middle, strict=True)])
    derivative = _derivative(boundary, box)
    try:
        inverse = derivative.mid().inv().mid()
    except ZeroDivisionError:
        return None
    deviation = _identity(n + 1) - inverse * derivative
    centre = acb_mat(n + 1, 1, middle)
    result: Box = (centre - inverse * _values(boundary, u, middle) + deviation * offset).entries()
    inside = all(
        outer.real.contains_interior(inner.real) and outer.imag.contains_interior(inner.imag)
        for outer, inner in zip(box, result, strict=True)
    )
    return result if inside else None


def symmetrised(box: Box) -> Box:
    """A box that contains the given one and its complex conjugate, and is its own conjugate."""
    return [acb(entry.real, arb(0, entry.imag.abs_upper())) for entry in box]


def _values(boundary: LayeredBoundary, u: Sequence[arb], point: Box) -> acb_mat:
    """F at a point."""
    *x, multiplier = point
    jet = boundary.jet(x, hessian=False)
    gradient = jet.gradient.entries()
    rows = [xi - ui + multiplier * gi for xi, ui, gi in zip(x, u, gradient, strict=True)]
    return acb_mat(len(point), 1, [*rows, jet.value])


def _derivative(boundary: LayeredBoundary, box: Box) -> acb_mat:
    """F'(X) = [[1 + λH, ∇Bᵀ], [∇B, 0]]."""
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
