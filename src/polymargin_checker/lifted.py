"""Lifted proofs: B > 0 on the closed ball ‖x − u‖ ≤ r for deep networks of quadratic activations, the last one of any degree.

With x = u + δ every pre-activation is value + linear part + rest, zˡ = pˡ + aˡδ + wˡ, tˡ = aˡδ + wˡ, w¹ = 0 and

    wˡ_i = Σ_j Wˡ_ij (σ'(p_j) w_j + c t_j²)      over layer l − 1, c the coefficient of z² in its activation.

The form that the multipliers of a leaf make of B and of what is known about δ and w is rebuilt from the weights; if it is
positive definite in (1, δ, w), then B > 0 on the leaf (docs/theorems.md, section 9). This file walks the tree of splits;
`lifted_expansion` is the network around u, `lifted_ranges` proves the ranges of w, `lifted_leaf` and `lifted_form` judge a leaf;
`lifted_combinations` are further rests that a proof may name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flint import fmpq

from polymargin_checker.arithmetic import arithmetic_of, judging
from polymargin_checker.document import fields, integer, items
from polymargin_checker.dyadics import number
from polymargin_checker.lifted_combinations import read_combinations
from polymargin_checker.lifted_expansion import HiddenLayers, Surroundings
from polymargin_checker.lifted_leaf import BallPart, check_leaf
from polymargin_checker.lifted_ranges import first_range, root_ranges
from polymargin_checker.lifted_spectra import Known
from polymargin_checker.refusal import Refused
from polymargin_checker.views import Model
from polymargin_checker.work import spend

LARGEST_SPACE = 6000
"""Variables (1, δ, w) at most: the matrix is stored in full, and the test costs their cube."""


def check_lifted(
    model: Model,
    point: Sequence[fmpq],
    label: int,
    rival: int,
    proof: Any,
    known: Known,
    exact: bool = False,
) -> fmpq:
    """Prove B > 0 on the ball and return its radius, or refuse.

    What is proved about the curvatures of the rests, which depend on the model and the point alone, is added to `known` and need
    not be proved again for other rivals.
    """
    fields(proof, "lifted proof", ("kind", "radius", "ranges", "tree"), ("spectra", "combinations"))
    radius = number(proof["radius"], "radius of the lifted proof")
    if radius <= 0:
        raise Refused("the radius of the lifted proof is not positive")
    if model.hidden_layers < 1 or any(len(coefficients) > 3 for coefficients in model.activations[:-1]):
        raise Refused("a lifted proof needs a hidden layer, and activations of degree two at most but for the last")
    if "spectra" in proof and model.hidden_layers < 3:
        raise Refused("a lifted proof has spectra only where there are more than two hidden layers")
    variables = 1 + model.dimension + sum(weights.rows for weights in model.weights[1:-1])
    if variables > LARGEST_SPACE:
        raise Refused(f"a lifted proof in {variables} variables; this checker accepts up to {LARGEST_SPACE}")
    arithmetic = arithmetic_of(variables, exact)
    with judging(arithmetic):
        if not known.around:
            known.around.append((model, Surroundings(model, point, arithmetic)))
        about, around = known.around[0]
        if about is not model:
            raise ValueError("what is known is about another model")  # a mistake of the caller, never one of a file
        expansion = HiddenLayers(model, around, label, rival, radius)
        combined = read_combinations(expansion, proof["combinations"]) if "combinations" in proof else None
        if combined is not None and variables + len(combined.ranges) > LARGEST_SPACE:
            raise Refused(
                f"a lifted proof with {len(combined.ranges)} combinations has more than {LARGEST_SPACE} variables"
            )
        root = BallPart(root_ranges(expansion, proof["ranges"], proof.get("spectra"), known, combined), {})
        waiting: list[tuple[Any, BallPart]] = [(proof["tree"], root)]
        count = 0
        while waiting:
            node, part = waiting.pop()
            if isinstance(node, dict) and "split" in node:
                waiting += _parts(expansion, node, part)
            else:
                check_leaf(expansion, node, f"leaf {count}", part, combined)
                count += 1
    return radius


def _parts(expansion: HiddenLayers, node: Any, part: BallPart) -> list[tuple[Any, BallPart]]:
    """The two sides of a split; the low one is looked at first."""
    fields(node, "a split of the tree", ("split", "low", "high"))
    layer_entry, neuron_entry, value_entry = items(node["split"], "split", 3)
    layer = integer(layer_entry, "split, layer", 1, len(expansion.layers))
    neuron = integer(neuron_entry, "split, neuron", 0, len(expansion.layers[layer - 1].value) - 1)
    value = number(value_entry, "split, value")
    own = part.rests[layer - 2] if layer > 1 else []
    low, high = own[neuron] if layer > 1 else part.first.get(neuron) or first_range(expansion, neuron)
    if not low < value < high:
        raise Refused(f"a split value lies outside the range of neuron {neuron} of layer {layer}")
    spend(len(part.first) + len(own), 0, "the splits of a lifted proof")
    sides = []
    for ends in ((value, high), (low, value)):
        if layer == 1:
            sides.append(replace(part, first={**part.first, neuron: ends}))
        else:
            changed = [*own[:neuron], ends, *own[neuron + 1 :]]
            sides.append(replace(part, rests=(*part.rests[: layer - 2], changed, *part.rests[layer - 1 :])))
    return [(node["high"], sides[0]), (node["low"], sides[1])]
