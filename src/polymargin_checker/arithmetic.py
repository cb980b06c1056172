"""The arithmetic of proofs: balls of a working precision, or doubles for large proofs.

python-flint keeps one precision for the whole process. This is the only place that sets it, and it is always restored. No
precision can make the checker wrong: balls and doubles with radii enclose the true numbers, and where they are too coarse the
proof is refused. Such a refusal says whether balls in the place of doubles may help.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flint import ctx

from polymargin_checker.enclosures import Balls
from polymargin_checker.refusal import Refused, Unproved

LEAST, MOST = 32, 4096
"""Bits that a certificate may ask for."""
PRECISION = 128
"""Bits where it does not ask."""
LARGEST_EXACT = 48
"""Variables up to which ball arithmetic is used without being asked for."""


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """Compute with so many bits within the block."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def arithmetic_of(variables: int, exact: bool) -> type[Any]:
    """Return the `Enclosure` for a proof in so many variables."""
    if exact or variables <= LARGEST_EXACT:
        return Balls
    from polymargin_checker.floats import Floats  # NumPy is loaded only where it is needed

    return Floats


@contextmanager
def judging(arithmetic: type[Any]) -> Iterator[None]:
    """Judge proofs in this arithmetic within the block."""
    with working_precision(PRECISION):
        if arithmetic is Balls:
            yield
            return
        import numpy as np

        # What goes beyond all doubles is infinite or no number, and proves nothing; NumPy need not warn of it.
        with np.errstate(all="ignore"):
            try:
                yield
            except Unproved as refusal:
                raise Refused(f"{refusal}; so it is in doubles, and --exact may prove it") from None
