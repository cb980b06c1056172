"""The distance to a boundary by methods that share nothing with the package: Sturm chains and elimination.

One variable: the real roots of a rational polynomial, isolated by Sturm's theorem and bisected. Two variables: the critical
points solve B = 0 and (x − u) ∧ ∇B = 0; a resultant eliminates y, and at every real root of it the common real roots in y are
found with many digits. Singular points of the boundary solve both equations as well.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import flint

Polynomial = list[Fraction]  # lowest power first
BITS = 1200


# -- one variable --------------------------------------------------------------------------------------


def nearest_root(coefficients: Polynomial, u: Fraction) -> float:
    """The distance from u to the nearest real root; infinite if there is none."""
    shifted = _taylor(coefficients, u)
    squarefree = _quotient(shifted, _gcd(shifted, _derivative(shifted)))
    ahead, behind = (
        _least_positive_root(squarefree),
        _least_positive_root([c * (-1) ** k for k, c in enumerate(squarefree)]),
    )
    return 0.0 if shifted[0] == 0 else min(ahead, behind)


def _least_positive_root(p: Polynomial) -> float:
    p = p[next(k for k, c in enumerate(p) if c) :]
    chain = [p, _derivative(p)]
    while any(chain[-1]) and len(chain[-1]) > 1:
        chain.append([-c for c in _remainder(chain[-2], chain[-1])])
    low, high = Fraction(0), 1 + max((abs(c) for c in p[:-1]), default=Fraction(0)) / abs(p[-1])

    def changes(x: Fraction) -> int:
        signs = [value > 0 for q in chain if (value := _value(q, x)) != 0]
        return sum(a != b for a, b in pairwise(signs))

    if changes(low) == changes(high):
        return math.inf
    at_low = changes(low)
    while low == 0 or (high - low) > high / 2**60:
        middle = (
            Fraction(2) ** round(math.log2(high) - 64) if low == 0 and high > Fraction(1, 2**900) else (low + high) / 2
        )
        middle = middle if low < middle < high else (low + high) / 2
        if changes(middle) < at_low:
            high = middle
        else:
            low = middle
        if high < Fraction(1, 2**950):
            break
    return float(high)


def _taylor(p: Polynomial, u: Fraction) -> Polynomial:
    """p(u + t) in powers of t, by Horner's scheme."""
    result = list(p)
    for start in range(len(p) - 1):
        for k in range(len(p) - 2, start - 1, -1):
            result[k] += u * result[k + 1]
    return result


def _value(p: Polynomial, x: Fraction) -> Fraction:
    total = Fraction(0)
    for c in reversed(p):
        total = total * x + c
    return total


def _derivative(p: Polynomial) -> Polynomial:
    return [k * c for k, c in enumerate(p)][1:] or [Fraction(0)]


def _divided(p: Polynomial, q: Polynomial) -> tuple[Polynomial, Polynomial]:
    rest, quotient = list(p), [Fraction(0)] * max(1, len(p) - len(q) + 1)
    for k in range(len(p) - len(q), -1, -1):
        quotient[k] = rest[k + len(q) - 1] / q[-1]
        for j, c in enumerate(q):
            rest[k + j] -= quotient[k] * c
    while len(rest) > 1 and rest[-1] == 0:
        rest.pop()
    return quotient, rest


def _quotient(p: Polynomial, q: Polynomial) -> Polynomial:
    return _divided(p, q)[0]


def _remainder(p: Polynomial, q: Polynomial) -> Polynomial:
    return _divided(p, q)[1] if len(p) >= len(q) else p


def _gcd(p: Polynomial, q: Polynomial) -> Polynomial:
    while any(q):
        p, q = q, _remainder(p, q)
        q = [c / q[-1] for c in q] if any(q) else q
    return p


# -- two variables -------------------------------------------------------------------------------------

RING = flint.fmpq_mpoly_ctx.get(["x", "y"], "lex")


def plane_variables() -> tuple[Any, Any]:
    """x and y, to write B with."""
    return RING.gens()


