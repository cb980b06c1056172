"""A network around a centre: every functional is value + linear part + remainders of the steps, exactly.

A step that multiplies or activates forms z = p + t, where p is the value at the centre, has the remainder

    ρ = t_left t_right          or          ρ = σ(p + t) − σ(p) − σ'(p) t.

The rest of the step is linear, so with the adjoints β = ∂B/∂values at the centre

    B(c + δ) = B(c) + ∇B(c)·δ + Σ β_v ρ_v,          t = a·δ + w,          w = Σ M_v ρ_v over earlier steps.

Nothing is lost yet. Ranges of t follow step by step from what the region allows a·δ.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.bounds.minorants import critical_places, horner, taylor
from polymargin.bounds.regions.region import OUTWARD, AllowedRegion
from polymargin.bounds.regions.steps import AffineForm, NetworkSteps

Array = NDArray[np.float64]
Interval = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class FormAround:
    """A form around the centre.

    value     p (h,)
    slopes    a (h, moving)
    linear    range of a·δ
    rest      range of w; None where it is zero
    reached   M by step: what w is made of
    """

    value: Array
    slopes: Array
    linear: Interval
    rest: Interval | None
    reached: dict[int, Any]

    @property
    def range(self) -> Interval:
        """Of t."""
        if self.rest is None:
            return self.linear
        return self.linear[0] + self.rest[0], self.linear[1] + self.rest[1]


@dataclass(frozen=True, eq=False)
class StepAround:
    """A step around the centre: its forms, the derivatives by them, Taylor's coefficients of σ there, the range of ρ."""

    forms: tuple[FormAround, ...]
    derivatives: tuple[Array, ...]
    taylor: Array | None
    remainder: Interval


@dataclass(eq=False)
class RegionExpansion:
    """All steps around the centre, on a region."""

    steps: NetworkSteps
    region: AllowedRegion
    centre: Array
    ranges: list[Array | None] | None = None
    at: list[StepAround] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)
    _slopes: list[Array | None] = field(default_factory=list)
    _reached: list[dict[int, Any]] = field(default_factory=list)
    _rests: int = 0

    @classmethod
    def of(
        cls,
        steps: NetworkSteps,
        region: AllowedRegion,
        centre: Array,
        ranges: list[Array | None] | None = None,
    ) -> RegionExpansion:
        """`ranges` by form that has a rest, as `curvatures.py` finds them, narrow those by intervals."""
        result = cls(steps, region, centre, ranges)
        result.values.append(centre)
        result._slopes.append(None)
        result._reached.append({})
        for step in steps.steps:
            forms = tuple(result._form(form) for form in step.forms)
            new, derivatives = step.parts([form.value for form in forms])
            series = None if step.coefficients is None else taylor(step.coefficients, forms[0].value, np.ones_like(new))
            result.at.append(StepAround(forms, tuple(derivatives), series, result._remainder(forms, series)))
            result.values.append(new)
            parts = [d[:, None] * form.slopes for d, form in zip(derivatives, forms, strict=True)]
            result._slopes.append(np.add.reduce(parts))
            reached: dict[int, Any] = {}
            for slope, form in zip(derivatives, forms, strict=True):
                for source, block in form.reached.items():
                    term = _scaled(block, slope)
                    reached[source] = reached[source] + term if source in reached else term
            result._reached.append(reached)
        return result

    def _form(self, form: AffineForm) -> FormAround:
        moving, region = self.region.moving, self.region
        value, slopes = form.bias.copy(), np.zeros((len(form.bias), len(moving)))
        reached: dict[int, Any] = {}
        for source, operator in form.blocks:
            value = value + operator @ self.values[source]
            if source == 0:
                part = operator[:, moving]
                slopes += part.toarray() if sparse.issparse(part) else part
                continue
            slopes += operator @ self._slopes[source]
            for number, block in [(source, None), *self._reached[source].items()]:
                term = operator if block is None else operator @ block
                reached[number] = reached[number] + term if number in reached else term
        rest = None
        if reached:
            low = high = np.zeros(len(value))
            for number, block in reached.items():
                less, more = _through(block, self.at[number - 1].remainder)
                low, high = low + less, high + more
            rest = self._narrowed(low, high)
        return FormAround(value, slopes, region.support(slopes, self.centre), rest, reached)

    def _narrowed(self, low: Array, high: Array) -> Interval:
        """The range of the next rest, narrowed by what is known of it."""
        number, self._rests = self._rests, self._rests + 1
        ends = None if self.ranges is None else self.ranges[number]
        return (low, high) if ends is None else (np.maximum(low, ends[:, 0]), np.minimum(high, ends[:, 1]))

    def _remainder(self, forms: tuple[FormAround, ...], series: Array | None) -> Interval:
        if series is None:
            return self._product(*forms)
        low, high = forms[0].range
        if series.shape[1] < 3:
            return np.zeros_like(low), np.zeros_like(low)
        remainder = series.copy()
        remainder[:, :2] = 0.0
        return polynomial_range(remainder, low, high)

    def _product(self, left: FormAround, right: FormAround) -> Interval:
        """t_left t_right from the two ranges, and from ¼(αt + t'/α)² − ¼(αt − t'/α)²: both forms see the same δ."""
        corners = np.stack([a * b for a in left.range for b in right.range])
        low, high = corners.min(axis=0), corners.max(axis=0)
        sizes = [np.maximum(np.abs(form.range[0]), np.abs(form.range[1])) for form in (left, right)]
        usable = (sizes[0] > 0) & (sizes[1] > 0)
        alpha = np.where(
            usable, np.sqrt(np.where(usable, sizes[1], 1.0)) / np.sqrt(np.where(usable, sizes[0], 1.0)), 1.0
        )
        squares = []
        for sign in (1.0, -1.0):
            less, more = self.region.support(
                alpha[:, None] * left.slopes + (sign / alpha)[:, None] * right.slopes, self.centre
            )
            for form, factor in ((left, alpha), (right, sign / alpha)):
                if form.rest is not None:
                    ends = np.stack([factor * end for end in form.rest])
                    less, more = less + ends.min(axis=0), more + ends.max(axis=0)
            squares.append(np.maximum(less * less, more * more))
        return np.maximum(low, -squares[1] / 4 * (1 + OUTWARD)), np.minimum(high, squares[0] / 4 * (1 + OUTWARD))

    def functional(self, weights: list[Array], constants: Array) -> tuple[Array, Array, list[Array]]:
        """B(c), ∇B(c) on the moving coordinates and β by step, for functionals with weights (R, ·) on each source."""
        total = constants + sum(w @ v for w, v in zip(weights, self.values, strict=True))
        derivatives = [[d[None] for d in at.derivatives] for at in self.at]
        adjoints = self.steps.adjoints(weights, derivatives)
        return np.asarray(total), adjoints[0][:, self.region.moving], adjoints[1:]


