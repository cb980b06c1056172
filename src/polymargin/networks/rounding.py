"""How far the floating-point logits of a network can be from the exact ones: errors carried along with the values.

For z = W v + b the error is |W| e + γ (|W| |v| + |b|); for a product |p| e_q + |q| e_p + e_p e_q and its own rounding;
for a series e_z times a bound of its derivative, and the roundings of Clenshaw's rule. Chebyshev's and Legendre's polynomials
P_k are at most T_k(r) up to r = max(1, |z| + e_z), as those of Legendre are mixtures of T_j with weights that add up to one, and
|P_k'| ≤ k² T_k(r). A rounding in step k of the rule counts P_k(z) times, and is one of sums of c_j times associated polynomials,
which at r are below U_(j−k)(r) ≤ (j − k + 1) T_(j−k)(r): all of them together are of the order of degree² roundings of Σ |c_k|
T_k(r). Sums of absolute terms would not do: for Chebyshev's recurrence they grow like 2.4^degree where the values stay of size
one. For powers and Hermite's polynomials, which are nowhere of one size, they are what is used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import NDArray

from polymargin.networks.forms import Forms
from polymargin.networks.recurrences import POWERS
from polymargin.networks.stages import Piecewise, Polynomial, Product, Stage

Array = NDArray[np.float64]

EPSILON = float(np.finfo(np.float64).eps)


def rounding_errors(
    stages: Sequence[Stage], readout: Forms, points: Array, errors: Array | None = None, *, everywhere: bool = False
) -> Array:
    """Return the bounds of the errors of the logits (…, classes) at inputs (…, n) that are known up to `errors`, or exactly.

    With `everywhere` they hold at all inputs whose entries are at most as large as those of the points.
    """
    values, known = [np.abs(points) if everywhere else points], [np.zeros_like(points) if errors is None else errors]
    with np.errstate(over="ignore", invalid="ignore"):
        for stage in stages:
            new, error = _stage_errors(stage, values, known, everywhere)
            values.append(new)
            known.append(error)
        result = _form_errors(readout, values, known)
        return np.asarray(np.where(np.isfinite(result), result, np.inf))


def _stage_errors(stage: Stage, values: list[Array], errors: list[Array], everywhere: bool) -> tuple[Array, Array]:
    """Return the new values, or bounds of their sizes, and bounds of their errors."""
    results = [(form.sizes if everywhere else form)(values) for form in stage.forms]
    bounds = [_form_errors(form, values, errors) for form in stage.forms]
    if isinstance(stage, Product):
        (p, q), (e, f) = results, bounds
        new = np.asarray(p * q)
        return new, np.abs(p) * f + np.abs(q) * e + e * f + EPSILON * np.abs(new)
    (z,), (e,) = results, bounds
    if isinstance(stage, Piecewise):
        largest, slopes, roundings = _pieces(stage, np.abs(z) + e)
    else:
        largest, slopes, roundings = (_bounded if stage.recurrence.bounded else _absolute)(stage, np.abs(z) + e)
    new = largest if everywhere else stage.activate(z)
    return new, np.asarray(e * slopes + EPSILON * roundings)


def _form_errors(forms: Forms, values: list[Array], errors: list[Array]) -> Array:
    sizes, steps = forms.sizes, int(forms.terms.max(initial=0)) + 2
    return np.asarray(sizes.linear(errors) + steps * EPSILON * sizes([np.abs(v) for v in values]))


def _pieces(stage: Piecewise, reach: Array) -> tuple[Array, Array, Array]:
    """Return bounds over all pieces, in powers, and the largest difference of two pieces at their breakpoint."""
    slopes, sizes = np.zeros_like(reach), np.zeros_like(reach)
    for piece in stage.pieces:
        row = np.abs(piece)
        slopes = np.maximum(slopes, polynomial.polyval(reach, np.append(polynomial.polyder(row), 0.0)))
        sizes = np.maximum(sizes, polynomial.polyval(reach, row))
    return sizes, slopes, 2.0 * (stage.degree + 1) * sizes + stage.largest_jump / EPSILON


def _bounded(stage: Polynomial, reach: Array) -> tuple[Array, Array, Array]:
    """Return bounds of |σ| and |σ'| up to `reach`, and of roundings in Clenshaw's rule, for a basis of size one on [−1, 1]."""
    row, orders = np.abs(stage.coefficients), np.arange(len(stage.coefficients), dtype=np.float64)
    angles = np.arccosh(np.maximum(reach, 1.0))
    tops = np.cosh(orders * angles[..., None])
    total = tops @ row
    return total, tops @ (row * orders**2), 8.0 * len(row) ** 2 * total


def _absolute(stage: Polynomial, reach: Array) -> tuple[Array, Array, Array]:
    """Return the same for any basis, from what the recurrence makes of absolute values: S_(k+1) = α_k r S_k + β_k S_(k−1)."""
    values, slopes = [np.ones_like(reach)], [np.zeros_like(reach)]
    for k in range(stage.degree):
        first, second = map(float, stage.recurrence.factors(k))
        older = (values[-2], slopes[-2]) if k else (0.0, 0.0)
        slopes.append(first * (values[-1] + reach * slopes[-1]) + second * older[1])
        values.append(first * reach * values[-1] + second * older[0])
    row = np.abs(stage.coefficients)
    roundings = (2 if stage.recurrence is POWERS else 8) * (stage.degree + 1)
    total, bends = (np.tensordot(np.stack(part, axis=-1), row, axes=1) for part in (values, slopes))
    return np.asarray(total), np.asarray(bends), np.asarray(roundings * total)
