"""How far the floating-point logits of a program can be from the exact ones: errors carried along with the values.

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


def rounding_errors(stages: Sequence[Stage], readout: Forms, values: Array, errors: Array) -> Array:
    """Bounds of the errors of the logits (…, classes), for inputs (…, n) that are known up to `errors`."""
    with np.errstate(over="ignore", invalid="ignore"):
        for stage in stages:
            new = stage(values)
            values, errors = (
                np.concatenate([values, new], axis=-1),
                np.concatenate([errors, _stage_errors(stage, values, errors, new)], axis=-1),
            )
        result = _form_errors(readout, values, errors)
        return np.asarray(np.where(np.isfinite(result), result, np.inf))


def _stage_errors(stage: Stage, values: Array, errors: Array, new: Array) -> Array:
    if isinstance(stage, Product):
        p, q = (np.abs(form(values)) for form in stage.forms)
        e, f = (_form_errors(form, values, errors) for form in stage.forms)
        return np.asarray(p * f + q * e + e * f + EPSILON * np.abs(new))
    z, e = stage.form(values), _form_errors(stage.form, values, errors)
    if isinstance(stage, Piecewise):
        bends, sizes = _pieces(stage, np.abs(z) + e)
    else:
        bends, sizes = (_bounded if stage.recurrence.bounded else _absolute)(stage, np.abs(z) + e)
    return np.asarray(e * bends + EPSILON * sizes)


def _form_errors(forms: Forms, values: Array, errors: Array) -> Array:
    positive = forms.without_signs
    straight = Forms(forms.width, forms.starts, forms.columns, positive.weights, 0.0 * forms.bias)
    return np.asarray(straight(errors) + (forms.longest + 2) * EPSILON * positive(np.abs(values)))


def _pieces(stage: Piecewise, reach: Array) -> tuple[Array, Array]:
    """The same for pieces in powers, whichever of them it is, and what two of them differ by where they meet."""
    slopes, sizes = np.zeros_like(reach), np.zeros_like(reach)
    for piece in stage.pieces:
        row = np.abs(piece)
        slopes = np.maximum(slopes, polynomial.polyval(reach, np.append(polynomial.polyder(row), 0.0)))
        sizes = np.maximum(sizes, polynomial.polyval(reach, row))
    return slopes, 2.0 * (stage.degree + 1) * sizes + stage.largest_jump / EPSILON


def _bounded(stage: Polynomial, reach: Array) -> tuple[Array, Array]:
    """Bounds of |σ'| up to `reach`, and of the roundings of Clenshaw's rule, for a basis that is of size one on [−1, 1]."""
    row, orders = np.abs(stage.coefficients), np.arange(len(stage.coefficients), dtype=np.float64)
    angles = np.arccosh(np.maximum(reach, 1.0))
    tops = np.cosh(orders * angles[..., None])
    return tops @ (row * orders**2), 8.0 * len(row) ** 2 * (tops @ row)


def _absolute(stage: Polynomial, reach: Array) -> tuple[Array, Array]:
    """The same for any basis, from what the recurrence makes of absolute values: S_(k+1) = α_k r S_k + β_k S_(k−1)."""
    values, slopes = [np.ones_like(reach)], [np.zeros_like(reach)]
    for k in range(stage.degree):
        first, second = map(float, stage.recurrence.factors(k))
        older = (values[-2], slopes[-2]) if k else (0.0, 0.0)
        slopes.append(first * (values[-1] + reach * slopes[-1]) + second * older[1])
        values.append(first * reach * values[-1] + second * older[0])
    row = np.abs(stage.coefficients)
    roundings = (2 if stage.recurrence is POWERS else 8) * (stage.degree + 1)
    total, bends = (np.tensordot(np.stack(part, axis=-1), row, axes=1) for part in (values, slopes))
    return np.asarray(bends), np.asarray(roundings * total)
