"""Layers and programs of products as networks of stages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polymargin_checker.attention import Attention
from polymargin_checker.model import Matrix, Model
from polymargin_checker.products import Form, Products
from polymargin_checker.series import NAMES
from polymargin_checker.stages import Block, Forms, Network, Polynomial, Product, Stage


def stages_of(model: Model | Attention | Products | Network) -> Network | None:
    """Return the same logits as stages; None for attention modules."""
    if isinstance(model, Network):
        return model
    if isinstance(model, Model):
        return _of_layers(model)
    return _of_products(model) if isinstance(model, Products) else None


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
