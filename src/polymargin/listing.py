"""Answers for many points as one object: a sequence that knows its columns, for spreadsheets, pandas and notebooks.

An answer says what its cells are (`to_row`); everything else follows from that. Nothing is rounded in files; what a notebook
shows is rounded as a person would.
"""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from polymargin.errors import MissingExtraError, printable
from polymargin.standing import HasStanding, Standing

# Rows that a notebook shows before it leaves some out.
SHOWN = 20

STYLES = {
    Standing.CERTIFIED: "color:#1a7f37",
    Standing.NUMERICAL: "",
    Standing.BRACKETED: "color:#9a6700",
    Standing.FAILED: "color:#cf222e",
}


class Listed(HasStanding, Protocol):
    """An entry of a listing."""

    def to_row(self) -> dict[str, Any]:
        """Return plain values by column: texts, numbers, None."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        ...


Row = TypeVar("Row", bound=Listed)


class RowsOnDemand(Generic[Row]):
    """Rows created on first access; concurrent threads get the same object."""

    def __init__(self, count: int, make: Callable[[int], Row]) -> None:
        self._places, self._make = range(count), make
        self._made: dict[int, Row] = {}

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Row]:
        return map(self._row, self._places)

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        chosen = self._places[index]
        return [self._row(place) for place in chosen] if isinstance(chosen, range) else self._row(chosen)

    def _row(self, place: int) -> Row:
        found = self._made.get(place)
        return self._made.setdefault(place, self._make(place)) if found is None else found


class Listing(Sequence[Row]):
    """Answers, one per point, in the order of the points; it does not change.

    `found[0]` is the first answer, `found["radius"]` the column of that name as an array.
    """

    # Columns of the table in a notebook, and the one that stands for all answers as an array.
    shown_columns: ClassVar[tuple[str, ...]] = ()
    main_column: ClassVar[str] = ""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._rows: tuple[Row, ...] | RowsOnDemand[Row] = rows if isinstance(rows, RowsOnDemand) else tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    @overload
    def __getitem__(self, index: str) -> NDArray[Any]: ...
    def __getitem__(self, index: SupportsIndex | slice | str) -> Row | Self | NDArray[Any]:
        if isinstance(index, str):
            return self.column(index)
        found: Any = self._rows[index]
        return type(self)(found) if isinstance(index, slice) else found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and list(self) == list(other)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (list(self),)

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of the table as an array; numbers are NaN where there is none."""
        if self and name not in self._columns():
            raise KeyError(f"{name!r}: expected one of {', '.join(self._columns())}")
        values = [row.to_row()[name] for row in self]
        if all(value is None or isinstance(value, (int, float)) for value in values) and any(
            isinstance(value, float) or value is None for value in values
        ):
            return np.array([math.nan if value is None else value for value in values], dtype=np.float64)
        return np.array(values)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.column(self.main_column), dtype=dtype)

    @property
    def standings(self) -> list[Standing]:
        """Return the standing of each answer."""
        return [row.standing for row in self]

    def to_csv(self, path: str | Path) -> Path:
        """Write one line per point under a line of names; numbers to the last digit, nothing for what is not there."""
        file = Path(path)
        with file.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["row", *self._columns()])
            for index, row in enumerate(self):
                writer.writerow([index, *(_text(value) for value in row.to_row().values())])
        return file

    def to_json(self, path: str | Path) -> Path:
        """Write one object per point, with everything that is known of it; null for what is infinite or not there."""
        file = Path(path)
        rows = [{"row": index, **row.to_dict()} for index, row in enumerate(self)]
        file.write_text(json.dumps(rows, allow_nan=False) + "\n", encoding="utf-8")
        return file

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per answer; pandas must be installed."""
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise MissingExtraError("to_frame needs pandas: pip install pandas; to_csv(path) needs nothing") from None
        rows = [row.to_row() for row in self]
        return pandas.DataFrame(rows, columns=self._columns()).rename_axis("row")

    def summary(self) -> str:
        """Return one line with the number of answers and of each standing."""
        counts = Counter(self.standings)
        known = ", ".join(f"{counts[standing]} {standing.name}" for standing in Standing if counts[standing])
        return f"{len(self)} point{'' if len(self) == 1 else 's'}" + (f": {known}" if known else "")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.summary()})"

    def _columns(self) -> list[str]:
        return list(self[0].to_row()) if self else []

    def _repr_html_(self) -> str:
        names = [name for name in self.shown_columns or self._columns() if name in self._columns()]
        head = "".join(f"<th>{escape(name.removesuffix('_name'))}</th>" for name in ("row", *names))
        body = "".join(
            f"<tr><td>{index}</td>{_html_cells(_named_cells(row.to_row(), names), row.standing)}</tr>"
            for index, row in enumerate(self[: self._shown()])
        )
        left = len(self) - self._shown()
        more = f"<p>… and {left} more; .to_frame() and .to_csv(path) have all of them</p>" if left else ""
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}<p>{escape(self.summary())}</p>"
        )

    def _shown(self) -> int:
        return len(self) if len(self) <= SHOWN + 5 else SHOWN


def _named_cells(cells: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the chosen cells; classes by their names where there are any."""
    return {name: cells.get(f"{name}_name", cells[name]) for name in names}


def html_of_one(answer: Listed) -> str:
    """Return a single answer in a notebook: names on the left, values on the right."""
    cells = ((name, value) for name, value in answer.to_row().items() if value not in (None, ""))
    rows = (f"<tr><th>{escape(name)}</th>{_html_cells({name: value}, answer.standing)}</tr>" for name, value in cells)
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def joined(texts: Iterable[str]) -> str:
    """Return several remarks in one cell."""
    return "; ".join(texts)


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return printable(value) if isinstance(value, str) else repr(value)


def _html_cells(cells: dict[str, Any], standing: Standing) -> str:
    return "".join(
        f'<td style="{STYLES[standing] if name == "standing" else ""}">{escape(_short(value))}</td>'
        for name, value in cells.items()
    )


def _short(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else "∞" if math.isinf(value) else f"{value:.6g}"
    return "" if value is None else printable(str(value))
