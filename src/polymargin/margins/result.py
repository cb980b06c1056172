"""The answer: a margin with its standing, and what is known about each rival."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polymargin.class_names import AboutClasses
from polymargin.listing import Listing, RowsOnDemand, html_of_one, joined
from polymargin.margins.certificate import Certificate
from polymargin.margins.picture import picture
from polymargin.standing import Standing


@dataclass(frozen=True, eq=False)
class PairMargin:
    """The distance from the point to the boundary between the label and one rival."""

    rival: int | None
    radius: float
    lower: float
    upper: float
    point: NDArray[np.float64] | None
    method: str
    complete: bool
    complex_count: int | None  # None for quadrics: their nearest point is found without the others
    real_count: int | None
    bound: int
    notes: tuple[str, ...] = ()
    proved: bool = False  # `lower` and `upper` enclose the distance by rigorous arithmetic


@dataclass(frozen=True, eq=False)
class Margin(AboutClasses):
    """The least distance from a point to a tie with another class.

    radius         the margin; infinite if no point of the boundary is real, NaN if there is no answer
    lower, upper   bounds; proved where there is a certificate, else equal to the radius unless the standing is BRACKETED
    point          the nearest boundary point (n,), None if there is none
    label, rival   predicted class and the class that ties at `point`; None for a boundary given alone
    standing       how the answer is known
    certificate    proof of `lower` and `upper` that the checker accepted in the same call; None where there is none
    method         how the number was found: continuation, quadric, hyperplane, roots, tie, constant, faces, regions or bounds
    seconds        time for this point, without preparation
    complex_count, real_count   critical points of the nearest rival's boundary
    pairs          the same for every rival
    notes          what stayed undecided, what was met
    error          for a row that has no answer: why
    cells, open_cells   of networks with ReLU or splines: cells that were bounded, and those that a timeout left open
    norm           in which the distance is measured: l2, linf or l1
    class_names    what the classes are called where the model comes from, if it says so
    """

    radius: float
    lower: float
    upper: float
    point: NDArray[np.float64] | None
    label: int | None
    rival: int | None
    standing: Standing
    method: str
    seconds: float
    complex_count: int | None = None
    real_count: int | None = None
    pairs: Sequence[PairMargin] = ()
    notes: tuple[str, ...] = ()
    error: str | None = None
    norm: str = "l2"
    class_names: tuple[str, ...] | None = None
    certificate: Certificate | None = None
    cells: int | None = None
    open_cells: int | None = None

    def __repr__(self) -> str:
        if self.error is not None:
            return f"Margin(no answer: {self.error})"
        against = "" if self.rival is None else f", class {self.label_name} against {self.rival_name}"
        size = (
            f"{self.radius:.10g}" if self.standing is not Standing.BRACKETED else f"{self.lower:.6g}..{self.upper:.6g}"
        )
        norm = "" if self.norm == "l2" else f" in {self.norm}"
        return f"Margin({size}{norm}{against}, {self.standing.name} by {self.method})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, keys named as the attributes; None for values that are infinite or missing."""
        left_out = {"pairs", "certificate"}
        left_out |= {name for name in ("class_names", "cells", "open_cells") if getattr(self, name) is None}
        kept = [item.name for item in fields(self) if item.name not in left_out]
        plain = {name: _plain(getattr(self, name)) for name in kept} | self.name_cells()
        plain |= {} if self.certificate is None else {"certificate": self.certificate.data}
        pairs = [{item.name: _plain(getattr(pair, item.name)) for item in fields(pair)} for pair in self.pairs]
        return plain | {"pairs": pairs}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Margin:
        """Return the inverse of `to_dict`."""
        absent = math.nan if data["standing"] == Standing.FAILED.name else math.inf
        said_twice = ("pairs", "standing", "certificate", "label_name", "rival_name")
        values = {name: _restored(name, value, absent) for name, value in data.items() if name not in said_twice}
        pairs = tuple(PairMargin(**{k: _restored(k, v, math.inf) for k, v in pair.items()}) for pair in data["pairs"])
        proof = data.get("certificate")
        certificate = None if proof is None else Certificate(proof)
        return cls(**values, standing=Standing[data["standing"]], pairs=pairs, certificate=certificate)

    def to_row(self) -> dict[str, Any]:
        """Return the answer in one line of a table; the nearest point and the single rivals are left to `point` and `pairs`."""
        return {
            "label": self.label,
            "rival": self.rival,
            **self.name_cells(),
            "radius": self.radius,
            "lower": self.lower,
            "upper": self.upper,
            "standing": self.standing.name,
            "method": self.method,
            "complex_count": self.complex_count,
            "real_count": self.real_count,
            "seconds": self.seconds,
            "notes": joined(self.notes),
            "error": self.error,
        }

    def _repr_html_(self) -> str:
        return html_of_one(self)


