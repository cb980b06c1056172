"""Working precision of ball arithmetic.

python-flint keeps one precision for the whole process. This is the only place that sets it, and it is always
restored. No precision can make the checker wrong: balls enclose the true numbers at every precision, and too few
bits end in a refusal.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flint import ctx

LEAST, MOST = 32, 4096
"""Bits that a certificate may ask for."""


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before
