"""Errors that a person can act on: the bad value, what was expected, and the remedy, in one sentence."""

from __future__ import annotations


class PolymarginError(Exception):
    """Base of everything polymargin raises on purpose. The command line prints it and exits with 2."""


class InputError(PolymarginError, ValueError):
    """A network, a point, an expression or a file is not what it has to be."""


class TooManyPathsError(PolymarginError):
    """The number of critical points is beyond the limit the caller set."""


class MissingExtraError(PolymarginError, ImportError):
    """An optional dependency is not installed."""


class DamageWarning(UserWarning):
    """Something of the user's was found damaged and is done again; the command line prints it."""
