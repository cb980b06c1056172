"""Networks as the checker reads them: stages, or what rules for layers, attention modules and products take."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from polymargin_checker.series import NAMES
from polymargin_checker.stages import Block, Forms, Network, Polynomial, Product, Stage, read_network
from polymargin_checker.views import Form, Matrix, Model, Products, view_of


def read_view(source: Any) -> Any:
    return view_of(read_network(source))


def as_read(network: Any) -> Network:
    """A network of the solver, through a file."""
    file = io.BytesIO()
    network.save(file)
    return read_network(file.getvalue())


def stages_of(model: Model | Products) -> Network:
    """Layers or products as stages."""
    return _of_layers(model) if isinstance(model, Model) else _of_products(model)


def _of_layers(model: Model) -> Network:
    stages: list[Stage] = []
    widths = [model.dimension]
    for weights, bias, coefficients in zip(model.weights[:-1], model.biases[:-1], model.activations, strict=True):
        stages.append(Polynomial(_layer(widths, weights, bias), np.array(coefficients), "powers"))
        widths.append(weights.rows)
    return Network(tuple(stages), _layer(widths, model.weights[-1], model.biases[-1]))


def _layer(widths: Sequence[int], weights: Matrix, bias: Sequence[float]) -> Forms:
    matrix = np.array(weights.values, dtype=np.float64).reshape(weights.rows, weights.columns)
    block = _block(matrix)
    blocks = ((len(widths) - 1, block),) if block.weights.size else ()
    return Forms(tuple(widths), blocks, np.array(bias, dtype=np.float64))


def _of_products(model: Products) -> Network:
    stages: list[Stage] = []
    widths = [model.dimension]
    for stage in model.stages:
        forms = [_forms(widths, form) for form in stage.forms]
        if stage.letter == "P":
            stages.append(Product(forms[0], forms[1]))
        else:
            stages.append(Polynomial(forms[0], np.array(stage.coefficients), NAMES[stage.letter]))
        widths.append(len(stage))
    return Network(tuple(stages), _forms(widths, model.readout))


def _forms(widths: Sequence[int], form: Form) -> Forms:
    matrix = np.zeros((len(form), form.width))
    rows = np.repeat(np.arange(len(form)), np.diff(form.starts))
    matrix[rows, form.columns] = form.weights
    ends = np.cumsum(widths)
    parts = [_block(part) for part in np.split(matrix, ends[:-1], axis=1)]
    blocks = tuple((source, block) for source, block in enumerate(parts) if block.weights.size)
    return Forms(tuple(widths), blocks, np.array(form.bias, dtype=np.float64))


def _block(matrix: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> Block:
    rows, columns = np.nonzero(matrix)
    starts = np.searchsorted(rows, np.arange(len(matrix) + 1)).astype(np.int64)
    return Block((matrix.shape[0], matrix.shape[1]), starts, columns, matrix[rows, columns])
