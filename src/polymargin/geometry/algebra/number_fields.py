"""Polynomials in z over a number field Q[t]/f, f irreducible, as lists of coefficients (constant term first).

Coefficients are python-flint's rational polynomials in t reduced modulo f. Only what the plane needs: greatest common divisors.
"""

from __future__ import annotations

from typing import Any

import flint


def inverse(value: Any, modulus: Any) -> Any | None:
    """1/value modulo a polynomial, None if there is none."""
    common, factor, _ = value.xgcd(modulus)
    return factor / common[0] if common.degree() == 0 else None


def reduced(coefficients: list[Any], modulus: Any) -> list[Any]:
    """Every coefficient modulo f, without leading zeros: [] is the zero polynomial."""
    result = [c % modulus for c in coefficients]
    while result and result[-1] == 0:
        result.pop()
    return result


def common_divisor(first: list[Any], second: list[Any], modulus: Any) -> list[Any]:
    """The monic greatest common divisor of two reduced polynomials.

    >>> f = flint.fmpq_poly([-2, 0, 1])
    >>> zero, one, root = flint.fmpq_poly([0]), flint.fmpq_poly([1]), flint.fmpq_poly([0, 1])  # √2 modulo f
    >>> common_divisor([-2 * one, zero, one], [zero, -root, one], f)  # of z² − 2 and z² − √2 z
    [(-1)*x, 1]
    """
    while second:
        first, second = second, _remainder(first, second, modulus)
    return _monic(first, modulus)


def distinct_roots(polynomial: list[Any], modulus: Any) -> list[Any]:
    """The monic polynomial with the same roots, each once."""
    slope = reduced([power * c for power, c in enumerate(polynomial)][1:], modulus)
    return _quotient(polynomial, common_divisor(polynomial, slope, modulus), modulus)


def without_roots(polynomial: list[Any], other: list[Any], modulus: Any) -> list[Any]:
    """The factor of the polynomial that has no root in common with the other one."""
    while len(common := common_divisor(polynomial, other, modulus)) > 1:
        polynomial = _quotient(polynomial, common, modulus)
    return polynomial


def _monic(polynomial: list[Any], modulus: Any) -> list[Any]:
    if not polynomial:
        return polynomial
    factor = inverse(polynomial[-1], modulus)
    return [c * factor % modulus for c in polynomial]


def _remainder(dividend: list[Any], divisor: list[Any], modulus: Any) -> list[Any]:
    return _division(dividend, divisor, modulus)[1]


def _quotient(dividend: list[Any], divisor: list[Any], modulus: Any) -> list[Any]:
    return _division(dividend, divisor, modulus)[0]


def _division(dividend: list[Any], divisor: list[Any], modulus: Any) -> tuple[list[Any], list[Any]]:
    divisor, scale = _monic(divisor, modulus), inverse(divisor[-1], modulus)
    rest, quotient = list(dividend), [flint.fmpq_poly([0])] * max(len(dividend) - len(divisor) + 1, 0)
    for shift in reversed(range(len(quotient))):
        factor = rest[shift + len(divisor) - 1]
        quotient[shift] = factor * scale % modulus
        for position, coefficient in enumerate(divisor):
            rest[shift + position] = (rest[shift + position] - factor * coefficient) % modulus
    return quotient, reduced(rest[: len(divisor) - 1], modulus)
