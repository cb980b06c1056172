"""The options of every command, read from the commands themselves when the site is built.

docs/command-line.md has one section per command, `## polymargin margin`, written by hand. The table of its arguments and
options is what `polymargin margin --help` prints, put at the end of the section.
"""

from __future__ import annotations

import re
from typing import Any

import typer

from polymargin.cli.app import app

SECTION = re.compile(r"^## polymargin (.+)$", flags=re.MULTILINE)


def commands() -> dict[str, Any]:
    """'margin' or 'reproduce table1' -> the command; groups are entered, hidden commands left out."""

    def leaves(prefix: str, command: Any) -> dict[str, Any]:
        # Groups are known by their commands: some releases of typer bring a click of their own.
        if not hasattr(command, "commands"):
            return {prefix: command}
        found = {}
        for name, inner in command.commands.items():
            if not inner.hidden:
                found.update(leaves(f"{prefix} {name}".strip(), inner))
        return found

    return leaves("", typer.main.get_command(app))


def option_table(name: str, command: Any) -> str:
    """Usage and one row per argument and option, in the words of --help."""
    context = command.context_class(command, info_name=f"polymargin {name}")
    usage = " ".join(command.get_usage(context).split()).removeprefix("Usage: ")
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    rows = [f"| `{written}` | {_escaped(meaning)} |" for written, meaning in filter(None, records)]
    return "\n".join([f"```text\n{usage}\n```", "", "| argument or option | meaning |", "|---|---|", *rows])


def with_options(page: str) -> str:
    """The page with a table at the end of every command's section."""
    known = commands()
    pieces = SECTION.split(page)
    parts = [pieces[0]]
    for name, text in zip(pieces[1::2], pieces[2::2], strict=True):
        parts.append(f"## polymargin {name}{text.rstrip()}\n\n{option_table(name, known[name])}\n\n")
    return "".join(parts)


def _escaped(text: str) -> str:
    return re.sub(r"([*_<\[|])", r"\\\1", " ".join(text.split()))
