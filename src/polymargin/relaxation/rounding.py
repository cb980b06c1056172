"""How far the logits of a program in floating point can be from those of the network, on a region whose values are enclosed.

The program rounds the inputs, weights and biases to its format; forms the sum of each form in any order, with fused products or
without, and rounds it to the format; and evaluates polynomials by powers or by Horner's rule. Errors are carried along: with unit
roundoffs u of the format and s of the sums, a form of k products has an error of at most

    Σ |W| e + γ (Σ |W| (V + e) + |b|) + underflow,      γ = (1 + u)³ (1 + s)^(k + 2) − 1,

where V bounds the values on the region and e their errors. The checker computes the same bounds from its own intervals
(`polymargin_checker.rounding`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.networks.forms import Forms, dense
from polymargin.networks.network import Network
from polymargin.networks.recurrences import POWERS
from polymargin.networks.stages import Piecewise, Polynomial, Product, Stage
from polymargin.relaxation.enclosures import Enclosures

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Format:
    """Unit roundoffs of numbers and of sums, a bound of what is lost to underflow in a step, and half of the largest number."""

    unit: float
    of_sums: float
    tiny: float
    largest: float


FORMATS = {
    "float32": Format(2.0**-24, 2.0**-24, 2.0**-126, 2.0**127),
    "bfloat16": Format(2.0**-8, 2.0**-24, 2.0**-126, 2.0**127),
    "float16": Format(2.0**-11, 2.0**-24, 2.0**-24, 2.0**15),
}
"""Sums are accumulated in float32, as matrix units and NumPy do for the shorter formats."""


def format_of(network: Network, name: object) -> Format:
    """Return the format of a name; refuse networks whose stages have no bounds of rounding."""
    if not isinstance(name, str) or name not in FORMATS:
        raise InputError(f"arithmetic={name!r}: expected one of {', '.join(FORMATS)}")
    for number, stage in enumerate(network.stages, start=1):
        if isinstance(stage, Polynomial) and stage.recurrence is not POWERS:
            raise InputError(f"arithmetic={name!r}: stage {number} is no polynomial in powers; expected those")
        if isinstance(stage, Piecewise) and stage.largest_jump:
            raise InputError(f"arithmetic={name!r}: stage {number} jumps; expected continuous functions")
    return FORMATS[name]


@np.errstate(all="ignore")  # what overflows is infinite, or no number, and never small enough
def rounding_errors(enclosures: Enclosures, point: Array, made: Format) -> Array:
    """Return bounds (classes,) of the errors of logits on the region; infinite where numbers may overflow."""
    expansion, near = enclosures.expansion, enclosures.region
    inputs = np.abs(point)
    moved = np.maximum(np.abs(point[near.moving] + near.low), np.abs(point[near.moving] + near.high))
    inputs[near.moving] = np.maximum(inputs[near.moving], moved)
    error = np.where(2 * inputs <= made.largest, made.unit * inputs + made.tiny, np.inf)
    values, errors, place = [inputs], [error], 0
    for stage in expansion.network.stages:
        ends, off = [], []
        for forms in stage.forms:
            group = expansion.groups[place]
            low, high = enclosures.of_forms(group)
            ends.append(np.maximum(np.abs(group.value + low), np.abs(group.value + high)))
            off.append(_form_errors(forms, values, errors, made))
            place += 1
        value, error = _value(stage, ends, off, made)
        values.append(value)
        errors.append(error)
    return _form_errors(expansion.network.readout, values, errors, made)


def _form_errors(forms: Forms, values: list[Array], errors: list[Array], made: Format) -> Array:
    carried, sizes, lost = np.zeros(len(forms)), np.abs(forms.bias), np.zeros(len(forms))
    for source, block in forms.blocks:
        weights, reach = np.abs(dense(block)), values[source] + errors[source]
        carried += weights @ errors[source] + (0.0 if 2 * weights.max() <= made.largest else np.inf)
        sizes = sizes + weights @ reach
        lost += (weights != 0) @ reach
    growth = np.expm1(3 * made.unit + (forms.terms + 2) * made.of_sums)
    found = carried + growth * sizes + 2 * made.tiny * (lost + 2 * forms.terms + 4)
    return np.where(2 * (sizes + carried) <= made.largest, found, np.inf)


def _value(stage: Stage, ends: list[Array], off: list[Array], made: Format) -> tuple[Array, Array]:
    """Return the bounds of the values of a stage and of their errors, from those of its forms."""
    if isinstance(stage, Product):
        (p, q), (e, f) = ends, off
        most = (p + e) * (q + f)
        error = p * f + q * e + e * f + made.unit * most + made.tiny
        return p * q, np.where(2 * most <= made.largest, error, np.inf)
    (z,), (e,) = ends, off
    rows = [np.array(row) for row in ([stage.coefficients] if isinstance(stage, Polynomial) else stage.pieces)]
    sizes, reach, degree = [np.abs(row) for row in rows], z + e, max(map(len, rows)) - 1
    size, total = (np.maximum.reduce([_sums(row, part) for row in sizes]) for part in (z, reach))
    slope = np.maximum.reduce([_sums((row * np.arange(float(len(row))))[1:], reach) for row in sizes])
    most = (1 + max(float(row.sum()) for row in sizes)) * np.maximum(reach, 1.0) ** degree
    steps = 0 if all(_is_copied(row) for row in rows) else 2 * degree + 3
    error = e * slope + np.expm1(steps * made.unit) * total + 2 * steps * made.tiny * most
    return size, np.where(2 * most <= made.largest, error, np.inf)


def _is_copied(row: Array) -> bool:
    return not row[0] and not row[2:].any() and (len(row) < 2 or row[1] in (0.0, 1.0))


def _sums(row: Array, places: Array) -> Array:
    """Return Σ c_k places^k."""
    total = np.zeros_like(places)
    for c in row[::-1].tolist():
        total = total * places + c
    return total