def reaches(region: AllowedRegion, centre: Array) -> tuple[Array, float]:
    """Numbers q > 0 for the moving coordinates, and b, with Σ (δ/q)² ≤ b for all δ = x − centre."""
    moving = region.moving
    if not region.is_box and np.array_equal(centre, region.point):
        return 1 / region.weights, region.radius**2
    ends = np.abs([region.low[moving] - centre[moving], region.high[moving] - centre[moving]])
    return ends.max(axis=0), float(len(moving))


def _scaled(block: Any, factors: Array) -> Any:
    if sparse.issparse(block):
        return sparse.csr_array(sparse.diags_array(factors) @ block)
    return factors[:, None] * block


def _through(block: Any, interval: Interval) -> Interval:
    """The range of block @ ρ."""
    low, high = interval
    middle, half = block @ ((low + high) / 2), abs(block) @ ((high - low) / 2) * (1 + OUTWARD)
    room = OUTWARD * np.abs(middle)
    return middle - half - room, middle + half + room


def polynomial_range(coefficients: Array, low: Array, high: Array) -> Interval:
    """The least and largest values of polynomials (h, d + 1) on their intervals, a little wider than needed."""
    middle, half = (low + high) / 2, (high - low) / 2
    moved = np.zeros_like(coefficients)
    for k in range(coefficients.shape[1]):
        unit = np.zeros(k + 1)
        unit[k] = 1.0
        moved[:, : k + 1] += coefficients[:, k, None] * taylor(unit, middle, half)
    ends = np.ones((len(low), 2)) * [-1.0, 1.0]
    places = ends
    if moved.shape[1] > 2:
        places = np.concatenate([np.clip(np.nan_to_num(critical_places(moved)), -1.0, 1.0), ends], axis=1)
    values = horner(moved, places)
    size = horner(np.abs(coefficients), np.maximum(np.abs(low), np.abs(high))[:, None])[:, 0]
    return values.min(axis=1) - OUTWARD * size, values.max(axis=1) + OUTWARD * size
