"""Bases of polynomials in one variable, each given by its three-term recurrence and by nothing else.

    P_0 = 1,      d_k P_(k+1) = a_k z P_k − b_k P_(k−1)        with whole numbers a_k, b_k and d_k > 0.

Powers, Chebyshev's, Legendre's and both kinds of Hermite's polynomials are of this form. With α_k = a_k/d_k and β_k = b_k/d_k
a series is summed by Clenshaw's rule

    s_k = c_k + α_k z s_(k+1) − β_(k+1) s_(k+2),        Σ c_k P_k(z) = s_0,

which is Horner's for powers. It runs on floats, symbolic scalars and Fractions alike; run on polynomials in another basis, which
only has to say what z times a polynomial is, it converts a series without rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError

Rationals = list[Any]


@dataclass(frozen=True)
class Recurrence:
    """A basis.

    name, letter   in Python and in files
    step           (a_k, b_k, d_k) of order k
    bounded        |P_k| ≤ T_k(r) and |P_k'| ≤ k² T_k(r) on [−r, r] for all r ≥ 1, and of |P_k| ≤ 1 on [−1, 1]
    spare_bits     2^(spare_bits·k) P_k has whole coefficients of powers
    """

    name: str
    letter: str
    step: Callable[[int], tuple[int, int, int]]
    bounded: bool = False
    spare_bits: int = 0

    def factors(self, order: int) -> tuple[Fraction, Fraction]:
        """Return α_k and β_k."""
        a, b, d = self.step(order)
        return Fraction(a, d), Fraction(b, d)

    def sum(self, coefficients: Sequence[Any], z: NDArray[Any]) -> NDArray[Any]:
        """Return Σ c_k P_k(z) for floats, or for an array of objects that are added and multiplied."""
        if self.name == "powers":
            return _sum_of_powers(coefficients, z)
        number: Any = float if z.dtype != object else Fraction
        later, last = None, 0 * z + coefficients[-1]
        for k in range(len(coefficients) - 2, -1, -1):
            first, second = number(self.factors(k)[0]), number(self.factors(k + 1)[1])
            new = z * last if first == 1 else first * (z * last)
            if later is not None and second:
                new = new - (later if second == 1 else second * later)
            later, last = last, new + coefficients[k] if coefficients[k] else new
        return np.asarray(last)

    def whole(self, coefficients: Sequence[int], z: int, exponent: int) -> int:
        """Return Σ c_k P_k(z 2^(−e)) times 2^((e + spare) n), in whole numbers; `exponent` is e, n the degree."""
        degree, each = len(coefficients) - 1, exponent + self.spare_bits
        z <<= self.spare_bits
        before, current, total = 0, 1, coefficients[0] << each * degree
        for k in range(degree):
            a, b, d = self.step(k)
            before, current = current, (a * z * current - (b * before << 2 * each)) // d  # without remainder
            total += coefficients[k + 1] * current << each * (degree - k - 1)
        return total

    def in_chebyshev(self, coefficients: Sequence[float]) -> Rationals:
        """Return the same series in Chebyshev polynomials, in rationals: z T_k = (T_(k+1) + T_|k−1|) / 2."""
        return self._rewritten(coefficients, _times_z_in_chebyshev)

    def in_powers(self, coefficients: Sequence[float]) -> Rationals:
        """Return the same series in powers of z, in rationals. Only for exact arithmetic, or for degrees that are small."""
        return self._rewritten(coefficients, lambda row: [flint.fmpq(0), *row])

    def _rewritten(self, coefficients: Sequence[float], times_z: Callable[[Rationals], Rationals]) -> Rationals:
        later: Rationals = []
        last: Rationals = [rational(coefficients[-1])]
        for k in range(len(coefficients) - 2, -1, -1):
            first, second = (
                flint.fmpq(f.numerator, f.denominator) for f in (self.factors(k)[0], self.factors(k + 1)[1])
            )
            new = [first * entry for entry in times_z(last)]
            for order, entry in enumerate(later):
                new[order] -= second * entry
            new[0] += rational(coefficients[k])
            later, last = last, new
        return last


def _sum_of_powers(coefficients: Sequence[Any], z: NDArray[Any]) -> NDArray[Any]:
    """Return Σ c_k z^k without the terms that are zero; a plain power stays one."""
    total: Any = coefficients[0]
    for power, coefficient in enumerate(coefficients[1:], start=1):
        if coefficient:
            term = _power(z, power) if coefficient == 1 else coefficient * _power(z, power)
            total = term if isinstance(total, (float, Fraction)) and not total else term + total
    return 0 * z + total if isinstance(total, (float, Fraction)) else np.asarray(total)


def _power(z: NDArray[Any], power: int) -> NDArray[Any]:
    """Return a power by products; NumPy takes a logarithm above the second power, which costs ten times as much."""
    if power <= 2:
        return z if power == 1 else np.asarray(z**2)
    half = _power(z, power // 2)
    result = np.asarray(half * half)
    return result * z if power % 2 else result


def rational(value: float) -> Any:
    """Return a float as it is."""
    return flint.fmpq(*float(value).as_integer_ratio())


def rounded(value: Any) -> float:
    """Return the double nearest to a rational."""
    return int(value.p) / int(value.q)


def _times_z_in_chebyshev(row: Rationals) -> Rationals:
    result = [flint.fmpq(0)] * (len(row) + 1)
    result[1] += row[0]
    for k, entry in enumerate(row[1:], start=1):
        result[k + 1] += entry / 2
        result[k - 1] += entry / 2
    return result


POWERS = Recurrence("powers", "A", lambda k: (1, 0, 1))
CHEBYSHEV = Recurrence("chebyshev", "C", lambda k: (2, 1, 1) if k else (1, 0, 1), bounded=True)
LEGENDRE = Recurrence("legendre", "L", lambda k: (2 * k + 1, k, k + 1), bounded=True, spare_bits=1)
# Of physicists, orthogonal for exp(−z²), and of probabilists, for exp(−z²/2); NumPy calls them hermite and hermite_e.
HERMITE = Recurrence("hermite", "H", lambda k: (2, 2 * k, 1))
HERMITE_E = Recurrence("hermite_e", "E", lambda k: (1, k, 1))

BASES = {one.name: one for one in (POWERS, CHEBYSHEV, LEGENDRE, HERMITE, HERMITE_E)}


def basis_named(name: Any) -> Recurrence:
    """Return the basis, or one sentence."""
    if not isinstance(name, str) or name not in BASES:
        raise InputError(f"the basis {name!r} of an activation; expected one of {', '.join(BASES)}")
    return BASES[name]
