"""`ranges`: enclosures of all pre-activations and logits over a set of inputs, proved, with extremes found by search."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin import __version__
from polymargin.arguments import checked
from polymargin.deadlines import Deadline
from polymargin.margins.certificate import FORMAT, Certificate, in_base64, neighbourhood
from polymargin.margins.judge import Judge
from polymargin.networks.network import Network
from polymargin.networks.noisy import layer_names
from polymargin.regions import Region, ThreatModel
from polymargin.regions.norms import Norm
from polymargin.relaxation.constraints.encoding import number
from polymargin.standing import Standing
from polymargin.value_ranges.domain import InputSet, input_set
from polymargin.value_ranges.results import LayerRanges, Ranges
from polymargin.value_ranges.search import FoundRange, RangeSearch

Array = NDArray[np.float64]

SOLVING = 0.7
"""Share of the time for bounds; the checker gets what is left."""
INWARD = 1e-12


@checked(Network)
def ranges(
    model: Network,
    points: ArrayLike | None = None,
    *,
    domain: Any = None,
    radius: float | None = None,
    within: Region | None = None,
    timeout: float | None = 60.0,
    seed: int = 0,
) -> Ranges:
    """Return the proved ranges of every pre-activation and logit over a set of inputs.

    domain    (low, high), numbers or one for each input: a box; points given beside it are shown as observed
    radius    with one point: all inputs that `within` (L2() if None) allows within the radius
    points    without domain and radius: their bounding box

    Every end is proved, and the checker has accepted the proof if the standing is CERTIFIED. With more time ends become narrower.

    >>> import polymargin as pm
    >>> net = pm.PolynomialNetwork([[[1.0, 1.0], [1.0, -1.0]], [[1.0, 1.0], [1.0, 0.0]]], degree=2)
    >>> found = ranges(net, domain=(0, 1))
    >>> found.standing.name, bool(found.stays_within(0, -1.5, 2.5)), found.stays_within(0, 0, 1).answer
    ('CERTIFIED', True, False)
    """
    started = perf_counter()
    deadline = Deadline.after(timeout)
    inputs = input_set(model.dimension, points, domain, radius, within)
    search = RangeSearch(model, inputs.point, inputs.near, deadline.part(SOLVING), seed)
    found = search.run()
    document, judge = _certificate(model, search, found, inputs, seed), Judge(model)
    judgement = judge.on_ranges(document, deadline.left)
    if not judgement.accepted:
        # What needs no programs is checked in little time.
        search = RangeSearch(model, inputs.point, inputs.near, Deadline.after(0.0), seed)
        found = [_with_ends(one, plain) for one, plain in zip(found, search.run(), strict=True)]
        document = _certificate(model, search, found, inputs, seed)
        judgement, note = judge.on_ranges(document), judgement.reason
    else:
        note = ""
    layers = _layers(model, search, found, inputs)
    standing = Standing.CERTIFIED if judgement.accepted else Standing.NUMERICAL
    accepted = document if judgement.accepted else None
    return Ranges(layers, standing, accepted, inputs.words, perf_counter() - started, note)


def _with_ends(found: FoundRange, plain: FoundRange) -> FoundRange:
    return replace(found, lower=plain.lower, upper=plain.upper)


def _layers(model: Network, search: RangeSearch, found: list[FoundRange], inputs: InputSet) -> list[LayerRanges]:
    names = layer_names(model)
    values = None if inputs.data is None else model.values(inputs.data)
    layers: list[LayerRanges] = []
    for number_, stage in enumerate(search.stages):
        for forms in stage.forms:
            one, name = found[len(layers)], names[len(layers)]
            seen = None if values is None else forms(values[: number_ + 1])
            lowest, highest = (_inside(inputs, places) for places in (one.lowest, one.highest))
            layers.append(
                LayerRanges(
                    name=name,
                    lower=one.lower,
                    upper=one.upper,
                    found_lower=one.found_lower,
                    found_upper=one.found_upper,
                    lowest=lowest,
                    highest=highest,
                    observed=None if seen is None else np.array([seen.min(axis=0), seen.max(axis=0)]),
                    stages=search.stages[:number_],
                    forms=forms,
                )
            )
    return layers


def _inside(inputs: InputSet, places: Array) -> Array:
    """Return the places as inputs of the set without doubt: in the domain, and a little inward if rounding put them outside."""
    clipped = np.asarray(inputs.region.clipped(places))
    return np.stack([place if _is_inside(inputs, place) else _inward(inputs, place) for place in clipped])


def _inward(inputs: InputSet, place: Array) -> Array:
    return np.asarray(inputs.region.clipped(inputs.point + (1 - INWARD) * (place - inputs.point)))


def _is_inside(inputs: InputSet, place: Array) -> bool:
    """Return whether a place is within the radius, in exact arithmetic where lengths have weights or none."""
    region = inputs.region
    if region.is_skew:
        return region.distance(place, inputs.point) <= inputs.radius * (1 - INWARD)
    weights = np.ones(len(place)) if region.weights is None else region.weights
    rows = zip(place.tolist(), inputs.point.tolist(), weights.tolist(), strict=True)
    steps = [abs(Fraction(x) - Fraction(u)) * Fraction(w) for x, u, w in rows]
    radius = Fraction(inputs.radius)
    if region.norm is Norm.LINF:
        return max(steps) <= radius
    if region.norm is Norm.L1:
        return sum(steps) <= radius
    return sum(step * step for step in steps) <= radius * radius


def _certificate(
    model: Network, search: RangeSearch, found: list[FoundRange], inputs: InputSet, seed: int
) -> Certificate:
    decided = [[stage, in_base64(pieces, "|i1")] for stage, pieces in search.decided.items()]
    layers = [{"lower": in_base64(one.lower), "upper": in_base64(one.upper)} for one in found]
    return Certificate(
        {
            "format": FORMAT,
            "created": {"version": __version__, "seed": seed},
            "model": {"sha256": model.fingerprint},
            "point": in_base64(inputs.point),
            "neighbourhood": neighbourhood(ThreatModel(inputs.region, None)),
            "claim": {"kind": "ranges", "layers": layers},
            "ranges": {
                "radius": number(inputs.radius),
                "coordinates": search.coordinates.entry,
                "ellipsoid": search.shape.to_entry(),
                "decided": decided,
                "lemmas": search.lemmas,
            },
        }
    )
