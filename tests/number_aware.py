"""Printed output compared as a reader would: words and counts to the letter, floating-point numbers as numbers.

The last bits of a result depend on the CPU, the BLAS and the compiler, and so may the last digit that is printed. A float (a
number with a point or an exponent) therefore agrees with another one if they differ by at most `RELATIVE` of their size, or by
one unit of the last written digit if six or more digits are written. Training magnifies last bits with every step, so what is
said of a network trained on the spot is compared to `TRAINED` of its size. Integers are words. Spaces separate words and do
not count otherwise; `...` stands for anything.
"""

from __future__ import annotations

import doctest
import math
import re
from itertools import repeat

RELATIVE = 1e-9
TRAINED = 1e-4
# Beside a printed zero: what rounding leaves of numbers of ordinary size.
ROUNDING = 1e-12
# One unit of the last digit is allowed if it is at most this part of the number, that is from the sixth digit on.
LAST_DIGIT = 1e-5

FLOAT = r"(?<![\w.)])[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?j?(?!\w|\.\d)"
TOKEN = re.compile(rf"{FLOAT}|\.\.\.|\w+|[^\w\s]")
IS_FLOAT = re.compile(FLOAT)


_exactly = doctest.OutputChecker.check_output


def check_output(self: doctest.OutputChecker, want: str, got: str, optionflags: int) -> bool:
    """For doctests: the same text, or else the same numbers and words."""
    return _exactly(self, want, got, optionflags) or agree(want.replace("<BLANKLINE>", ""), got)


def agree(want: str, got: str, relative: float = RELATIVE) -> bool:
    """Whether the output is the one that was written down."""
    pieces: list[list[str]] = [[]]
    for token in TOKEN.findall(want):
        if token == "...":
            pieces.append([])
        else:
            pieces[-1].append(token)
    words = TOKEN.findall(got)
    first, *others = pieces
    if not _match(first, words[: len(first)], relative):
        return False
    if not others:
        return len(words) == len(first)
    start, last = len(first), others.pop()
    for piece in others:
        places = range(start, len(words) - len(piece) + 1)
        found = next((place for place in places if _match(piece, words[place : place + len(piece)], relative)), None)
        if found is None:
            return False
        start = found + len(piece)
    end = len(words) - len(last)
    return start <= end and _match(last, words[end:], relative)


def _match(wanted: list[str], words: list[str], relative: float) -> bool:
    return len(wanted) == len(words) and all(map(_same, wanted, words, repeat(relative)))


def _same(wanted: str, word: str, relative: float) -> bool:
    if wanted == word:
        return True
    if not (IS_FLOAT.fullmatch(wanted) and IS_FLOAT.fullmatch(word)) or wanted.endswith("j") != word.endswith("j"):
        return False
    one, other = float(wanted.rstrip("j")), float(word.rstrip("j"))
    if not one or not other:
        return abs(one - other) <= ROUNDING
    unit = _last_place(wanted)
    allowed = unit * (1 + RELATIVE) if unit <= LAST_DIGIT * abs(one) else 0.0
    return math.isclose(one, other, rel_tol=relative, abs_tol=allowed)


def _last_place(number: str) -> float:
    """One unit of the last written digit."""
    digits, _, exponent = number.rstrip("j").lower().partition("e")
    decimals = len(digits.partition(".")[2])
    return float(f"1e{int(exponent or 0) - decimals}")
