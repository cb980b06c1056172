"""Π-nets: polynomial networks that multiply linear maps of the input, layer by layer (Chrysos et al.).

CCP    o₁ = U₁x,            o_k = (U_k x)∘o_{k−1} + o_{k−1},            logits = C o_N + c
NCP    o₁ = (A₁x)∘b₁,       o_k = (A_k x)∘(S_k o_{k−1} + b_k),          logits = C o_N + c
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from polymargin.errors import InputError
from polymargin.networks.layers import finite_array
from polymargin.networks.network import Network
from polymargin.networks.tape.arithmetic import add, multiply
from polymargin.networks.tape.einsum import matmul
from polymargin.networks.tape.fold import fold
from polymargin.networks.tape.operations import OperationTape


def pi_net(
    factors: Sequence[ArrayLike],
    readout: ArrayLike,
    bias: ArrayLike | None = None,
    *,
    mixing: Sequence[ArrayLike] | None = None,
    shifts: Sequence[ArrayLike] | None = None,
) -> Network:
    """Return a Π-net: CCP from the factors U₁, …, U_N of shape (h, inputs) alone, NCP with S₂, …, S_N and b₁, …, b_N.

    >>> net = pi_net([[[1.0, 2.0]], [[3.0, -1.0]]], [[1.0], [0.0]])
    >>> net([1.0, 1.0])                     # o₁ = 3, o₂ = 2·3 + 3
    array([9., 0.])
    """
    maps = [finite_array(U, f"factor {number}", 2) for number, U in enumerate(factors, start=1)]
    if len(maps) < 2 or any(U.shape != maps[0].shape for U in maps):
        raise InputError(
            f"factors of shapes {[U.shape for U in maps]}; expected two or more of the same shape (h, inputs)"
        )
    height, inputs = maps[0].shape
    top = finite_array(readout, "the read-out", 2)
    if top.shape[1] != height:
        raise InputError(f"a read-out of shape {top.shape} behind {height} products; expected (classes, {height})")
    x = OperationTape().input((1, inputs))
    if mixing is None and shifts is None:
        out = matmul(x, maps[0].T)
        for U in maps[1:]:
            out = add(multiply(matmul(x, U.T), out), out)
    else:
        inner = [
            finite_array(S, f"mixing {number}", 2) for number, S in enumerate([] if mixing is None else mixing, start=2)
        ]
        constants = [
            finite_array(b, f"shift {number}", 1) for number, b in enumerate([] if shifts is None else shifts, start=1)
        ]
        if len(inner) != len(maps) - 1 or len(constants) != len(maps):
            raise InputError(
                f"{len(inner)} mixing matrices and {len(constants)} shifts for {len(maps)} factors; expected one matrix for each "
                "factor but the first, and one shift for each"
            )
        if any(S.shape != (height, height) for S in inner) or any(b.shape != (height,) for b in constants):
            raise InputError(f"mixing matrices must have shape ({height}, {height}), shifts ({height},)")
        out = multiply(matmul(x, maps[0].T), constants[0])
        for U, S, b in zip(maps[1:], inner, constants[1:], strict=True):
            out = multiply(matmul(x, U.T), add(matmul(out, S.T), b))
    logits = matmul(out, top.T)
    return fold(logits if bias is None else add(logits, finite_array(bias, "the bias of the read-out", 1)))
