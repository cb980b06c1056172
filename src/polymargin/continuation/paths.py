"""The outcome of each path: a named state, and the numbers that belong to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray


class PathEnd(Enum):
    """The state in which a path ended. The value is (code of the core, message, remedy)."""

    CONVERGED = (0, "reached a regular solution", "")
    START_REJECTED = (1, "began at a point that does not solve the start system", "check the start solutions")
    STEP_TOO_SMALL = (
        2,
        "stopped as the steps became too small",
        "the path runs into a singular point; use double-doubles",
    )
    TOO_MANY_STEPS = (3, "stopped after the largest number of steps", "raise most_steps")
    DIVERGED = (4, "left every bounded region", "the target system has fewer solutions than the start system")
    END_NOT_REGULAR = (5, "arrived at a singular or inaccurate endpoint", "the solution there may be multiple")
    # States of the endgame, which the core does not use.
    MULTIPLE = (6, "reached a multiple solution", "")
    SINGULAR_POINT = (7, "reached a singular point of the boundary", "")
    AT_INFINITY = (8, "went to infinity", "")
    UNDECIDED = (
        9,
        "reached an undecided endpoint: regular, multiple, singular or at infinity",
        "try another seed or tighter settings",
    )

    @property
    def code(self) -> int:
        """Return the number of the state in the core."""
        return self.value[0]

    @property
    def judged(self) -> bool:
        """Return True if the endpoint of the path is known."""
        return self in (PathEnd.CONVERGED, PathEnd.MULTIPLE, PathEnd.SINGULAR_POINT, PathEnd.AT_INFINITY)

    @property
    def message(self) -> str:
        """Return one sentence on the state."""
        return self.value[1]

    @property
    def remedy(self) -> str:
        """Return one sentence on what to try next."""
        return self.value[2]


@dataclass(frozen=True, eq=False)
class Paths:
    """The ends of starts × targets paths; every array has shape (targets, starts) or (targets, starts, n)."""

    points: NDArray[np.complex128]
    ends: NDArray[np.int32]
    steps: NDArray[np.int32]
    rejections: NDArray[np.int32]
    remaining: NDArray[np.float64]
    correction: NDArray[np.float64]
    condition: NDArray[np.float64]

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Return True for paths that converged."""
        return np.asarray(self.ends == PathEnd.CONVERGED.code)

    def counts(self) -> dict[PathEnd, int]:
        """Count the paths per state."""
        found = {end: int((self.ends == end.code).sum()) for end in PathEnd}
        return {end: count for end, count in found.items() if count}

    def only(self, starts: NDArray[np.bool_]) -> Paths:
        """Return the paths from some of the starts."""
        return Paths(*(getattr(self, name)[:, starts] for name in self.__dataclass_fields__))

    def to(self, targets: NDArray[np.intp]) -> Paths:
        """Return the paths to some of the targets."""
        return Paths(*(getattr(self, name)[targets] for name in self.__dataclass_fields__))

    def put(self, numbers: NDArray[np.intp], others: Paths, selected: NDArray[np.bool_] | None = None) -> None:
        """Write other paths, or those selected of them, in the places with these numbers, counted through all targets."""
        for name in self.__dataclass_fields__:
            mine, theirs = getattr(self, name), getattr(others, name)
            values = theirs.reshape(-1, *theirs.shape[2:]) if selected is None else theirs[selected]
            mine.reshape(-1, *mine.shape[2:])[numbers] = values
