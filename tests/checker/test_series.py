"""Series in Chebyshev's, Legendre's and Hermite's polynomials and in powers: values and other bases, by their closed forms."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from flint import fmpq, fmpz

from polymargin_checker import series
from polymargin_checker.series import bits_each, in_chebyshev, in_powers, value

DEGREE = 7


def powers(letter: str, n: int) -> list[fmpq]:
    """Coefficients of P_n in powers, from its sum over m of multiples of z^(n − 2m)."""
    result = [fmpq(0)] * (n + 1)
    if letter == "A" or n == 0:
        result[n] = fmpq(1)
        return result
    for m in range(n // 2 + 1):
        k, sign = n - 2 * m, (-1) ** m
        split = math.factorial(n) // (math.factorial(m) * math.factorial(k))
        result[k] = (
            sign
            * {
                "C": fmpq(n * math.factorial(n - m - 1) * 2**k, 2 * math.factorial(m) * math.factorial(k)),
                "L": fmpq(math.comb(n, m) * math.comb(2 * n - 2 * m, n), 2**n),
                "H": fmpq(split * 2**k),
                "E": fmpq(split, 2**m),
            }[letter]
        )
    return result


def combined(letter: str, coefficients: list[float]) -> list[fmpq]:
    total = [fmpq(0)] * len(coefficients)
    for n, c in enumerate(coefficients):
        for place, entry in enumerate(powers(letter, n)):
            total[place] += fmpq(*c.as_integer_ratio()) * entry
    return total


COEFFICIENTS = [0.5, -1.25, 2.0, 0.0, 0.375, -0.75, 1.5, -0.125]


@pytest.mark.parametrize("letter", series.NAMES)
def test_every_polynomial_of_a_basis_in_powers(letter: str) -> None:
    for n in range(DEGREE + 1):
        assert in_powers(letter, [0.0] * n + [1.0]) == powers(letter, n)
    assert in_powers(letter, COEFFICIENTS) == combined(letter, COEFFICIENTS)
    assert in_powers(letter, [2.5]) == [fmpq(5, 2)]


def test_the_closed_forms_are_right() -> None:
    assert powers("C", 4) == [1, 0, -8, 0, 8]
    assert powers("C", 3) == [0, -3, 0, 4]
    assert powers("L", 3) == [0, fmpq(-3, 2), 0, fmpq(5, 2)]
    assert powers("H", 3) == [0, -12, 0, 8]
    assert powers("E", 4) == [3, 0, -6, 0, 1]


@pytest.mark.parametrize("letter", series.NAMES)
def test_the_same_series_in_chebyshev_polynomials(letter: str) -> None:
    found = in_chebyshev(letter, COEFFICIENTS)
    assert len(found) == len(COEFFICIENTS)
    back = [fmpq(0)] * len(found)
    for n, c in enumerate(found):
        for place, entry in enumerate(powers("C", n)):
            back[place] += c * entry
    assert back == combined(letter, COEFFICIENTS)
    assert in_chebyshev("C", COEFFICIENTS) == [fmpq(*c.as_integer_ratio()) for c in COEFFICIENTS]


@pytest.mark.parametrize("letter", series.NAMES)
@pytest.mark.parametrize(("numerator", "exponent"), [(0, 0), (1, 0), (-3, 2), (7, 3), (5, 1), (-11, 4)])
def test_values_in_whole_numbers(letter: str, numerator: int, exponent: int) -> None:
    whole = [fmpz(c) for c in (3, -5, 2, 0, 7, -1, 4)]
    z = fmpq(numerator, 2**exponent)
    truth = sum((c * z**k for k, c in enumerate(combined(letter, [float(int(c)) for c in whole]))), fmpq(0))
    bits = bits_each(letter, exponent)
    assert bits == exponent + (letter == "L")
    found = value(letter, whole, fmpz(numerator), exponent)
    assert fmpq(found, 1) == truth * fmpq(2) ** (bits * (len(whole) - 1))
    assert value(letter, [fmpz(9)], fmpz(numerator), exponent) == 9


def test_work_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    monkeypatch.setattr(series, "spend", lambda products, bits, what: asked.update({what: products * bits}))
    in_powers("L", COEFFICIENTS)
    assert asked["the series of an activation"] >= 8**2 * 1000
