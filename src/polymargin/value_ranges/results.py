"""Ranges of the layers of a network, and what they answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.margins.certificate import Certificate
from polymargin.networks.exact import ExactStages
from polymargin.networks.forms import Forms
from polymargin.networks.stages import Stage
from polymargin.standing import Standing

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LayerRanges:
    """Ranges of the pre-activations of a layer, arrays (h,); the last layer are the logits.

    name                      of the layer in the model file, else its number
    lower, upper              proved ends
    found_lower, found_upper  extremes that search found
    lowest, highest           (h, n) the inputs at which they are taken
    observed                  (2, h) the least and largest values on data, if some were given
    """

    name: str
    lower: Array
    upper: Array
    found_lower: Array
    found_upper: Array
    lowest: Array = field(repr=False)
    highest: Array = field(repr=False)
    observed: Array | None = field(repr=False)
    stages: tuple[Stage, ...] = field(repr=False)
    forms: Forms = field(repr=False)

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def ratio(self) -> Array:
        """Return proved widths over widths found (h,)."""
        return np.asarray((self.upper - self.lower) / np.maximum(self.found_upper - self.found_lower, 1e-300))

    @property
    def largest(self) -> float:
        """Return a proved bound for the absolute values of all pre-activations."""
        return float(np.maximum(np.abs(self.lower), np.abs(self.upper)).max())

    @property
    def interval(self) -> tuple[float, float]:
        """Return proved ends for all pre-activations of the layer together."""
        return float(self.lower.min()), float(self.upper.max())

    def exact_values(self, point: Array) -> list[Any]:
        """Return the pre-activations at an input without rounding, as Fractions."""
        return ExactStages(self.stages, self.forms)(point)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        names = ("lower", "upper", "found_lower", "found_upper")
        observed = {} if self.observed is None else {"observed": self.observed.tolist()}
        return {
            "name": self.name,
            "interval": list(self.interval),
            **{name: getattr(self, name).tolist() for name in names},
            **observed,
        }


@dataclass(frozen=True)
class Containment:
    """Whether all pre-activations of a layer stay in an interval: True, False with a witness, or None if it is not known.

    neuron    the one that leaves it, or that is not shown to stay
    witness   an input at which it leaves
    value     of the neuron there, computed without rounding and then rounded
    """

    answer: bool | None
    neuron: int | None = None
    witness: Array | None = field(default=None, repr=False)
    value: float | None = None

    def __bool__(self) -> bool:
        return self.answer is True


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of all layers over a set of inputs.

    standing      CERTIFIED if the checker accepted the proof in the same call; else NUMERICAL
    certificate   what it accepted
    inputs        the set of inputs in words
    """

    layers: Sequence[LayerRanges]
    standing: Standing
    certificate: Certificate | None
    inputs: str
    seconds: float
    note: str = ""

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, layer: int | str) -> LayerRanges:
        return self.layers[self._number(layer)]

    def stays_within(self, layer: int | str, low: float, high: float) -> Containment:
        """Return whether all pre-activations of a layer stay in [low, high]; a witness is checked in exact arithmetic."""
        if not low <= high:
            raise InputError(f"the interval from {low} to {high}: expected low ≤ high")
        chosen = self[layer]
        if self.standing is Standing.CERTIFIED and (chosen.lower >= low).all() and (chosen.upper <= high).all():
            return Containment(True)
        beyond = np.concatenate([low - chosen.found_lower, chosen.found_upper - high])
        place = int(np.argmax(beyond))
        neuron = place % len(chosen)
        if beyond[place] > 0:
            witness = (chosen.lowest if place < len(chosen) else chosen.highest)[neuron]
            value = chosen.exact_values(witness)[neuron]
            if value < low or value > high:
                return Containment(False, neuron, witness, float(value))
        gaps = np.maximum(low - chosen.lower, chosen.upper - high)
        return Containment(None, int(np.argmax(gaps)))

    def bits(self, scale: float) -> list[int]:
        """Return for each layer how many bits, sign included, an integer needs for all its values times the scale."""
        if not (np.isfinite(scale) and scale > 0):
            raise InputError(f"scale={scale!r}: expected a positive number, such as 2**30")
        return [1 + max(0, int(np.floor(np.log2(max(layer.largest * scale, 1e-300)))) + 1) for layer in self.layers]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "inputs": self.inputs,
            "standing": self.standing.name,
            "seconds": round(self.seconds, 3),
            "layers": [layer.to_dict() for layer in self.layers],
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Return JSON with the intervals of every layer by its name; write it if a path is given."""
        text = json.dumps(self.to_dict(), allow_nan=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    def _number(self, layer: int | str) -> int:
        names = [one.name for one in self.layers]
        if isinstance(layer, str):
            if layer not in names:
                raise InputError(f"layer {layer!r}: expected one of {', '.join(names)}")
            return names.index(layer)
        if isinstance(layer, bool) or not isinstance(layer, (int, np.integer)) or not -len(names) <= layer < len(names):
            raise InputError(f"layer {layer!r}: expected a number from 0 to {len(names) - 1}, or a name")
        return int(layer) % len(names)

    @property
    def _rows(self) -> list[list[str]]:
        rows = []
        for layer in self.layers:
            ends = [(layer.lower.min(), layer.upper.max()), (layer.found_lower.min(), layer.found_upper.max())]
            if layer.observed is not None:
                ends.append((layer.observed[0].min(), layer.observed[1].max()))
            cells = [f"[{low:.4g}, {high:.4g}]" for low, high in ends]
            rows.append([layer.name, str(len(layer)), *cells, f"{np.median(layer.ratio):.3f}"])
        return rows

    @property
    def _head(self) -> list[str]:
        observed = ["observed"] if any(layer.observed is not None for layer in self.layers) else []
        return ["layer", "neurons", "proved", "found", *observed, "proved / found"]

    def __repr__(self) -> str:
        table = [self._head, *self._rows]
        widths = [max(len(row[k]) for row in table) for k in range(len(self._head))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table
        ]
        return "\n".join([f"Ranges({self.standing.name} over {self.inputs})", *lines])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(word)}</th>" for word in self._head)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self._rows)
        title = escape(f"{self.standing.name} over {self.inputs}")
        return f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
