"""Ranges of the rests wˡ on the ball ‖δ‖ ≤ r, stated by a lifted proof and proved here.

w² has a curvature per neuron, w²_i = δᵀQ_iδ with Q_i = c W¹ᵀ diag(W²_i) W¹: lo ≤ w²_i ≤ hi for lo < 0 < hi if Q_i − lo/r² and
hi/r² − Q_i are positive definite. Deeper rests, and those of leaves with splits of the first layer, are bounded by interval
arithmetic on wˡ_i = Σ_j Wˡ_ij (σ'(p_j) w_j + c t_j²), the sum over layer l − 1, with |t − w| ≤ r‖a_j‖; deeper rests on the whole
ball by their curvatures too (`lifted_spectra`).
"""

from __future__ import annotations

from typing import Any

from flint import arb, arb_mat, ctx, fmpq

from polymargin_checker.document import items
from polymargin_checker.dyadics import ball, number
from polymargin_checker.lifted_combinations import StatedCombinations
from polymargin_checker.lifted_curvatures import LOWER, UPPER
from polymargin_checker.lifted_expansion import HiddenLayers, Range, Ranges, Surroundings, rational_above
from polymargin_checker.lifted_spectra import Known, ProvedSpectra
from polymargin_checker.refusal import Refused, Unproved
from polymargin_checker.work import spend

_TOUCHED = 128
"""Products that a weight counts for when it is read into interval arithmetic."""

Ends = list[tuple[arb, arb]]
"""Per neuron: what its rest does not leave."""


def root_ranges(
    expansion: HiddenLayers, value: Any, spectra: Any, known: Known, combined: StatedCombinations | None = None
) -> Ranges:
    """The stated ranges of the rests on the whole ball, proved layer by layer, and those of combinations of the last ones."""
    entries = items(value, "ranges", len(expansion.layers) - 1)
    ranges = [_read(expansion, entry, k + 2) for k, entry in enumerate(entries)]
    if ranges:
        _check_curvatures(expansion, ranges[0], known)
    curved = None if spectra is None else ProvedSpectra(expansion, spectra, known)
    for layer in range(3, len(expansion.layers) + 1):
        own, below = ranges[layer - 2], ranges[layer - 3]
        ends = _open_ends(own, _intervals(expansion, layer, {}, below), None)
        if curved is not None:
            curved.prove(layer, own, below, ends)
        else:
            _refuse(layer, ends)
    if combined is not None:
        _check_combined(expansion, combined, ranges, curved)
    return tuple(ranges)


def leaf_ranges(expansion: HiddenLayers, value: Any, name: str, known: Ranges, first: dict[int, Range]) -> Ranges:
    """Narrower ranges of one leaf, each end of which is a known one or follows from those of the layer below."""
    entries = items(value, f"{name}, ranges", len(expansion.layers) - 1)
    ranges: list[list[Range]] = []
    for k, entry in enumerate(entries):
        ranges.append(_read(expansion, entry, k + 2))
        intervals = _intervals(expansion, k + 2, first, ranges[k - 1] if k else [])
        _refuse(k + 2, _open_ends(ranges[k], intervals, known[k]))
    return tuple(ranges)


def first_range(expansion: HiddenLayers, neuron: int) -> Range:
    """|t¹| ≤ r‖w‖, rounded outward."""
    row = expansion.layers[0].source.row(neuron)
    spend(_TOUCHED * len(row), ctx.prec, "the splits of a lifted proof")
    end = rational_above(ball(expansion.radius) * sum((arb(w) * arb(w) for w in row), arb(0)).sqrt())
    return -end, end


def _read(expansion: HiddenLayers, value: Any, layer: int) -> list[Range]:
    result = []
    for neuron, entry in enumerate(items(value, f"ranges of layer {layer}", len(expansion.layers[layer - 1].value))):
        where = f"ranges of layer {layer}, neuron {neuron}"
        low, high = (number(end, where) for end in items(entry, where, 2))
        if not low < high:
            raise Refused(f"{where}: the range is empty")
        result.append((low, high))
    return result


def _check_curvatures(expansion: HiddenLayers, ranges: list[Range], known: Known) -> None:
    square = expansion.radius * expansion.radius
    proved: set[tuple[bytes, int, fmpq]] = set()  # convolutions repeat themselves
    for neuron, (low, high) in enumerate(ranges):
        open_sides: list[tuple[str, int, fmpq]] = []
        for side, sign, shift in ((LOWER, 1, -low / square), (UPPER, -1, high / square)):
            if (neuron, side) in known.curvatures and shift >= known.curvatures[neuron, side]:
                continue
            if shift <= 0:
                raise Refused(f"ranges of layer 2, neuron {neuron}: the {side} end is not proved")
            # A little more is proved than is claimed, so that the same range at another radius needs no proof.
            open_sides.append((side, sign, shift * (1 - fmpq(1, 1 << 40))))
        missing = dominated(expansion.around, neuron, [(sign, shift) for _, sign, shift in open_sides], proved)
        for side, sign, shift in open_sides:
            if (sign, shift) in missing:
                raise Unproved(f"ranges of layer 2, neuron {neuron}: the {side} end is not proved")
            known.curvatures[neuron, side] = shift


