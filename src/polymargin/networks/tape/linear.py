"""Linear maps of a tensor's entries, and their matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from polymargin.errors import InputError
from polymargin.networks.readers.npz import LARGEST_WEIGHTS
from polymargin.networks.tape.operations import CONSTANT, Array, Rows, Tensor, checked_size


def linear(tensor: Tensor, columns: ArrayLike, weights: ArrayLike, bias: ArrayLike = 0.0) -> Tensor:
    """Return out[o] = Σ_k weights[o, k] · entry[columns[o, k]] + bias[o]; column -1 is left out. The shape is that of `o`."""
    columns, weights = np.broadcast_arrays(np.asarray(columns, dtype=np.intp), np.asarray(weights, dtype=np.float64))
    shape = columns.shape[:-1]
    count = checked_size(shape)
    tensor.tape.spend(columns.size + tensor.size)
    if not np.isfinite(weights).all():
        raise InputError("a weight that is not finite")
    outputs = np.broadcast_to(np.arange(count).reshape(*shape, 1), columns.shape)
    kept = columns >= 0
    places = (outputs[kept], columns[kept])
    matrix = sparse.csr_matrix((weights[kept], places), shape=(count, tensor.size))
    rows, constants = tensor.realised()
    shifts = matrix @ constants + np.broadcast_to(np.asarray(bias, dtype=np.float64), shape).reshape(-1)
    if not np.isfinite(shifts).all():
        raise InputError("a bias that is not finite")
    tensor.tape.spend(int(np.diff(rows.indptr)[matrix.indices].sum()))
    directions = tensor.tape.directions(matrix @ rows)
    fixed = directions == CONSTANT
    coefficients = np.where(fixed[:, None], np.stack([shifts, 0 * shifts], axis=1), [0.0, 1.0])
    return Tensor(tensor.tape, shape, directions, np.where(fixed, 0.0, shifts), coefficients)


def dense(matrix: Rows) -> Array:
    """Return a sparse matrix as an array, if that is not too large."""
    if matrix.shape[0] * matrix.shape[1] > LARGEST_WEIGHTS:
        inputs, outputs = matrix.shape[1], matrix.shape[0]
        raise InputError(
            f"a layer with {inputs} inputs and {outputs} outputs; at most {LARGEST_WEIGHTS} weights are accepted"
        )
    array = np.asarray(matrix.toarray())
    array.setflags(write=False)  # so that a network can keep it as it is
    return array
