"""A network with noise at some of its layers: the same network over more inputs, v⁰ = (x, e), with e added to the forms.

Layers are numbered as `ranges` lists them: the forms of each operand of each stage in their order, from 0, the logits last.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import Polynomial, with_forms


def layers_of(network: Network) -> list[Forms]:
    """Return the forms of all layers, the logits last."""
    return [*(forms for stage in network.stages for forms in stage.forms), network.readout]


def layer_names(network: Network) -> list[str]:
    """Return a name for each layer; a product has two layers under one name."""
    names = network.layer_names or [*(f"layer {k}" for k in range(len(network.stages))), "logits"]
    counts = [*(len(stage.forms) for stage in network.stages), 1]
    return [name + ("", " (right)")[part] for name, parts in zip(names, counts, strict=True) for part in range(parts)]


def layer_number(network: Network, layer: object) -> int:
    """Return the number of a layer that is given by its name or its number."""
    names = layer_names(network)
    if isinstance(layer, str):
        if layer not in names:
            raise InputError(f"layer {layer!r}: expected one of {', '.join(names)}")
        return names.index(layer)
    if isinstance(layer, bool) or not isinstance(layer, (int, np.integer)) or not -len(names) <= layer < len(names):
        raise InputError(f"layer {layer!r}: expected a number from 0 to {len(names) - 1}, or a name")
    return int(layer) % len(names)


def with_noise(network: Network, layers: Sequence[int]) -> Network:
    """Return f(x, e): e_i is added to form i of the given layers, one layer after the other.

    >>> import polymargin as pm
    >>> net = pm.PolynomialNetwork([[[1.0, 2.0]], [[1.0], [3.0]]], degree=2)
    >>> with_noise(net, [0, 1])([1.0, 1.0, 0.5, 0.0, -0.25])
    array([12.25, 36.5 ])
    """
    inputs, forms = network.dimension, layers_of(network)
    places, end = dict[int, int](), inputs
    for layer in sorted(layers):
        places[layer] = end
        end += len(forms[layer])
    numbers = count()

    def widened(own: Forms) -> Forms:
        matrix, number = np.zeros((len(own), end)), next(numbers)
        matrix[:, :inputs] = own.block(0)
        if number in places:
            each = np.arange(len(own))
            matrix[each, places[number] + each] = 1.0
        later = [(source, block) for source, block in own.blocks if source]
        return Forms((end, *own.widths[1:]), ((0, matrix), *later), own.bias)

    stages = [with_forms(stage, [widened(own) for own in stage.forms]) for stage in network.stages]
    return Network(stages, widened(network.readout))


def with_logits(network: Network) -> Network:
    """Return the network whose last stage are the logits, so that they are forms of a layer like others."""
    last = Polynomial(network.readout, (0.0, 1.0))
    widths = (*network.readout.widths, len(network.readout))
    return Network([*network.stages, last], Forms(widths, (), np.zeros(2)))
