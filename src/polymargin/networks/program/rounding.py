"""How far the floating-point logits of a program can be from the exact ones: errors carried along with the values.

For z = W v + b the error is |W| e + γ (|W| |v| + |b|); for a product |p| e_q + |q| e_p + e_p e_q and its own rounding;
for a power series that of its derivative with absolute coefficients. For Σ c_k T_k(z) it is e_z Σ |c_k| k² T_k(r), r =
max(1, |z| + e_z), as |T_k'| ≤ k² T_k(r) up to r, and Clenshaw's own error is of the order of degree² roundings of Σ |c_k|
T_k(r). Sums of absolute terms, as networks of layers use them, would not do: for Chebyshev's recurrence they grow like
2.4^degree where the values stay of size one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.program.forms import Forms
from polymargin.networks.program.stages import CHEBYSHEV, Activation, Product, Stage

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
    bends, sizes = (_chebyshev if stage.basis == CHEBYSHEV else _powers)(stage, np.abs(z) + e)
    return np.asarray(e * bends + EPSILON * sizes)


def _form_errors(forms: Forms, values: Array, errors: Array) -> Array:
    positive = forms.without_signs
    straight = Forms(forms.width, forms.starts, forms.columns, positive.weights, 0.0 * forms.bias)
    return np.asarray(straight(errors) + (forms.longest + 2) * EPSILON * positive(np.abs(values)))


def _powers(stage: Activation, reach: Array) -> tuple[Array, Array]:
    """Bounds of |σ'| up to `reach`, and of the roundings of Horner's rule."""
    row = np.abs(stage.coefficients)
    slopes = np.polynomial.polynomial.polyder(row)
    values, bends = (np.polynomial.polynomial.polyval(reach, part) for part in (row, slopes))
    return np.asarray(bends, dtype=np.float64), np.asarray((2 * stage.degree + 2) * values, dtype=np.float64)


def _chebyshev(stage: Activation, reach: Array) -> tuple[Array, Array]:
    row, orders = np.abs(stage.coefficients), np.arange(len(stage.coefficients), dtype=np.float64)
    angles = np.arccosh(np.maximum(reach, 1.0))
    tops = np.cosh(orders * angles[..., None])
    return tops @ (row * orders**2), 8.0 * len(row) ** 2 * (tops @ row)
