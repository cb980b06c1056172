"""The answer of `verify`: robust, vulnerable or not decided, with its proof."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.class_names import AboutClasses
from polymargin.listing import Listing, html_of_one
from polymargin.margins.certificate import Certificate
from polymargin.standing import Standing


class Answer(Enum):
    """The value is what it means, for a person."""

    ROBUST = "no other class ties or wins within the radius"
    VULNERABLE = "another class ties or wins within the radius"
    UNKNOWN = "not decided"


@dataclass(frozen=True, eq=False)
class Verdict(AboutClasses):
    """The answer for one point and one radius.

    answer          ROBUST, VULNERABLE or UNKNOWN
    counterexample  for VULNERABLE: a point within the radius, compared in exact arithmetic
    certificate     the proof, None for UNKNOWN
    standing        CERTIFIED, BRACKETED for UNKNOWN, FAILED for a row of a batch that could not be looked at
    lower, upper    bounds of the margin over all rivals that were proved on the way
    reason          one sentence
    class_names     what the classes are called where the model comes from, if it says so
    """

    answer: Answer
    radius: float
    label: int | None
    rival: int | None
    counterexample: NDArray[np.float64] | None
    certificate: Certificate | None
    standing: Standing
    lower: float
    upper: float
    reason: str
    seconds: float
    class_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return f"Verdict({self.answer.name} at radius {self.radius:g}, {self.standing.name}: {self.reason})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, keys named as the attributes; None for values that are infinite or unknown."""
        return {
            "answer": self.answer.name,
            "radius": self.radius,
            "label": self.label,
            "rival": self.rival,
            **self.name_cells(),
            "counterexample": None if self.counterexample is None else self.counterexample.tolist(),
            "certificate": None if self.certificate is None else self.certificate.data,
            "standing": self.standing.name,
            "lower": self.lower if math.isfinite(self.lower) else None,
            "upper": self.upper if math.isfinite(self.upper) else None,
            "reason": self.reason,
            "seconds": self.seconds,
        } | ({} if self.class_names is None else {"class_names": list(self.class_names)})

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Verdict:
        """Return the inverse of `to_dict`."""
        point, proof, names = data["counterexample"], data["certificate"], data.get("class_names")
        return cls(
            answer=Answer[data["answer"]],
            radius=float(data["radius"]),
            label=data["label"],
            rival=data["rival"],
            counterexample=None if point is None else np.array(point, dtype=np.float64),
            certificate=None if proof is None else Certificate(proof),
            standing=Standing[data["standing"]],
            lower=math.inf if data["lower"] is None else float(data["lower"]),
            upper=math.inf if data["upper"] is None else float(data["upper"]),
            reason=data["reason"],
            seconds=float(data["seconds"]),
            class_names=None if names is None else tuple(names),
        )

    def to_row(self) -> dict[str, Any]:
        """Return the answer in one line of a table."""
        return {
            "answer": self.answer.name,
            "radius": self.radius,
            "label": self.label,
            "rival": self.rival,
            **self.name_cells(),
            "lower": self.lower,
            "upper": self.upper,
            "standing": self.standing.name,
            "reason": self.reason,
            "seconds": self.seconds,
        }

    def _repr_html_(self) -> str:
        return html_of_one(self)


def failed_verdict(radius: float, error: str, seconds: float) -> Verdict:
    """Return the verdict of a row that could not be looked at."""
    nothing = (None, None, None, None)
    return Verdict(Answer.UNKNOWN, radius, *nothing, Standing.FAILED, 0.0, math.inf, error, seconds)


class Verdicts(Listing[Verdict]):
    """The verdicts of a batch, a list with one `Verdict` per point.

    answers        ROBUST, VULNERABLE or UNKNOWN, point by point
    standings      how each is known
    to_csv(path), to_json(path), to_frame()   one line per point, as a file or as a pandas DataFrame
    """

    shown_columns = ("label", "answer", "rival", "standing", "reason")
    main_column = "answer"

    @property
    def answers(self) -> list[Answer]:
        """Return the answers, point by point."""
        return [row.answer for row in self]

    def summary(self) -> str:
        """Return one line: how many points are robust, vulnerable, undecided, and how many could not be looked at."""
        counts = Counter(row.answer for row in self if row.standing is not Standing.FAILED)
        parts = [f"{counts[answer]} {answer.name}" for answer in Answer if counts[answer]]
        if failed := self.standings.count(Standing.FAILED):
            parts.append(f"{failed} FAILED")
        return f"{len(self)} point{'' if len(self) == 1 else 's'}" + (f": {', '.join(parts)}" if parts else "")
