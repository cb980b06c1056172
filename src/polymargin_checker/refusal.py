"""The ways not to accept: the certificate proves nothing, or nothing in this arithmetic, or a file could not be used at all."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818 - a verdict, not a mistake of the program
    """The certificate does not prove its claim; the message is one sentence for a person."""


class Unproved(Refused):
    """A test of enclosures failed; narrower ones may pass it."""


class OutOfTime(Refused):
    """The certificate would take more time than the caller gives."""


class Unusable(Refused):
    """A file is missing or is not what it should be, so that there is nothing to judge."""
