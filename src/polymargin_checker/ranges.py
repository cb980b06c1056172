"""Ranges: every pre-activation and every logit lies between stated ends on the region.

The certificate has no label and no rivals. Its lemmas, on the whole region, narrow the intervals of all forms; the read-out is
one more stage, so that logits are forms as well. The claim lists two ends for each form of each stage and of the read-out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polymargin_checker.arrays import doubles, read_point
from polymargin_checker.conditions import distance, perturbations
from polymargin_checker.document import fields, items
from polymargin_checker.dyadics import number
from polymargin_checker.frame import check_frame
from polymargin_checker.neighbourhood import read_neighbourhood
from polymargin_checker.refusal import Refused, Unproved
from polymargin_checker.relaxation.arithmetic import Arithmetic
from polymargin_checker.relaxation.tree import Relaxations, check_shared
from polymargin_checker.stages import Forms, Network, Polynomial
from polymargin_checker.words import rounded_down

_FIELDS = ("format", "model", "point", "neighbourhood", "claim", "ranges")


def is_about_ranges(document: Any) -> bool:
    """Return whether a certificate claims ranges."""
    claim = document.get("claim") if isinstance(document, dict) else None
    return isinstance(claim, dict) and claim.get("kind") == "ranges"


def check_ranges(model: Network, document: dict[str, Any], exact: bool) -> str:
    """Return what is proved in words, or refuse."""
    fields(document, "certificate", _FIELDS, ("created",))
    point = read_point(document["point"], "point", model.dimension).exact
    near = read_neighbourhood(document["neighbourhood"], point, model.class_count)
    if near.frame is not None:
        check_frame(near.frame, exact)
    if near.rivals is not None or near.abstain != 0:
        raise Refused("neighbourhood: ranges know no rivals and no lead")
    fields(document["claim"], "claim", ("kind", "layers"))
    check_shared(document["ranges"])
    scene = Relaxations(with_logits(model), near, point, 0, Arithmetic(exact)).prepared(document["ranges"])
    groups = scene.expansion.groups
    layers = items(document["claim"]["layers"], "claim, layers", len(groups))
    count = 0
    for place, (layer, group) in enumerate(zip(layers, groups, strict=True)):
        name = f"claim, layer {place}"
        fields(layer, name, ("lower", "upper"))
        lower, upper = (doubles(layer[side], f"{name}, {side}", len(group)) for side in ("lower", "upper"))
        exactly = scene.arithmetic.exact
        low, high = (end[:, None] for end in scene.enclosures.of_forms(group))
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise Unproved(f"{name}: a form without bounds")
        least, most = (group.value + exactly(low)).lower()[:, 0], (group.value + exactly(high)).upper()[:, 0]
        if not ((lower <= least) & (most <= upper)).all():
            wrong = int(np.argmax(~((lower <= least) & (most <= upper))))
            raise Unproved(f"{name}: form {wrong} is not shown to lie between the stated ends")
        count += len(group)
    radius = rounded_down(number(document["ranges"]["radius"], "radius"))
    stated = f"{distance(near)} of {radius} ({perturbations(near, model.dimension)})"
    return f"{count} pre-activations and logits stay within their ranges within {stated}"


def with_logits(network: Network) -> Network:
    """Return the network with its read-out as one more stage."""
    readout = network.readout
    last = Polynomial(readout, np.array([0.0, 1.0]), "powers")
    widths = (*readout.widths, len(readout))
    return Network((*network.stages, last), Forms(widths, (), np.zeros(2)))
