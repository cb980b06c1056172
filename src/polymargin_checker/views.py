"""A network of stages as what rules for layers, attention modules and programs of products take."""

from __future__ import annotations

from array import array
from typing import TypeAlias

import numpy as np

from polymargin_checker.attention import Attention
from polymargin_checker.model import Matrix, Model
from polymargin_checker.products import Form, Products
from polymargin_checker.products import Stage as ProductStage
from polymargin_checker.series import LETTERS
from polymargin_checker.stages import Block, Floats, Forms, Network, Polynomial, Product

View: TypeAlias = Model | Attention | Products


def view_of(network: Network) -> View | None:
    """Layers if every form sees the stage before it alone, an attention module if it has its stages, products otherwise."""
    if not network.is_polynomial:
        return None
    return _layers(network) or _attention(network) or _products(network)


def _layers(network: Network) -> Model | None:
    forms = [*(stage.forms[0] for stage in network.stages), network.readout]
    for place, (stage, form) in enumerate(zip((*network.stages, None), forms, strict=True)):
        if stage is not None and not (isinstance(stage, Polynomial) and stage.basis == "powers"):
            return None
        if any(source != place for source, _ in form.blocks):
            return None
    weights = tuple(_matrix(_dense(form, place)) for place, form in enumerate(forms))
    coefficients = tuple(tuple(stage.coefficients.tolist()) for stage in network.stages)  # type: ignore[union-attr]
    return Model(weights, tuple(array("d", form.bias.tolist()) for form in forms), coefficients)


def _matrix(matrix: Floats) -> Matrix:
    return Matrix(matrix.shape[0], matrix.shape[1], array("d", matrix.ravel().tolist()))


def _dense(forms: Forms, source: int) -> Floats:
    """The block of a source, zeros if there is none."""
    for own, block in forms.blocks:
        if own == source:
            return block.dense
    empty = np.zeros(0, dtype=np.int64)
    shape = len(forms), forms.widths[source]
    return Block(shape, np.zeros(shape[0] + 1, dtype=np.int64), empty, np.zeros(0)).dense


def _products(network: Network) -> Products:
    stages = tuple(
        ProductStage("P", tuple(map(_form, stage.forms)), ())
        if isinstance(stage, Product)
        else ProductStage(LETTERS[stage.basis], (_form(stage.form),), tuple(stage.coefficients.tolist()))  # type: ignore[union-attr]
        for stage in network.stages
    )
    return Products(network.dimension, stages, _form(network.readout))


def _form(forms: Forms) -> Form:
    """Columns are counted through all sources."""
    starts = np.cumsum([0, *forms.widths])
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *(block.rows for _, block in forms.blocks)])
    parts = [block.columns + starts[source] for source, block in forms.blocks]
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
    weights = np.concatenate([np.zeros(0), *(block.weights for _, block in forms.blocks)])
    order = np.lexsort((columns, rows))
    first = np.searchsorted(rows[order], np.arange(len(forms) + 1))
    return Form(int(starts[-1]), first.tolist(), columns[order].tolist(), weights[order].tolist(), forms.bias.tolist())


def _attention(network: Network) -> Attention | None:
    """φ_iτ = Σ_j (Σ_σ v_σi k_σj) q_τj, if the stages are exactly these."""
    if [stage.kind for stage in network.stages] != ["product", "product"]:
        return None
    first, second = network.stages
    assert isinstance(first, Product)
    assert isinstance(second, Product)
    used = [{source for source, _ in forms.blocks} for forms in (*first.forms, *second.forms, network.readout)]
    if not all(own <= allowed for own, allowed in zip(used, ({0}, {0}, {1}, {0}, {2}), strict=True)):
        return None
    if any(forms.bias.any() for stage in (first, second) for forms in stage.forms):
        return None
    values, keys, queries = _dense(first.left, 0), _dense(first.right, 0), _dense(second.right, 0)
    sums, readout = _dense(second.left, 1), _dense(network.readout, 2)
    tokens = int(np.count_nonzero(sums[0]))
    if not tokens or any(size % tokens for size in (*values.shape, len(sums))) or len(values) != len(sums):
        return None
    pairs, width = len(values) // tokens, values.shape[1] // tokens
    each = np.eye(tokens)
    value, key, query = (matrix[:pairs, :width] for matrix in (values, keys, queries))
    if not np.array_equal(sums, np.tile(np.eye(pairs), (tokens, tokens))) or not all(
        np.array_equal(whole, np.kron(each, part)) for whole, part in ((values, value), (keys, key), (queries, query))
    ):
        return None
    for rank in range(1, pairs + 1):
        rows, outer = value[::rank], readout[:, ::rank]
        if pairs % rank or not np.array_equal(value, np.repeat(rows, rank, axis=0)):
            continue
        key_columns, query_columns = key[:rank], query[:rank]
        repeated = (np.tile(part, (pairs // rank, 1)) for part in (key_columns, query_columns))
        if all(np.array_equal(a, b) for a, b in zip((key, query), repeated, strict=True)) and np.array_equal(
            readout, np.repeat(outer, rank, axis=1)
        ):
            matrices = [_matrix(part) for part in (rows, key_columns.T, query_columns.T, outer)]
            return Attention(matrices[0], matrices[1], matrices[2], matrices[3], network.readout.bias.tolist())
    return None
