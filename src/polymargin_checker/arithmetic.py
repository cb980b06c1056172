"""The working precision of ball arithmetic, and what a refusal in doubles says.

python-flint keeps one precision for the whole process. This is the only place that sets it, and it is always restored. No
precision can make the checker wrong: balls and doubles with radii enclose the true numbers, and where they are too coarse the
proof is refused. Such a refusal says whether balls in the place of doubles may help.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from flint import ctx

from polymargin_checker.refusal import Refused, Unproved

PRECISION = 128
"""Bits where nothing else is asked for."""


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """Compute with so many bits within the block."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


@contextmanager
def judging(exact: bool) -> Iterator[None]:
    """Judge proofs within the block: in balls if they are to be `exact`, else in doubles with radii."""
    # What goes beyond all doubles is infinite or no number, and proves nothing; NumPy need not warn of it.
    with working_precision(PRECISION), np.errstate(all="ignore"):
        try:
            yield
        except Unproved as refusal:
            if exact:
                raise
            raise Refused(f"{refusal}; so it is in doubles, and --exact may prove it") from None
