"""Errors that a person can act on: the bad value, what was expected, and the remedy, in one sentence."""

from __future__ import annotations


def printable(text: str) -> str:
    """Escape characters that are not displayed as themselves: control characters, line breaks, surrogates.

    >>> printable("a\\x1b[31m\\nPROVED")
    'a\\\\x1b[31m\\\\nPROVED'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


class PolymarginError(Exception):
    """Base of everything polymargin raises on purpose. The command line prints it and exits with 2.

    Names from files and of files stand in the messages; what cannot be printed in them is escaped.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class InputError(PolymarginError, ValueError):
    """A network, a point, an expression or a file is not what it has to be."""


class TooManyPathsError(PolymarginError):
    """The number of critical points is beyond the limit the caller set."""


class MissingExtraError(PolymarginError, ImportError):
    """An optional dependency is not installed."""


class DamageWarning(UserWarning):
    """Something of the user's was found damaged and is done again; the command line prints it."""
