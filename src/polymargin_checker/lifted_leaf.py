"""One leaf of a lifted proof: its multipliers, the parabolas below a last activation of higher degree, and the test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import arb_poly, fmpq

from polymargin_checker.document import fields, items
from polymargin_checker.dyadics import ball, number
from polymargin_checker.lifted_combinations import StatedCombinations
from polymargin_checker.lifted_expansion import HiddenLayers, Range, Ranges
from polymargin_checker.lifted_form import Cubic, ExactMultipliers, TopMinorant, form
from polymargin_checker.lifted_ranges import leaf_ranges
from polymargin_checker.refusal import Refused, Unproved
from polymargin_checker.univariate import shortfall


@dataclass(frozen=True)
class BallPart:
    """Ranges of the rests per lifted layer, and of the first-layer neurons that were split, in the order of their splits."""

    rests: Ranges
    first: dict[int, Range]


_KEYS = ("ball", "equalities", "intervals", "cuts", "first", "minorants", "ranges")


def check_leaf(
    expansion: HiddenLayers, leaf: Any, name: str, part: BallPart, combined: StatedCombinations | None = None
) -> None:
    """Prove B > 0 on the part of the ball, or refuse."""
    may = ("cubic",) if len(expansion.layers) > 2 else ()
    fields(leaf, name, _KEYS if combined is None else (*_KEYS, "exchanges"), may)
    multipliers = _multipliers(expansion, leaf, name, part, combined)
    ranges = part.rests
    if leaf["ranges"] is not None:
        ranges = leaf_ranges(expansion, leaf["ranges"], name, part.rests, part.first)
    last = ranges[-1] if ranges else [(fmpq(0), fmpq(0))] * len(expansion.layers[0].value)  # t¹ has no rest
    top = _top(expansion, leaf["minorants"], name, last)
    if combined is not None:
        ranges = (*ranges[:-1], [*ranges[-1], *combined.ranges])
    around = expansion.around
    for frame in around.frames if multipliers.cubic is None else [around.full]:
        found = form(expansion, frame, top, multipliers, ranges, part.first, combined)
        if found is not None and found.positive_definite():
            return
    raise Unproved(f"{name}: the form of the multipliers is not shown to be positive definite")


def _multipliers(
    expansion: HiddenLayers, leaf: Any, name: str, part: BallPart, combined: StatedCombinations | None
) -> ExactMultipliers:
    sizes = [len(layer.value) for layer in expansion.layers[1:]]
    cuts = _numbers(leaf["cuts"], f"{name}, cuts", sizes[0] if sizes else 0)
    exchanges: list[fmpq] = []
    if combined is not None:
        exchanges = _numbers(leaf["exchanges"], f"{name}, exchanges", len(combined.ranges))
        sizes[-1] += len(exchanges)
    equalities, intervals = (_per_layer(leaf[key], f"{name}, {key}", sizes) for key in ("equalities", "intervals"))
    first = _numbers(leaf["first"], f"{name}, first", len(part.first))
    ball_factor = number(leaf["ball"], f"{name}, ball")
    cubic = _cubic(leaf["cubic"], f"{name}, cubic", sizes[0]) if "cubic" in leaf else None
    multipliers = ExactMultipliers(ball_factor, equalities, intervals, cuts, first, exchanges, cubic)
    for what, values in (
        ("ball", [multipliers.ball]),
        ("cuts", cuts),
        ("first", first),
        *(("intervals", layer) for layer in intervals),
    ):
        if any(value < 0 for value in values):
            raise Refused(f"{name}, {what}: a multiplier is negative")
    return multipliers


def _cubic(value: Any, name: str, size: int) -> Cubic:
    fields(value, name, ("weights", "balance"))
    weights, balance = (
        _numbers(value["weights"], f"{name}, weights", size),
        number(value["balance"], f"{name}, balance"),
    )
    if not balance > 0:
        raise Refused(f"{name}, balance: expected a number above 0")
    return Cubic(weights, balance)


def _top(expansion: HiddenLayers, value: Any, name: str, rests: list[Range]) -> TopMinorant:
    """B as a quadratic in the t of the last layer: as it is, or with the stated parabolas, less what is above γσ."""
    layer = expansion.layers[-1]
    if expansion.last.degree() <= 2:
        if value is not None:
            raise Refused(f"{name}, minorants: an activation of degree two needs none")
        return TopMinorant(expansion.output.entrywise(layer.rise), expansion.output.times(layer.bend), expansion.centre)
    rows = [_numbers(row, f"{name}, minorants", 3) for row in items(value, f"{name}, minorants", len(layer.value))]
    reach = [ball(expansion.radius) * norm for norm in expansion.around.lengths[-1]]
    over = fmpq(0)
    for neuron, (row, (low, high)) in enumerate(zip(rows, rests, strict=True)):
        gap = expansion.last(arb_poly([layer.value[neuron], 1])) * expansion.factors[neuron]
        gap -= arb_poly([ball(entry) for entry in reversed(row)])
        ends = ((ball(low) - reach[neuron]).lower(), (ball(high) + reach[neuron]).upper())
        over += shortfall(gap, ends)
    squares, linear, free = zip(*rows, strict=True)
    of, size = expansion.arithmetic.of, len(rows)
    constant = expansion.constant + of(1, 1, [sum(free, -over)])
    return TopMinorant(of(size, 1, list(linear)), of(size, 1, list(squares)), constant)


def _per_layer(value: Any, name: str, sizes: list[int]) -> list[list[fmpq]]:
    return [_numbers(entry, name, size) for entry, size in zip(items(value, name, len(sizes)), sizes, strict=True)]


def _numbers(value: Any, name: str, length: int) -> list[fmpq]:
    return [number(entry, name) for entry in items(value, name, length)]
