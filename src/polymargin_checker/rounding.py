"""How far the logits of a program in floating point can be from those of the network, on a region whose values are enclosed.

The program rounds the inputs, weights and biases to its format; forms the sum of each form in any order, with fused products or
without, and rounds it to the format; and evaluates polynomials by powers or by Horner's rule. With unit roundoffs u of the format
and s of the sums, a form of k products has an error of at most

    Σ |W| e + γ (Σ |W| (V + e) + |b|) + underflow,      γ = (1 + u)³ (1 + s)^(k + 2) − 1,

where V bounds the values on the region and e their errors; the value of a polynomial

    e Σ k |c_k| Z^(k−1) + γ' Σ |c_k| Z^k,      γ' = (1 + u)^(2d + 3) − 1,      |z| + e ≤ Z.

All terms are positive, so that in doubles a factor for each step is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import fmpq

from polymargin_checker.arrays import Floats
from polymargin_checker.refusal import Refused, Unproved
from polymargin_checker.relaxation.arithmetic import rational
from polymargin_checker.relaxation.scene import Scene
from polymargin_checker.stages import Forms, Piecewise, Polynomial, Product, Stage
from polymargin_checker.words import shown
from polymargin_checker.work import spend_doubles

_OUTWARD = 1 + 2.0**-26
"""More than 2²⁴ roundings of positive numbers in doubles."""
_MOST_TERMS = 1 << 20


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


def read_format(value: object) -> Format:
    """Return the format that a certificate names."""
    if not isinstance(value, str) or value not in FORMATS:
        raise Refused(f"arithmetic: {shown(value)}; expected one of {', '.join(FORMATS)}")
    return FORMATS[value]


@dataclass(eq=False)
class Lead:
    """By how much a label must lead over a rival, that the program of a format gives it too."""

    made: Format
    label: int
    _known: tuple[Scene, Floats] | None = None

    def __call__(self, scene: Scene, rival: int) -> fmpq:
        if self._known is None or self._known[0] is not scene:
            self._known = scene, rounding_errors(scene, self.made)
        errors = self._known[1]
        return rational(float(errors[self.label])) + rational(float(errors[rival]))


def rounding_errors(scene: Scene, made: Format) -> Floats:
    """Return bounds of the errors of all logits on the region of a scene."""
    network, groups = scene.expansion.network, scene.expansion.groups
    inputs = _inputs(scene)
    _check_size(inputs, made)
    values, errors, place = [inputs], [_OUTWARD * (made.unit * inputs + made.tiny)], 0
    for stage in network.stages:
        ends, off = [], []
        for forms in stage.forms:
            off.append(_form_errors(forms, values, errors, made))
            ends.append(_largest(scene, place))
            place += 1
        assert place <= len(groups)
        value, error = _value(stage, ends, off, made)
        values.append(value)
        errors.append(error)
    found = _form_errors(network.readout, values, errors, made)
    if not np.isfinite(found).all():
        raise Unproved("arithmetic: the errors of rounding are not bounded")
    return found


def _inputs(scene: Scene) -> Floats:
    """Bounds of |x| on the region."""
    region, exact = scene.region, scene.arithmetic.exact
    if region.moving is None:
        raise Refused("arithmetic: expected a neighbourhood without a matrix of weights and without a subspace")
    size = region.point.magnitude()[:, 0].copy()
    for end in (region.low, region.high):
        moved = (region.point[region.moving] + exact(end[:, None])).magnitude()[:, 0]
        size[region.moving] = np.maximum(size[region.moving], moved)
    return size


def _largest(scene: Scene, place: int) -> Floats:
    """Bounds of |z| of a group on the region."""
    group, exact = scene.expansion.groups[place], scene.arithmetic.exact
    ends = [(group.value + exact(end[:, None])).magnitude()[:, 0] for end in scene.enclosures.of_forms(group)]
    return np.asarray(np.maximum(*ends), dtype=np.float64)


def _form_errors(forms: Forms, values: list[Floats], errors: list[Floats], made: Format) -> Floats:
    counts, height = np.zeros(len(forms)), len(forms)
    carried, sizes, lost = np.zeros(height), np.abs(forms.bias), np.zeros(height)
    for source, block in forms.blocks:
        spend_doubles(8 * block.shape[0] * block.shape[1], "errors of rounding")
        weights = np.abs(block.dense)
        _check_size(weights, made)
        counts += (weights != 0).sum(axis=1)
        reach = values[source] + errors[source]
        carried += weights @ errors[source]
        sizes = sizes + weights @ reach
        lost += (weights != 0) @ reach
    if counts.max(initial=0.0) > _MOST_TERMS:
        raise Refused(f"arithmetic: a form of more than {_MOST_TERMS} products")
    if not (_OUTWARD * 2 * (sizes + carried) <= made.largest).all():
        raise Unproved("arithmetic: a sum may overflow")
    growth = np.expm1(_OUTWARD * (3 * made.unit + (counts + 2) * made.of_sums))
    found: Floats = carried + growth * sizes + 2 * made.tiny * (lost + 2 * counts + 4)
    return _OUTWARD * found


def _value(stage: Stage, ends: list[Floats], off: list[Floats], made: Format) -> tuple[Floats, Floats]:
    """Bounds of the values of a stage and of their errors, from those of its forms."""
    if isinstance(stage, Product):
        (p, q), (e, f) = ends, off
        both = (p + e) * (q + f)
        _check_size(both, made)
        return _OUTWARD * p * q, _OUTWARD * (p * f + q * e + e * f + made.unit * both + made.tiny)
    (z,), (e,) = ends, off
    rows = [stage.coefficients] if isinstance(stage, Polynomial) else list(stage.pieces)
    if isinstance(stage, Polynomial) and stage.basis != "powers":
        raise Refused(f"arithmetic: a polynomial in the basis {stage.basis}; expected powers")
    if isinstance(stage, Piecewise) and not (stage.agreements.all() and _is_exact(stage.breakpoints, made)):
        raise Refused("arithmetic: a piecewise function that jumps, or whose breakpoints are rounded")
    reach, sizes = z + e, [np.abs(row) for row in rows]
    size = np.maximum.reduce([_sum(row, z) for row in sizes])
    total = np.maximum.reduce([_sum(row, reach) for row in sizes])
    slope = np.maximum.reduce([_sum((row * np.arange(float(len(row))))[1:], reach) for row in sizes])
    most = (1 + max(float(row.sum()) for row in sizes)) * np.maximum(reach, 1.0) ** (len(rows[0]) - 1)
    _check_size(most, made)
    steps = 0 if all(_is_copied(row) for row in rows) else 2 * len(rows[0]) + 1
    rounded = np.expm1(_OUTWARD * steps * made.unit) * total + 2 * steps * made.tiny * most
    return _OUTWARD * size, _OUTWARD * (e * slope + rounded)


def _is_copied(row: Floats) -> bool:
    """Return whether a piece is zero or the argument itself, which nothing rounds."""
    return not row[0] and not row[2:].any() and (len(row) < 2 or row[1] in (0.0, 1.0))


def _sum(row: Floats, places: Floats) -> Floats:
    """Σ c_k places^k."""
    total = np.zeros_like(places)
    for c in row[::-1].tolist():
        total = total * places + c
    return total


def _check_size(values: Floats, made: Format) -> None:
    if not (_OUTWARD * 2 * values <= made.largest).all():
        raise Unproved("arithmetic: a value may overflow")


def _is_exact(numbers: Floats, made: Format) -> bool:
    """Return whether numbers are those of the format, by their bits."""
    mantissas = np.frexp(numbers)[0] / made.unit
    return bool((mantissas == np.round(mantissas)).all())
