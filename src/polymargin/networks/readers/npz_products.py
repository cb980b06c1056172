"""Programs of products as .npz files.

    polymargin-products-1    stages            one letter per stage: P product; A activation in powers; C, L, H, E in polynomials
                                               Chebyshev, Legendre, Hermite (physicists') and Hermite (probabilists')
                             sizes             inputs, values of each stage, logits
                             forms_i_starts, forms_i_columns, forms_i_weights, forms_i_bias     i = 1, 2, … in the order of use
                             activation_k      coefficients of stage k, where it is an activation
                             class_names       what the classes are called, if that is known

The forms of a product are the left one, then the right one; the last forms are the read-out. Row j of a form has the weights
from starts[j] to starts[j + 1], for the values in the columns of the same numbers, which rise within the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from polymargin.errors import InputError
from polymargin.networks.forms import Forms
from polymargin.networks.readers.npz import (
    CLASS_NAMES,
    MOST_LAYERS,
    PRODUCTS_FORMAT,
    binary_file,
    expect_format,
    expect_members,
    read_arrays,
)
from polymargin.networks.recurrences import BASES
from polymargin.networks.stages import Polynomial, Product, Stage

LETTERS = {"P": None} | {basis.letter: basis.name for basis in BASES.values()}
PARTS = ("starts", "columns", "weights", "bias")


def write_products(path: Any, stages: Sequence[Stage], readout: Forms, names: Mapping[str, Any]) -> None:
    letters = {basis: letter for letter, basis in LETTERS.items()}
    arrays: dict[str, Any] = {
        "format": np.array(PRODUCTS_FORMAT),
        **names,
        "stages": np.array("".join(letters[getattr(stage, "basis", None)] for stage in stages)),
        "sizes": np.array([readout.width - sum(map(len, stages)), *map(len, stages), len(readout)]),
    }
    every = [forms for stage in stages for forms in stage.forms] + [readout]
    for number, forms in enumerate(every, start=1):
        arrays |= {f"forms_{number}_{part}": array for part, array in flat(forms).items()}
    for number, stage in enumerate(stages, start=1):
        if isinstance(stage, Polynomial):
            arrays[f"activation_{number}"] = np.array(stage.coefficients)
    with binary_file(path) as file:
        np.savez(file, **arrays)


def read_products(path: Any) -> tuple[list[Stage], Forms, Any]:
    """The stages, the read-out, and what stands for names."""
    arrays = read_arrays(path)
    expect_format(path, arrays, PRODUCTS_FORMAT, "a network of products")
    letters = str(arrays.get("stages", ""))
    if not letters or len(letters) > MOST_LAYERS or set(letters) - set(LETTERS):
        raise InputError(f"{path}: stages {letters[:20]!r}; expected one of the letters {', '.join(LETTERS)} per stage")
    count = sum(2 if letter == "P" else 1 for letter in letters) + 1
    members = [f"forms_{number}_{part}" for number in range(1, count + 1) for part in PARTS]
    members += [f"activation_{number}" for number, letter in enumerate(letters, start=1) if letter != "P"]
    expect_members(path, arrays, ["stages", "sizes", *members])
    sizes = [int(size) for size in _whole(arrays["sizes"], f"{path}: sizes").tolist()]
    if len(sizes) != len(letters) + 2 or min(sizes) < 1:
        raise InputError(
            f"{path}: sizes {sizes[:8]}; expected inputs, one size per stage, and the logits, all at least 1"
        )
    try:
        return *_stages(arrays, letters, sizes), arrays.get(CLASS_NAMES)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def flat(forms: Forms) -> dict[str, Any]:
    """The rows over all values so far."""
    matrix = forms.matrix
    parts = (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data, forms.bias)
    return dict(zip(PARTS, parts, strict=True))


def _stages(arrays: dict[str, Any], letters: str, sizes: list[int]) -> tuple[list[Stage], Forms]:
    stages: list[Stage] = []
    widths, used = sizes[:1], 0
    for number, letter in enumerate(letters, start=1):
        forms = [_forms(arrays, used + k, widths, sizes[number]) for k in range(1, 3 if letter == "P" else 2)]
        used += len(forms)
        if letter == "P":
            stages.append(Product(*forms))
        else:
            row = _numbers(arrays[f"activation_{number}"], f"activation_{number}")
            stages.append(Polynomial(forms[0], tuple(row.tolist()), str(LETTERS[letter])))
        widths = [*widths, sizes[number]]
    return stages, _forms(arrays, used + 1, widths, sizes[-1])


def _forms(arrays: dict[str, Any], number: int, widths: list[int], rows: int) -> Forms:
    name, width = f"forms_{number}", sum(widths)
    starts, columns = (_whole(arrays[f"{name}_{part}"], f"{name}_{part}") for part in PARTS[:2])
    weights, bias = (_numbers(arrays[f"{name}_{part}"], f"{name}_{part}") for part in PARTS[2:])
    if bias.shape != (rows,) or starts.shape != (rows + 1,) or columns.shape != weights.shape:
        raise InputError(
            f"{name}: {rows} rows with {len(starts)} starts, {len(bias)} biases; one start more is expected"
        )
    if starts[0] != 0 or starts[-1] != len(weights) or np.any(np.diff(starts) < 0):
        raise InputError(f"{name}: starts must rise from 0 to the number of weights, {len(weights)}")
    within = np.ones(len(columns), dtype=bool)
    within[starts[:-1][starts[:-1] < len(columns)]] = False
    rising = np.diff(columns, prepend=-1) > 0
    if np.any((columns < 0) | (columns >= width)) or not np.all(rising | ~within):
        raise InputError(f"{name}: columns must rise within a row and lie between 0 and {width - 1}")
    if np.any(weights == 0.0):
        raise InputError(f"{name}: a weight is zero; zeros are left out")
    return Forms.of(sparse.csr_array((weights, columns, starts), shape=(rows, width)), bias, widths)


def _whole(array: Any, name: str) -> Any:
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(f"{name} has shape {array.shape} of {array.dtype}; expected whole numbers in one row")
    return array.astype(np.int64)


def _numbers(array: Any, name: str) -> Any:
    if array.ndim != 1 or array.dtype.kind != "f":
        raise InputError(f"{name} has shape {array.shape} of {array.dtype}; expected numbers in one row")
    values = array.astype(np.float64)
    if not np.isfinite(values).all():
        raise InputError(f"{name} contains a number that is not finite")
    return values
