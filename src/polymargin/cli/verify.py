"""`polymargin verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from polymargin.cli import options as opt
from polymargin.cli.noise import NoiseOptions
from polymargin.cli.options import spread
from polymargin.cli.regions import RegionOptions
from polymargin.standing import Standing
from polymargin.times import readable_time

if TYPE_CHECKING:
    from polymargin.margins import Verdict


@spread
def verify(
    model: opt.Model,
    points: opt.Points,
    radius: Annotated[float, typer.Option(help="Radius of the ball around each point, in the norm.")],
    certificates: opt.Certificates = None,
    timeout: opt.Timeout = opt.DEFAULT_TIMEOUT,
    as_json: opt.AsJson = False,
    *,
    near: RegionOptions,
    inexact: NoiseOptions,
    work: opt.WorkOptions,
    reading: opt.ReadingOptions,
) -> int:
    """Decide whether the class stays the same within a radius: yes or no with a proof, otherwise unknown."""
    from polymargin.cli.row_table import Column
    from polymargin.cli.rows import Presentation, RowsCommand
    from polymargin.margins import Answer

    columns = (
        Column("class", right=True),
        Column("verdict", 10),
        Column("standing", 9),
        Column("time", 7, right=True),
        Column("why"),
    )
    shown = Presentation(
        "verdicts",
        columns,
        _cells,
        lambda found: ((row, one.reason) for row, one in enumerate(found) if one.standing is Standing.FAILED),
        lambda found: str(found.summary()),
    )
    keywords = inexact.keywords
    verdicts = RowsCommand(model, points, certificates, near, as_json, work, reading).answers(
        shown,
        lambda asked, array, **how: asked.verify(array, radius, timeout=timeout, **keywords, **how),
        {"radius": radius},
    )
    if Answer.UNKNOWN in verdicts.answers:
        return 2
    return 1 if Answer.VULNERABLE in verdicts.answers else 0


def _cells(found: Verdict) -> list[str]:
    """Return one row of the table; reasons of failures are printed below it, once for equal ones."""
    time = readable_time(found.seconds)
    if found.standing is Standing.FAILED:
        return ["–", "–", "FAILED", time, "see below"]
    return [found.label_name, found.answer.name, found.standing.name, time, found.reason]
