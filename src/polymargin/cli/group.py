"""The group every command belongs to: it lets through what `entry` has to judge."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from polymargin.cli.entry import Passed


class Commands(TyperGroup):
    """typer answers interruptions and broken pipes by itself, with 130 in silence and with 1."""

    def make_context(self, *words: Any, **options: Any) -> Any:
        """Parse the words, and pass on interruptions and closed pipes."""
        try:
            return super().make_context(*words, **options)
        except (KeyboardInterrupt, EOFError, OSError) as error:
            raise Passed from error

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and pass on interruptions and closed pipes."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, EOFError, OSError) as error:
            raise Passed from error
