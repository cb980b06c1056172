"""The results of a report: margins of a data set and their summaries."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.class_names import name_of
from polymargin.margins import Margin
from polymargin.plots.accuracy import RobustAccuracy, correct_rows
from polymargin.plots.counterexamples import most_vulnerable
from polymargin.plots.thumbnails import Shape
from polymargin.standing import Standing


@dataclass(frozen=True)
class About:
    """The origin of a report: model, command, version, date, machine, seed and time."""

    title: str
    model: str
    version: str
    date: str
    machine: str
    seed: int
    seconds: float
    command: str = ""


@dataclass(frozen=True)
class ClassSummary:
    """The points of one class; `robust` holds shares at the radii of the report. Empty averages are NaN."""

    label: int
    count: int
    accuracy: float
    smallest: float
    median: float
    robust: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Report:
    """Margins of a data set.

    points        (m, n)
    labels        true classes (m,), or None
    margins       one `Margin` per point
    class_count   classes of the model
    class_names   their names, or None
    image_shape   shape of a point as an image, or None
    certificates  certificate file per point, or None
    about         origin of the report
    """

    points: NDArray[np.float64]
    labels: NDArray[np.int64] | None
    margins: tuple[Margin, ...]
    class_count: int
    image_shape: Shape | None
    certificates: tuple[Path | None, ...]
    about: About
    class_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        word = "clean accuracy" if self.labels is not None else "answered"
        return f"Report({len(self.margins)} points, {word} {self.accuracy.clean:.1%}, median margin {self.median:.4g})"

    @cached_property
    def accuracy(self) -> RobustAccuracy:
        """Return the robust accuracy at any radius: `.clean`, `.at(r)`, `.possible(r)`, and the parts of the curve."""
        return RobustAccuracy.of(self.margins, self.named_labels)

    @cached_property
    def correct(self) -> NDArray[np.bool_]:
        """Return True for rows with an answer whose class is right."""
        return correct_rows(self.margins, self.named_labels)

    def class_name(self, number: int | None) -> str:
        """Return the name of a class, or its number if it has no name."""
        return name_of(self.class_names, number)

    @property
    def named_labels(self) -> list[Any] | None:
        """Return the true classes as names of the model, as figures expect them."""
        if self.labels is None:
            return None
        return self.labels.tolist() if self.class_names is None else [self.class_names[n] for n in self.labels]

    @property
    def median(self) -> float:
        """Return the median lower bound of all rows with an answer, NaN if there is none."""
        return _median([m.lower for m in self.margins if m.standing is not Standing.FAILED])

    @cached_property
    def radii(self) -> tuple[float, ...]:
        """Return up to three round radii near the quartiles of the margins."""
        known = np.array([m.lower for m in self.margins if math.isfinite(m.lower) and m.lower > 0])
        if not len(known):
            return (0.1,)
        return tuple(sorted({_round(float(np.quantile(known, share))) for share in (0.25, 0.5, 0.75)}))

    @cached_property
    def classes(self) -> tuple[ClassSummary, ...]:
        """Return one summary per true class, or per predicted class without labels; classes without points are left out."""
        predicted = np.array([-1 if m.label is None else m.label for m in self.margins])
        own = predicted if self.labels is None else self.labels
        lower = np.array([m.lower for m in self.margins])
        answered = np.array([m.standing is not Standing.FAILED for m in self.margins])
        summaries = []
        for label in np.unique(own[own >= 0]).tolist():
            rows = own == label
            known = lower[rows & answered]
            kept = lower[rows & self.correct]
            summaries.append(
                ClassSummary(
                    label=label,
                    count=int(rows.sum()),
                    accuracy=float(self.correct[rows].mean()),
                    smallest=float(known.min()) if len(known) else math.nan,
                    median=_median(known),
                    robust=tuple(float((kept > radius).sum() / rows.sum()) for radius in self.radii),
                )
            )
        return tuple(summaries)

    @cached_property
    def rivals(self) -> dict[tuple[int, int], int]:
        """Return how often each class is the nearest rival of each predicted class: {(predicted, rival): rows}."""
        found: dict[tuple[int, int], int] = {}
        for m in self.margins:
            if m.label is not None and m.rival is not None:
                found[m.label, m.rival] = found.get((m.label, m.rival), 0) + 1
        return found

    @cached_property
    def vulnerable(self) -> tuple[int, ...]:
        """Return rows with a counterexample, the nearest first, and rightly classified rows before the others."""
        rows = most_vulnerable(self.margins)
        return tuple([row for row in rows if self.correct[row]] + [row for row in rows if not self.correct[row]])

    @cached_property
    def table(self) -> tuple[dict[str, Any], ...]:
        """Return one dictionary per row, for a data frame or a CSV file."""
        return tuple(
            {
                "row": index,
                "class": m.label,
                "right": None if self.labels is None else int(self.labels[index]),
                "rival": m.rival,
                **m.name_cells(),
                "lower": m.lower,
                "upper": m.upper,
                "standing": m.standing.name,
                "method": m.method,
                "complex": m.complex_count,
                "real": m.real_count,
                "seconds": m.seconds,
                "notes": m.error if m.error is not None else "; ".join(m.notes),
                "certificate": None if file is None else str(file),
            }
            for index, (m, file) in enumerate(zip(self.margins, self.certificates, strict=True))
        )

    @property
    def figures(self) -> dict[str, Any]:
        """Return new Matplotlib figures: accuracy, histogram, counterexamples."""
        from polymargin.reports.figures import figures

        return figures(self)

    def save(self, path: str | Path) -> Path:
        """Write one self-contained HTML page; links to certificates are relative to its folder."""
        from polymargin.reports.page import write_page

        return write_page(self, Path(path))


def _median(values: Any) -> float:
    return float(np.median(values)) if len(values) else math.nan


def _round(value: float) -> float:
    """Round to one significant digit.

    >>> [_round(value) for value in (0.0234, 0.87, 1.6)]
    [0.02, 0.9, 2.0]
    """
    return float(f"{value:.0e}")
