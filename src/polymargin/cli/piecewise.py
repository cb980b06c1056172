"""`margin` and `verify` for ReLU networks: the commands come here when an ONNX file has Relu nodes."""

from __future__ import annotations

import json
from pathlib import Path

from polymargin import __version__
from polymargin.certificates import Answer, Verdict
from polymargin.cli.margins import progress_bar, wide_console
from polymargin.cli.points import read_points
from polymargin.cli.tables import margin_table, remarks
from polymargin.cli.verdicts import verdict_table
from polymargin.errors import PolymarginError
from polymargin.piecewise import ReLUNetwork, has_relu, piecewise_margin, piecewise_verify, relu_from_onnx
from polymargin.standing import Standing


def relu_network_in(model: Path) -> ReLUNetwork | None:
    """The network of an ONNX file with Relu nodes, None for every other file."""
    return relu_from_onnx(model) if model.suffix == ".onnx" and has_relu(model) else None


def run_relu_margin(
    network: ReLUNetwork, model: Path, points: Path, *, as_json: bool, seed: int, timeout: float | None
) -> int:
    """Margins of every row; the exit status."""
    array = read_points(points)
    with progress_bar() as progress:
        task = progress.add_task("margins", total=len(array))
        margins = piecewise_margin(
            network, array, timeout=timeout, seed=seed, progress=lambda count: progress.advance(task, count)
        )
    if as_json:
        rows = [{"row": index, **row.to_dict()} for index, row in enumerate(margins)]
        print(json.dumps({"version": __version__, "model": str(model), "seed": seed, "margins": rows}, indent=1))
    else:
        console = wide_console()
        console.print(margin_table(margins, title=f"{model.name}: {network!r}"))
        for line in remarks(margins):
            console.print(line, highlight=False, markup=False)
        cells = sum(row.cells for row in margins)
        programs = sum(row.programs for row in margins)
        console.print(f"{cells} cells, {programs} quadratic programs", style="dim")
    return 2 if any(row.status is Standing.FAILED for row in margins) else 0


def run_relu_verify(
    network: ReLUNetwork, model: Path, points: Path, radius: float, *, as_json: bool, seed: int, timeout: float
) -> int:
    """Verdicts for every row; 0 if all are robust, 1 if one is not, 2 if one could not be decided."""
    rows: list[Verdict | str] = []
    array = read_points(points)
    with progress_bar() as progress:
        task = progress.add_task("verdicts", total=len(array))
        for point in array:
            try:
                rows.append(piecewise_verify(network, point, radius, timeout=timeout, seed=seed))
            except PolymarginError as error:
                rows.append(str(error))
            progress.advance(task)
    if as_json:
        data = [_plain(index, row) for index, row in enumerate(rows)]
        print(json.dumps({"model": str(model), "radius": radius, "seed": seed, "verdicts": data}, indent=1))
    else:
        wide_console().print(verdict_table(rows, f"{model.name}: {network!r}, radius {radius:g}"))
    if any(isinstance(row, str) or row.answer is Answer.UNKNOWN for row in rows):
        return 2
    return 1 if any(isinstance(row, Verdict) and row.answer is Answer.VULNERABLE for row in rows) else 0


def _plain(index: int, row: Verdict | str) -> dict[str, object]:
    if isinstance(row, str):
        return {"row": index, "answer": "UNKNOWN", "error": row}
    return {
        "row": index,
        "answer": row.answer.name,
        "label": row.label,
        "rival": row.rival,
        "counterexample": None if row.counterexample is None else row.counterexample.tolist(),
        "status": row.status.name,
        "lower": row.lower,
        "upper": row.upper if row.upper != float("inf") else "inf",
        "reason": row.reason,
        "seconds": row.seconds,
    }