def nearest_in_plane(B: Any, u: tuple[Fraction, Fraction]) -> float | None:
    """The distance from u to the real curve B = 0; None where the elimination says nothing (a common component)."""
    x, y = plane_variables()
    ux, uy = (flint.fmpq(value.numerator, value.denominator) for value in u)
    moved = B.compose(x + ux, y + uy, ctx=RING)
    if moved(0, 0) == 0:
        return 0.0
    tangency = x * moved.derivative(1) - y * moved.derivative(0)
    eliminated = moved.resultant(tangency, 1)
    if eliminated == 0:
        return None
    precision = flint.ctx.prec
    flint.ctx.prec = BITS
    try:
        return _nearest_common_root(moved, tangency, _univariate(eliminated, 0))
    finally:
        flint.ctx.prec = precision


def _nearest_common_root(B: Any, tangency: Any, eliminated: Any) -> float:
    best = math.inf
    for root, _ in eliminated.complex_roots():
        if root.imag != 0:
            continue
        x = root.real
        for candidate in _real_roots_in_y(B, x):
            value, size = _at(tangency, x, candidate)
            if abs(float(value.mid())) <= 1e-40 * float(size.upper()) or value.contains(0):
                best = min(best, float((x * x + candidate * candidate).sqrt().mid()))
    return best


def _real_roots_in_y(B: Any, x: Any) -> list[Any]:
    """Roots of B(x, ·) whose imaginary parts are zero as far as several hundred digits tell."""
    degree = max((exponents[1] for exponents in B.monoms()), default=0)
    coefficients = [flint.arb(0)] * (degree + 1)
    for (i, j), c in B.terms():
        coefficients[j] += flint.arb(c) * x**i
    while len(coefficients) > 1 and coefficients[-1].contains(0):
        coefficients.pop()
    if len(coefficients) == 1:
        return [flint.arb(0)] if coefficients[0].contains(0) else []
    # Midpoints only: x is known to hundreds of digits, and a multiple root is found to a fraction of them.
    polynomial = flint.acb_poly([c.mid() for c in coefficients])
    try:
        roots = polynomial.roots(tol=1e-150)
    except ValueError:
        roots = _multiple_roots(polynomial)
    # A root of multiplicity four is known to a quarter of the digits: imaginary parts are measured against the size of the point.
    reach = abs(float(x.mid())) + 1e-200
    return [r.real for r in roots if abs(float(r.imag.mid())) <= 1e-50 * (reach + abs(float(r.real.mid())))]


def _multiple_roots(polynomial: Any) -> list[Any]:
    """Durand and Kerner's iteration, which converges slowly to multiple roots, with many digits to spare."""
    degree = polynomial.degree()
    monic = [c / polynomial[degree] for c in polynomial.coeffs()]
    size = 1 + max(float(abs(c).upper()) for c in monic[:-1])
    roots = [flint.acb(0.4, 0.9) ** k * min(size, 1e8) for k in range(degree)]
    for _ in range(1500):
        for i in range(degree):
            product = flint.acb(1)
            for j in range(degree):
                if j != i:
                    product *= roots[i] - roots[j]
            value = flint.acb_poly(monic)(roots[i])
            roots[i] = (roots[i] - value / product).mid()
    return roots


def _at(polynomial: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The value, and how large terms are at a point as far away in a general direction: none of those may vanish by chance."""
    value = size = flint.arb(0)
    reach = abs(x) + abs(y)
    for (i, j), c in polynomial.terms():
        value, size = value + flint.arb(c) * x**i * y**j, size + abs(flint.arb(c)) * reach ** (i + j)
    return value, size


def _univariate(polynomial: Any, variable: int) -> Any:
    degree = max(exponents[variable] for exponents in polynomial.monoms())
    coefficients = [flint.fmpq(0)] * (degree + 1)
    for exponents, c in polynomial.terms():
        coefficients[exponents[variable]] += c
    return flint.fmpq_poly(coefficients)
