"""A threat model: the perturbations of a region, the rivals whose ties count, and the required lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

import numpy as np

from polymargin.errors import InputError
from polymargin.regions.region import L2, Region


class ThreatOptions(TypedDict, total=False):
    """The keywords of `ThreatModel.of`, for type checkers."""

    within: Region | None
    rivals: Sequence[int] | None
    abstain: float


@dataclass(frozen=True)
class ThreatModel:
    """Made by `ThreatModel.of`.

    region    the perturbations
    rivals    the classes whose ties count; None for all
    abstain   an answer counts only if its logit leads by more than this
    """

    region: Region = field(default_factory=L2)
    rivals: tuple[int, ...] | None = None
    abstain: float = 0.0

    @classmethod
    def of(
        cls,
        dimension: int,
        within: Region | None = None,
        rivals: Sequence[int] | None = None,
        abstain: float = 0.0,
        classes: int | None = None,
    ) -> ThreatModel:
        """Return what a user asks of a model with so many inputs and classes; refuse what does not fit."""
        region = L2() if within is None else within
        if not isinstance(region, Region):
            raise InputError(f"within={within!r}: expected L2(...), Linf(...) or L1(...)")
        if isinstance(abstain, (str, complex)) or not np.isfinite(abstain) or abstain < 0:
            raise InputError(f"abstain={abstain}: expected a lead of the logits, 0 or more")
        chosen = None if rivals is None else _rivals(rivals, classes)
        return cls(region.in_dimension(dimension), chosen, float(abstain))

    @property
    def is_plain(self) -> bool:
        """Return whether this is the default: any perturbation, measured by its L2 norm, against any rival."""
        return self.region.is_round and self.rivals is None and self.abstain == 0

    @property
    def is_ball(self) -> bool:
        """Return whether it is an L2 ball in which all that counts is a tie."""
        return self.region.is_round and self.abstain == 0

    def against(self, label: int, classes: int) -> list[int]:
        """Return the rivals of a class; refuse a class without rivals."""
        found = [c for c in self.rivals or range(classes) if c != label]
        if not found:
            raise InputError(
                f"rivals {list(self.rivals or ())}: the point is of class {label}, which has no "
                "other rival; name at least one other class"
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for files."""
        rivals = None if self.rivals is None else list(self.rivals)
        return self.region.to_dict() | {"rivals": rivals, "abstain": self.abstain}


def _rivals(rivals: Sequence[int], classes: int | None) -> tuple[int, ...]:
    array = np.asarray(rivals)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not len(array) or array.min() < 0:
        raise InputError(f"rivals {rivals!r}: expected the numbers of some classes")
    if classes is not None and array.max() >= classes:
        raise InputError(f"rivals {array.tolist()}: the model has classes 0 to {classes - 1}")
    return tuple(sorted(set(array.tolist())))
