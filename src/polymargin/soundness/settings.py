"""Settings of a soundness benchmark: sizes, radius, training.

The numbers of the paper (Appendix C) are the defaults; everything else is an option.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from polymargin.errors import InputError

PAPER_HIDDEN, PAPER_DEGREES, PAPER_RADII = (6, 10), (2, 3), (0.2, 0.5)


@dataclass(frozen=True)
class Setting:
    """One network of the benchmark and its instances.

    inputs, hidden, classes   widths; `hidden` has one entry per hidden layer
    degree                    of the activation z^degree
    epsilon                   radius of the balls
    unverifiable, clean       numbers of instances with and without a planted counterexample

    >>> Setting(hidden=(6,), degree=3, epsilon=0.5).name
    'n8-h6-k2-d3-eps0.5'
    """

    hidden: tuple[int, ...] = (6,)
    degree: int = 2
    epsilon: float = 0.2
    inputs: int = 8
    classes: int = 2
    unverifiable: int = 10
    clean: int = 10

    def __post_init__(self) -> None:
        for name in ("inputs", "degree", "unverifiable"):
            _whole(name, getattr(self, name), 1)
        _whole("clean", self.clean, 0)
        _whole("classes", self.classes, 2)
        if not self.hidden:
            raise InputError("hidden is empty; expected the width of at least one hidden layer")
        for width in self.hidden:
            _whole("hidden", width, 1)
        if not (isinstance(self.epsilon, (int, float)) and math.isfinite(self.epsilon) and self.epsilon > 0):
            raise InputError(f"epsilon {self.epsilon!r}: expected a positive radius")

    @property
    def name(self) -> str:
        """Return the name of the setting in file names."""
        widths = "-".join(map(str, self.hidden))
        return f"n{self.inputs}-h{widths}-k{self.classes}-d{self.degree}-eps{self.epsilon:g}"

    @property
    def widths(self) -> tuple[int, ...]:
        """Return the widths of all layers, inputs and classes included."""
        return (self.inputs, *self.hidden, self.classes)

    def to_dict(self) -> dict[str, Any]:
        """Return the setting as plain data."""
        return {**asdict(self), "hidden": list(self.hidden)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Setting:
        """Read the result of `to_dict`; unknown keys are refused."""
        try:
            return cls(**{**data, "hidden": tuple(data["hidden"])})
        except (TypeError, KeyError) as error:
            raise InputError(f"not the setting of a soundness benchmark: {error}") from None


@dataclass(frozen=True)
class Plan:
    """The training of networks, as in the paper.

    epochs, rate   full-batch steps of Adam and the largest rate of its cyclic schedule
    hinge          by how much a planted class should win
    seed           of every random choice; every attempt of every setting has a stream of its own
    attempts       give up on a setting after so many attempts
    """

    epochs: int = 5000
    rate: float = 1e-3
    hinge: float = 0.01
    seed: int = 0
    attempts: int = 512

    def __post_init__(self) -> None:
        _whole("epochs", self.epochs, 1)
        _whole("seed", self.seed, 0)
        _whole("attempts", self.attempts, 1)
        if not self.rate > 0 or not self.hinge >= 0:
            raise InputError(f"rate {self.rate} and hinge {self.hinge}: expected a positive rate and a hinge >= 0")


def paper_settings() -> list[Setting]:
    """Return the eight settings of the paper, in the order of its table."""
    return settings_grid([(h,) for h in PAPER_HIDDEN], PAPER_DEGREES, PAPER_RADII)


def settings_grid(
    hidden: Sequence[tuple[int, ...]], degrees: Sequence[int], radii: Sequence[float], **sizes: Any
) -> list[Setting]:
    """Return every combination; `sizes` are the other fields of `Setting`."""
    return [Setting(h, d, epsilon, **sizes) for h, d, epsilon in product(hidden, degrees, radii)]


def _whole(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or value < least:
        raise InputError(f"{name} {value!r}: expected a whole number of at least {least}")
