"""The answer of an attack: the nearest counterexample that a local search finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.class_names import AboutClasses


@dataclass(frozen=True, eq=False)
class Attack(AboutClasses):
    """f_rival ≥ f_label at `point`, in exact arithmetic; `distance` is the length of point − u in `norm`, rounded up."""

    point: NDArray[np.float64]
    distance: float
    label: int
    rival: int
    norm: str = "l2"
    class_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        distance = "distance" if self.norm == "l2" else f"{self.norm} distance"
        return f"Attack({distance} {self.distance:.10g}, class {self.label_name} loses to {self.rival_name})"