# Of many points those that are known, by their places, and their margins.
Ordinary: TypeAlias = tuple[NDArray[np.intp], Sequence[Margin]]


class Margins(Listing[Margin]):
    """The margins of a batch, a sequence with one `Margin` per point, made when it is first asked for.

    radii, lower, upper   the margins and their bounds as arrays; NaN where a row has no answer
    standings             how each is known
    certificates          the proofs, None where there is none
    to_csv(path), to_json(path), to_frame()   one line per point, as a file or as a pandas DataFrame
    """

    shown_columns = ("label", "rival", "radius", "standing", "method")
    main_column = "radius"

    _known_radii: Callable[[], NDArray[np.float64]] | None = None
    _inputs: NDArray[np.float64] | None = None

    @classmethod
    def on_demand(cls, count: int, make: Callable[[int], Margin], radii: Callable[[], NDArray[np.float64]]) -> Self:
        """Return the rows 0, 1, …, `count` − 1 as `make` makes them; their radii are known without."""
        found = cls(RowsOnDemand(count, make))
        found._known_radii = radii
        return found

    def drawn_at(self, inputs: NDArray[np.float64]) -> Self:
        """Return these margins with their inputs in the plane (m, 2), so that a notebook shows a picture."""
        self._inputs = inputs
        return self

    def _repr_html_(self) -> str:
        table = super()._repr_html_()
        return table if self._inputs is None else table + picture(self._inputs, self)

    @property
    def lower(self) -> NDArray[np.float64]:
        """Return the lower bounds."""
        return self.column("lower")

    @property
    def upper(self) -> NDArray[np.float64]:
        """Return the upper bounds."""
        return self.column("upper")

    @property
    def certificates(self) -> list[Certificate | None]:
        """Return the proofs, None where there is none."""
        return [row.certificate for row in self]

    @property
    def radii(self) -> NDArray[np.float64]:
        """Return the margins; NaN where a row has no answer."""
        if self._known_radii is not None:
            return self._known_radii()
        return np.array([row.radius for row in self], dtype=np.float64)


def margin_with(values: dict[str, Any]) -> Margin:
    """Return a margin with these fields, three times faster than the constructor of a frozen class."""
    found = object.__new__(Margin)
    object.__setattr__(found, "__dict__", values)
    return found


def failed(error: str, seconds: float = 0.0) -> Margin:
    """Return the margin of a row that has no answer."""
    nan = math.nan
    return Margin(nan, nan, nan, None, None, None, Standing.FAILED, "none", seconds, error=error)


def open_margin(label: int | None, note: str) -> Margin:
    """Return a margin of which nothing is known yet."""
    return Margin(math.inf, 0.0, math.inf, None, label, None, Standing.BRACKETED, "bounds", 0.0, notes=(note,))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Standing):
        return value.name
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return list(value) if isinstance(value, tuple) else value


def _restored(name: str, value: Any, absent: float) -> Any:
    if name in ("radius", "lower", "upper", "seconds"):
        return absent if value is None else float(value)
    if name == "point" and value is not None:
        return np.array(value, dtype=np.float64)
    return tuple(value) if name in ("notes", "class_names") and value is not None else value
