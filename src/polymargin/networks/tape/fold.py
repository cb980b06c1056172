"""From a tensor to a network: attention where it is recognised, stages otherwise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.networks.tape.attention import attention
from polymargin.networks.tape.operations import OperationTape, Tensor, Value
from polymargin.networks.tape.program import program


def network_of(compute: Callable[[OperationTape], Value]) -> Network:
    """Return the network of a model that computes its outputs on a tape.

    One attention module on the input itself has fewer critical points than other cubics, so it is looked for first: there the
    product of three matrices is kept as one thing. Where that does not fit, the model is computed again, entry by entry.
    """
    tape = OperationTape(whole_matrices=True)
    try:
        return fold(compute(tape))
    except InputError:
        if not tape.multiplied_matrices:
            raise
    return fold(compute(OperationTape()))


def fold(outputs: Value) -> Network:
    """Return the network whose logits are the entries of a tensor; a single output f becomes the logits (0, f)."""
    if not isinstance(outputs, Tensor):
        raise InputError("the output does not depend on the input")
    if sum(length != 1 for length in outputs.shape) > 1 or not outputs.size:
        raise InputError(f"an output of shape {outputs.shape}; expected one vector of logits for one input")
    tape = outputs.tape
    rows, constants = outputs.realised()
    rows.resize(rows.shape[0], len(tape.levels))
    if outputs.size == 1:
        rows = sparse.vstack([sparse.csr_matrix((1, rows.shape[1])), rows], format="csr")
        constants = np.array([0.0, constants[0]])
    if tape.attention is not None:
        return attention(tape, rows, constants)
    return program(tape, rows, constants)
