"""Options that are declared once for several commands."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields

import pytest
import typer

from polymargin.arguments import DEFAULT_LIMIT
from polymargin.cli.margin import margin
from polymargin.cli.options import ReadingOptions, WorkOptions, spread
from polymargin.cli.report import report
from polymargin.cli.verify import verify
from polymargin.margins import Settings


@dataclass(frozen=True)
class Asked:
    """A group in which there is another."""

    size: int = 3
    reading: ReadingOptions = ReadingOptions()  # noqa: RUF009


def test_a_command_has_its_own_options_and_those_of_its_groups() -> None:
    seen: list[tuple[str, Asked, WorkOptions]] = []

    @spread
    def command(asked: Asked, name: str = "none", *, work: WorkOptions) -> int:
        """What it does."""
        seen.append((name, asked, work))
        return 7

    reading, shared = ({field.name: field.default for field in fields(kind)} for kind in (ReadingOptions, WorkOptions))
    assert list(inspect.signature(command).parameters) == ["size", *reading, "name", *shared]
    assert command.__doc__ == "What it does."
    with pytest.raises(typer.Exit) as ended:
        command(name="one", size=4, **(reading | {"trust": True}), **(shared | {"seed": 7}))
    assert ended.value.exit_code == 7
    assert seen == [("one", Asked(4, ReadingOptions(trust=True)), WorkOptions(seed=7))]


def test_all_commands_about_points_have_them() -> None:
    shared = {field.name for kind in (WorkOptions, ReadingOptions) for field in fields(kind)}
    for command in (margin, verify, report):
        assert shared <= set(inspect.signature(command).parameters)


def test_the_command_line_has_the_limit_of_the_functions() -> None:
    assert WorkOptions().limit == DEFAULT_LIMIT
    assert WorkOptions(no_cache=True).settings == Settings(cache=False)
