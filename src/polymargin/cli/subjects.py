"""What a command about geometry is asked about: the boundary of a model, an expression, or several equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymargin.boundary import Boundary, ParametricBoundary
from polymargin.cli.model_options import ModelOptions
from polymargin.cli.models import read_polynomial
from polymargin.errors import InputError
from polymargin.geometry import Variety
from polymargin.polynomials.algebraic import exact_number


@dataclass(frozen=True)
class GivenModel:
    """MODEL with --label and --rival, or --expression with --variables, and the --metric, as they were typed."""

    model: Path | None
    reading: ModelOptions
    expressions: Sequence[str]
    variables: str | None
    label: int
    rival: int
    metric: str | None = None

    @property
    def name(self) -> str:
        """What titles and JSON call it."""
        return str(self.model) if self.model is not None else ", ".join(self.expressions)

    def title(self, boundary: Boundary) -> str:
        """The file and the pair of classes, or the expression."""
        return self.name if self.model is None else f"{self.model.name}: {boundary.name}"

    def boundary(self) -> Boundary:
        """One boundary."""
        if len(self.expressions) > 1:
            raise InputError(f"{len(self.expressions)} times --expression: this command takes one")
        source = self.source()
        return source if isinstance(source, Boundary) else Boundary.from_network(source, self.label, self.rival)

    def source(self) -> Any:
        """A network, a boundary, or a variety for several expressions."""
        if (self.model is None) == (not self.expressions):
            raise InputError("expected MODEL or --expression, and not both")
        if self.model is not None:
            return read_polynomial(self.model, self.reading)
        if len(self.expressions) > 1:
            return Variety(list(self.expressions), self.variables)
        return Boundary.from_expression(self.expressions[0], self.variables)

    def family(self) -> ParametricBoundary:
        """An expression in which all names but the --variables are parameters."""
        if len(self.expressions) != 1 or self.variables is None:
            raise InputError(
                "--parameters of an expression needs --variables, the names that are inputs, such as 'x y'"
            )
        inputs = self.variables.replace(",", " ").split()
        names = Boundary.from_expression(self.expressions[0]).names
        parameters = [name for name in names if name not in inputs]
        return Boundary.from_expression(self.expressions[0], self.variables, parameters=parameters)

    def measured(self) -> Any:
        """The metric: 'generic', weights 1,4 or rows 2,1;1,3."""
        if self.metric is None or self.metric == "generic":
            return self.metric
        try:
            rows = [[exact_number(entry) for entry in row.split(",")] for row in self.metric.split(";")]
        except InputError as error:
            raise InputError(
                f"--metric {self.metric!r}: expected weights such as 1,4, rows of a matrix '2,1;1,3', or generic ({error})"
            ) from None
        return rows[0] if len(rows) == 1 else rows
