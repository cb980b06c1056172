"""Options that are declared once for several commands."""

from __future__ import annotations

import inspect
from dataclasses import fields

from polymargin.arguments import DEFAULT_LIMIT
from polymargin.cli.commands import answers
from polymargin.cli.work_options import WorkOptions, spread
from polymargin.margins import Settings


def test_a_command_has_its_own_options_and_the_shared_ones() -> None:
    seen: list[tuple[str, WorkOptions]] = []

    @spread
    def command(name: str, *, work: WorkOptions) -> None:
        """What it does."""
        seen.append((name, work))

    shared = {field.name: field.default for field in fields(WorkOptions)}
    assert list(inspect.signature(command).parameters) == ["name", *shared]
    assert command.__doc__ == "What it does."
    command(name="one", **(shared | {"seed": 7}))
    assert seen == [("one", WorkOptions(seed=7))]


def test_all_commands_about_points_have_them() -> None:
    shared = {field.name for field in fields(WorkOptions)}
    for command in (answers.margin, answers.verify, answers.report):
        assert shared <= set(inspect.signature(command).parameters)


def test_the_command_line_has_the_limit_of_the_functions() -> None:
    assert WorkOptions().limit == DEFAULT_LIMIT
    assert WorkOptions(no_cache=True).settings == Settings(cache=False)
