"""Products of three matrices that depend on the input: attention without softmax.

On a tape that keeps matrices whole, a product of two such matrices waits for a third (`MatrixProduct`). The product of three is a
tensor again, whose entries are atoms of a kind of their own: they can be rearranged and mixed by an affine read-out, and
`attention` turns them into lightning attention, if the three matrices are values, keys and queries of the same tokens,
without biases. Nothing may come before or after; whatever is not of this kind is computed on another tape, entry by entry.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from polymargin.errors import InputError
from polymargin.networks.attention import LightningAttention
from polymargin.networks.network import Network
from polymargin.networks.tape.linear import dense
from polymargin.networks.tape.operations import Array, OperationTape, Rows, Tensor, Value


@dataclass(frozen=True, eq=False)
class MatrixProduct:
    """left @ right of two matrices of affine entries, to be multiplied by a third."""

    left: Tensor
    right: Tensor
    shape: tuple[int, ...]

    def scaled(self, factor: ArrayLike) -> MatrixProduct:
        """Return the product times a number."""
        number = np.asarray(factor, dtype=np.float64)
        if number.size != 1 or not np.isfinite(number).all():
            raise InputError("the scores of attention can be scaled by one number only")
        scaled = self.left.with_coefficients(self.left.coefficients * float(number.reshape(-1)[0]))
        return MatrixProduct(scaled, self.right, self.shape)


def product(left: Value, right: Value) -> Value:
    """Return left @ right if both depend on the input: two tensors, or a product of two and a tensor."""
    first, second = _lengths(left), _lengths(right)
    if first[1] != second[0]:
        raise InputError(f"matrices of shapes {left.shape} and {right.shape} cannot be multiplied")
    shape = (*[1] * (max(len(left.shape), len(right.shape)) - 2), first[0], second[1])
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return MatrixProduct(left, right, shape)
    if isinstance(left, MatrixProduct) and isinstance(right, Tensor):
        return left.left.tape.attention_of((left.left, left.right, right), shape)
    if isinstance(left, Tensor) and isinstance(right, MatrixProduct):
        return left.tape.attention_of((left, right.left, right.right), shape)
    raise InputError("a product of more than three matrices that depend on the input is not read")


def _lengths(value: Value) -> tuple[int, int]:
    if len(value.shape) < 2 or any(length != 1 for length in value.shape[:-2]):
        raise InputError(
            f"a product with a tensor of shape {value.shape}; expected one matrix that depends on the input"
        )
    if isinstance(value, Tensor) and not value.affine:
        raise InputError("a product of matrices that are not affine in the input is not read")
    return int(value.shape[-2]), int(value.shape[-1])


def attention(tape: OperationTape, rows: Rows, constants: Array) -> Network:
    """Return the module whose logits are rows @ atoms + constants, where the atoms are the product of three matrices."""
    entries, factors = tape.attention_atoms, tape.attention
    if factors is None or any(column not in entries for column in np.unique(rows.indices).tolist()):
        raise InputError(
            "attention beside other layers is not read; expected attention and a linear read-out, nothing else"
        )
    readout = dense(rows[:, entries.start : entries.stop])
    turned = readout.reshape(len(readout), factors[0].shape[-2], factors[2].shape[-1]).swapaxes(1, 2)
    orders = (
        # (t × a)(a × t)(t × d'): queries, keys, values; or (d' × t)(t × a)(a × t): values, keys, queries.
        (factors[2], _turned(factors[1]), factors[0], readout),
        (_turned(factors[0]), factors[1], _turned(factors[2]), turned),
    )
    for values, keys, queries, weights in orders:
        blocks = [_token_matrix(part, tape.input_count) for part in (values, keys, queries)]
        if all(block is not None for block in blocks):
            value, key, query = (np.asarray(block) for block in blocks)
            return LightningAttention(value, key.T, query.T, weights.reshape(len(readout), -1), constants)
    raise InputError(
        "a product of three matrices that is not attention: values, keys and queries must be the same linear maps, without "
        "biases, of every token, and the tokens must be the rows of the input"
    )


def _turned(tensor: Tensor) -> Tensor:
    return tensor.take(np.swapaxes(tensor.numbers, -1, -2))


def _token_matrix(tensor: Tensor, inputs: int) -> Array | None:
    """Return M with entries (τ, i) = Σ_j M_ij x_τj for every token τ; None if the tensor is not of that form."""
    tokens, width = int(tensor.shape[-2]), int(tensor.shape[-1])
    rows, constants = tensor.realised()
    if np.any(constants) or inputs % tokens or np.any(rows.indices >= inputs):
        return None
    blocks = dense(rows[:, :inputs]).reshape(tokens, width, tokens, inputs // tokens)
    matrix = np.asarray(blocks[0, :, 0])
    expected = np.zeros_like(blocks)
    expected[np.arange(tokens), :, np.arange(tokens)] = matrix
    return matrix if np.array_equal(blocks, expected) else None
