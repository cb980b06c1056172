"""Two networks over one input as one list of stages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.forms import Forms, dense
from polymargin.networks.network import Network
from polymargin.networks.stages import Polynomial, with_forms


def difference(first: Network, second: Network) -> Network:
    """Return the network of f − g: the stages of f, then those of g, and the differences of logits.

    >>> import polymargin as pm
    >>> f, g = (pm.PolynomialNetwork([[[1.0, a]], [[1.0], [2.0]]], degree=2) for a in (1.0, 2.0))
    >>> difference(f, g)([1.0, 1.0])
    array([ -5., -10.])
    """
    if first.dimension != second.dimension or first.class_count != second.class_count:
        sizes = [f"{net.dimension} inputs and {net.class_count} classes" for net in (first, second)]
        raise InputError(f"networks of {sizes[0]} and of {sizes[1]}; expected the same inputs and classes")
    count = len(first.stages)
    widths = first.readout.widths
    stages = list(first.stages)
    for stage in second.stages:
        stages.append(with_forms(stage, [_moved(forms, widths, count) for forms in stage.forms]))
        widths = (*widths, len(stage))
    blocks = {source: dense(block) for source, block in first.readout.blocks}
    blocks |= {source + count: -dense(block) for source, block in second.readout.blocks if source}
    if second.readout.bias.any() or second.readout.block(0).any():
        # Numbers of one read-out are not taken off those of the other, which would be rounded.
        affine = Forms(widths, ((0, second.readout.block(0)),), second.readout.bias)
        stages.append(Polynomial(affine, (0.0, 1.0)))
        blocks[len(stages)] = -np.eye(len(affine))
        widths = (*widths, len(affine))
    return Network(stages, Forms(widths, tuple(sorted(blocks.items())), first.readout.bias))


def _moved(forms: Forms, widths: Sequence[int], count: int) -> Forms:
    """Return the forms of the inputs and of the second network's values, behind those of the first."""
    blocks = tuple((source + count if source else 0, block) for source, block in forms.blocks)
    return Forms(tuple(widths), blocks, forms.bias)
