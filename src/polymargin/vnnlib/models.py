"""A query and the ONNX file it is asked about: do they fit, and the answer."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

from polymargin.errors import InputError
from polymargin.networks.readers.onnx_graph import OnnxModel
from polymargin.vnnlib.answering import QueryAnswer, answer_query
from polymargin.vnnlib.expressions import ConstraintComparison, Variable, VariablePolynomial
from polymargin.vnnlib.query import Query


def network_file(query: Query, networks: list[str]) -> Path:
    """Return the one network of a query, from name=path."""
    if len(networks) != 1:
        raise InputError(f"{len(networks)} networks given; expected one, as the query declares")
    name, equals, path = networks[0].partition("=")
    if not equals:
        name, path = "", networks[0]
    if query.version != "1.0" and name != query.network:
        raise InputError(
            f"--network {networks[0]}: the query declares the network {query.network!r}; write {query.network}=…"
        )
    return Path(path)


def check_fit(query: Query, model: OnnxModel, as_real: bool) -> None:
    """Refuse a file whose shapes or element types are not what the query declares."""
    for tensor, shape in ((query.input, model.input_shape), (query.output, model.output_shape)):
        if tensor.element_type != "real" and not as_real:
            raise InputError(
                f"{tensor.name} is declared as {tensor.element_type}; polymargin reasons over the real numbers: declare it as "
                "real, or give --as-real"
            )
        ours, theirs = ([length for length in lengths if length != 1] for lengths in (tensor.shape, shape))
        if ours != theirs and not (query.version == "1.0" and tensor.size == prod(shape)):
            raise InputError(f"{tensor.name} is declared with shape {list(tensor.shape)}, the model has {list(shape)}")


def answer_about(
    query: Query, model: OnnxModel, *, timeout: float | None = 60.0, seed: int = 0, threads: int | None = None
) -> QueryAnswer:
    """Answer a query about an ONNX file. A file with one output f is a network with the logits (0, f)."""
    options: dict[str, Any] = {"timeout": timeout, "seed": seed, "threads": threads}
    if prod(model.output_shape) != 1:
        return answer_query(query, model.network, **options)
    cases = tuple(tuple(_on_second_logit(comparison) for comparison in case) for case in query.cases)
    asked = replace(query, output=replace(query.output, shape=(2,)), cases=cases)
    answer = answer_query(asked, model.network, **options)
    return replace(answer, outputs=None if answer.outputs is None else answer.outputs[1:])


def _on_second_logit(comparison: ConstraintComparison) -> ConstraintComparison:
    terms = {
        tuple(Variable("Y", 1) if variable.kind == "Y" else variable for variable in monomial): value
        for monomial, value in comparison.polynomial.terms.items()
    }
    return replace(comparison, polynomial=VariablePolynomial(terms))
