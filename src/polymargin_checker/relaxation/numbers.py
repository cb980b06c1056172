"""Numbers of relaxation proofs: doubles in C99 hexadecimal, and the multipliers of a leaf or a lemma."""

from __future__ import annotations

from typing import Any

import numpy as np

from polymargin_checker.arrays import doubles
from polymargin_checker.dyadics import number
from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import Floats, nearest, rational
from polymargin_checker.words import shown


def double(value: Any, name: str) -> float:
    """Return one double, in hexadecimal."""
    exact = number(value, name)
    result = nearest(exact)
    if rational(result) != exact:
        raise Refused(f"{name}: {shown(value)} is not a double")
    return result


class Multipliers:
    """The multipliers of a leaf (`count` None), or those of several claims of a lemma, which have one axis more."""

    def __init__(self, entry: dict[str, Any], name: str, count: int | None) -> None:
        self.entry, self.name, self.count = entry, name, count or 1
        self._whole, self._part = self.count, slice(None)
        self._of_lemma = count is not None

    def part(self, place: slice) -> Multipliers:
        """Return the multipliers of some of the claims."""
        result = Multipliers(self.entry, self.name, self.count)
        result._part, result.count = place, len(range(self.count)[place])
        return result

    def number(self, key: str) -> Floats | None:
        """Return a number ≥ 0 for each claim (count, 1); None where there is none."""
        if key not in self.entry:
            return None
        value, name = self.entry[key], f"{self.name}, {key}"
        found = doubles(value, name, self._whole) if self._of_lemma else np.array([double(value, name)])
        return self._checked(key, found.reshape(-1, 1)[self._part])

    def signed(self, key: str, length: int) -> Floats | None:
        """Return numbers ≥ 0 (count, length)."""
        found = self.free(key, length)
        return None if found is None else self._checked(key, found)

    def free(self, key: str, length: int) -> Floats | None:
        """Return the numbers of any sign (count, length); None where there are none, or zeros only."""
        if key not in self.entry:
            return None
        found = doubles(self.entry[key], f"{self.name}, {key}", self._whole * length).reshape(self._whole, length)
        return found[self._part] if found.any() else None

    def entries(self, key: str) -> list[Any]:
        """Return a JSON value for each claim."""
        if key not in self.entry:
            return []
        value = self.entry[key] if self._of_lemma else [self.entry[key]]
        if not isinstance(value, list) or len(value) != self._whole:
            raise Refused(f"{self.name}, {key}: expected {self._whole} entries")
        return value[self._part]

    def _checked(self, key: str, found: Floats) -> Floats:
        if not (found >= 0).all():
            raise Refused(f"{self.name}, {key}: a multiplier is negative")
        return found
