"""The subject of a command about geometry: the boundary of a model, an expression, or several equations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymargin.cli.options import ReadingOptions
from polymargin.errors import InputError

if TYPE_CHECKING:
    from polymargin.boundary import Boundary, ParametricBoundary


@dataclass(frozen=True)
class SubjectOptions:
    """MODEL with --label and --rival, or --expression with --variables, and the --metric, as they were typed."""

    model: Annotated[Path | None, typer.Argument(help="Network file, for the boundary between two of its classes.")] = (
        None
    )
    expression: Annotated[
        list[str] | None,
        typer.Option(
            help="A polynomial or an equation instead of a model, such as 'x**2 + 4*y**2 = 4'; several are a variety."
        ),
    ] = None
    variables: Annotated[
        str | None, typer.Option(help="Names of the inputs of the expression, in order.", show_default="all, sorted")
    ] = None
    metric: Annotated[
        str | None,
        typer.Option(
            help="Weights 1,4 of the inputs, rows of a matrix '2,1;1,3', or generic.", show_default="Euclidean"
        ),
    ] = None
    label: Annotated[int, typer.Option(min=0, help="One class of the boundary.")] = 0
    rival: Annotated[int, typer.Option(min=0, help="The other class.")] = 1
    reading: ReadingOptions = ReadingOptions()  # noqa: RUF009 - frozen

    @property
    def name(self) -> str:
        """Return the name for titles and JSON."""
        return str(self.model) if self.model is not None else ", ".join(self._expressions)

    @property
    def _expressions(self) -> list[str]:
        return self.expression or []

    @property
    def is_variety(self) -> bool:
        """Return whether there are several equations."""
        return len(self._expressions) > 1

    def title(self, boundary: Boundary) -> str:
        """Return the file and the pair of classes, or the expression."""
        return self.name if self.model is None else f"{self.model.name}: {boundary.name}"

    def boundary(self) -> Boundary:
        """Return one boundary."""
        if len(self._expressions) > 1:
            raise InputError(f"{len(self._expressions)} times --expression: this command takes one")
        from polymargin.boundary import Boundary

        source = self.source()
        return source if isinstance(source, Boundary) else Boundary.from_network(source, self.label, self.rival)

    def source(self) -> Any:
        """Return a network, a boundary, or a variety for several expressions."""
        if (self.model is None) == (not self._expressions):
            raise InputError("expected MODEL or --expression, and not both")
        from polymargin.boundary import Boundary
        from polymargin.cli.models import read_polynomial
        from polymargin.geometry import Variety

        if self.model is not None:
            return read_polynomial(self.model, self.reading)
        if len(self._expressions) > 1:
            return Variety(list(self._expressions), self.variables)
        return Boundary.from_expression(self._expressions[0], self.variables)

    def family(self) -> ParametricBoundary:
        """Return an expression in which all names but the --variables are parameters."""
        if len(self._expressions) != 1 or self.variables is None:
            raise InputError(
                "--parameters of an expression needs --variables, the names that are inputs, such as 'x y'"
            )
        from polymargin.boundary import Boundary

        inputs = self.variables.replace(",", " ").split()
        names = Boundary.from_expression(self._expressions[0]).names
        parameters = [name for name in names if name not in inputs]
        return Boundary.from_expression(self._expressions[0], self.variables, parameters=parameters)

    def measured(self) -> Any:
        """Return the metric: 'generic', weights 1,4 or rows 2,1;1,3."""
        if self.metric is None or self.metric == "generic":
            return self.metric
        from polymargin.polynomials.algebraic import exact_number

        try:
            rows = [[exact_number(entry) for entry in row.split(",")] for row in self.metric.split(";")]
        except InputError as error:
            raise InputError(
                f"--metric {self.metric!r}: expected weights such as 1,4, rows of a matrix '2,1;1,3', or generic ({error})"
            ) from None
        return rows[0] if len(rows) == 1 else rows