def dominated(
    around: Surroundings, neuron: int, claims: list[tuple[int, fmpq]], proved: set[tuple[bytes, int, fmpq]]
) -> list[tuple[int, fmpq]]:
    """Those of the claims (sign, shift) of which it is not shown that shift + sign·Q_i is positive definite."""
    missing = claims
    if claims and around.layers[0].source.rows < around.dimension:
        frame, row = around.small, around.row_of_second(neuron)
        curvature = frame.slopes[0].form(row)
        missing = [
            (sign, shift)
            for sign, shift in missing
            if not curvature.shifted(shift, frame.metric, sign).positive_definite()
        ]
    if missing:
        seen = around.curvature(neuron)
        if seen is None:
            return []
        missing = [(sign, shift) for sign, shift in missing if not _shown(seen, sign, shift, proved)]
    return missing


def _check_combined(
    expansion: HiddenLayers, combined: StatedCombinations, ranges: list[list[Range]], curved: ProvedSpectra | None
) -> None:
    """The ranges of combinations, by their curvatures. What is proved of them is kept nowhere."""
    if len(expansion.layers) > 2:
        if curved is None:
            raise Refused("combinations beyond the second layer need spectra")
        curved.prove_combined(combined, ranges[-2])
        return
    around, square = expansion.around, expansion.radius * expansion.radius
    rows = combined.neurons.times(around.layers[0].bend)
    for place, (low, high) in enumerate(combined.ranges):
        forms = [(frame.slopes[0].form(rows.row(place)), frame.metric) for frame in around.frames]
        for side, sign, shift in ((LOWER, 1, -low / square), (UPPER, -1, high / square)):
            if shift <= 0 or not any(form.shifted(shift, metric, sign).positive_definite() for form, metric in forms):
                raise Unproved(f"combinations, ranges, entry {place}: the {side} end is not proved")


def _shown(curvature: Any, sign: int, shift: fmpq, proved: set[tuple[bytes, int, fmpq]]) -> bool:
    key = curvature.key()
    if key is not None and (key, sign, shift) in proved:
        return True
    found = bool(curvature.shifted(shift, None, sign).positive_definite())
    if found and key is not None:
        proved.add((key, sign, shift))
    return found


def _intervals(expansion: HiddenLayers, layer: int, first: dict[int, Range], below: list[Range]) -> Ends:
    """Interval arithmetic for the rests of a layer, from the ranges of the layer below."""
    under, own = expansion.layers[layer - 2], expansion.layers[layer - 1]
    reach = [ball(expansion.radius) * norm for norm in expansion.around.lengths[layer - 2]]
    rests = [(ball(low), ball(high)) for low, high in below] or [(arb(0), arb(0))] * len(reach)
    rise, bend = under.rise.entries(), ball(under.bend)
    lows: list[arb] = []
    highs: list[arb] = []
    for k, (length, (low, high)) in enumerate(zip(reach, rests, strict=True)):
        start, end = low - length, high + length
        if layer == 2 and k in first:
            start, end = (ball(value) for value in first[k])
        parts = [_times(rise[k], (low, high)), _times(bend, _square(start, end))]
        lows.append(sum((part[0] for part in parts), arb(0)))
        highs.append(sum((part[1] for part in parts), arb(0)))
    weights = own.source
    spend(_TOUCHED * weights.rows * weights.columns, ctx.prec, f"the intervals of layer {layer} of a lifted proof")
    positive = arb_mat(weights.rows, weights.columns, [arb(max(w, 0)) for w in weights.values])
    negative = arb_mat(weights.rows, weights.columns, [arb(min(w, 0)) for w in weights.values])
    low_column, high_column = (arb_mat(len(ends), 1, ends) for ends in (lows, highs))
    least = (positive * low_column + negative * high_column).entries()
    most = (positive * high_column + negative * low_column).entries()
    return list(zip(least, most, strict=True))


def _open_ends(ranges: list[Range], ends: Ends, known: list[Range] | None) -> list[tuple[int, str]]:
    """Neuron and side of each stated end that is neither one of the known range nor follows from the ends given."""
    result = []
    for neuron, ((low, high), (least, most)) in enumerate(zip(ranges, ends, strict=True)):
        if not ((known is not None and low <= known[neuron][0]) or ball(low) <= least):
            result.append((neuron, LOWER))
        if not ((known is not None and high >= known[neuron][1]) or ball(high) >= most):
            result.append((neuron, UPPER))
    return result


def _refuse(layer: int, ends: list[tuple[int, str]]) -> None:
    if ends:
        neuron, side = ends[0]
        raise Unproved(f"ranges of layer {layer}, neuron {neuron}: interval arithmetic does not prove the {side} end")


def _times(factor: arb, ends: tuple[arb, arb]) -> tuple[arb, arb]:
    """Ends of the factor times what lies between two others. (One ball that holds an interval has a radius of 30 bits.)"""
    one, other = factor * ends[0], factor * ends[1]
    return one.min(other), one.max(other)


def _square(low: arb, high: arb) -> tuple[arb, arb]:
    """Ends of t² for t from low to high."""
    one, other = low * low, high * high
    return (one.min(other) if low > 0 or high < 0 else arb(0)), one.max(other)
