"""Export a page that works without a server.

For small networks in two inputs the file holds, per pair of classes, the polynomial in reduced coordinates and its critical
points at a generic complex point. The script (`solver.js`) follows them to the dragged point in doubles, without the
confirmation and the bounds of a `Margin`; the page says so. For other networks the file holds a grid of answers.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Tracker
from polymargin.enumeration import base_solutions
from polymargin.enumeration.cache import Cache
from polymargin.errors import PolymarginError
from polymargin.explorer.answers import Answers
from polymargin.explorer.page import static_page
from polymargin.explorer.pictures import grid, logit_field
from polymargin.explorer.scene import Scene

ComplexArray = NDArray[np.complex128]

# More paths than this cannot be followed thirty times a second by a script.
MOST_PATHS = 60
LARGEST_DEGREE = 12
# Answers per side of the grid.
GRID = 33


def export_page(scene: Scene, file: str | Path, progress: Callable[[int], None] | None = None) -> Path:
    """Write one HTML file; `progress` is called with 1 after each answer of a grid."""
    answers = Answers(scene)
    data = _solvable(scene, answers)
    if data is None:
        data = _precomputed(scene, answers, progress)
    try:
        start: dict[str, Any] | None = answers.at(scene.start)
    except PolymarginError:  # the page then shows its still picture without a disc
        start = None
    Path(file).write_text(static_page(scene, data, start), encoding="utf-8")
    return Path(file)


def precomputed_count(scene: Scene) -> int:
    """Return the number of answers of the grid; 0 for a page that solves by itself."""
    return GRID * GRID if _solvable(scene, Answers(scene)) is None else 0


def _solvable(scene: Scene, answers: Answers) -> dict[str, Any] | None:
    network = scene.network
    if network.dimension != 2 or network.degree > LARGEST_DEGREE:
        return None
    pairs = list(combinations(range(network.class_count), 2))
    boundaries = [answers.boundary(*pair) for pair in pairs]
    if any(boundary.degree < 2 or boundary.space.dimension != 2 for boundary in boundaries):
        return None
    if sum(boundary.critical_bound for boundary in boundaries) > MOST_PATHS:
        return None
    solved = []
    for pair, boundary in zip(pairs, boundaries, strict=True):
        base = base_solutions(boundary, Tracker(threads=1), seed=scene.seed, cache=Cache.from_option(True))
        reduction = boundary.reduction
        if base.unjudged:
            return None
        size = boundary.degree + 1
        values = reduction.source.values
        solved.append(
            {
                "classes": list(pair),
                "degree": boundary.degree,
                "coefficients": _rounded(_coefficients(lambda y: values(y) / reduction.factor, size)),  # noqa: B023
                "basis": reduction.basis.tolist(),
                "centre": reduction.centre.tolist(),
                "scale": reduction.scale,
                "parameters": _parts(base.parameters),
                "starts": [_parts(row) for row in base.solutions],
            }
        )
    left, right, low, high = scene.plane.window
    middle, half = np.array([(left + right) / 2, (low + high) / 2]), max(right - left, high - low) / 2
    size = network.degree + 1
    logits = [
        _rounded(_coefficients(lambda y: network.logits(middle + half * y)[..., label], size))  # noqa: B023
        for label in range(network.class_count)
    ]
    return {"kind": "solve", "pairs": solved, "logits": logits, "middle": middle.tolist(), "half": half}


def _precomputed(scene: Scene, answers: Answers, progress: Callable[[int], None] | None) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    for place in grid(scene.plane.window, GRID).tolist():
        try:
            answer = answers.at((place[0], place[1]))
            found.append({name: value for name, value in answer.items() if name not in ("place", "method", "seconds")})
        except PolymarginError as error:
            found.append({"error": str(error)})
        if progress is not None:
            progress(1)
    return {"kind": "grid", "size": GRID, "found": found, "field": logit_field(scene, scene.plane.window)}


def _coefficients(values: Callable[[ComplexArray], Any], size: int) -> ComplexArray:
    """Return the coefficients c[i][j] of y₀^i y₁^j of a real polynomial from its values at roots of unity."""
    turns = np.exp(2j * np.pi * np.arange(size) / size)
    first, second = np.meshgrid(turns, turns, indexing="ij")
    return np.asarray(np.fft.fft2(values(np.stack([first, second], axis=-1))) / size**2)


def _rounded(coefficients: ComplexArray) -> list[list[float]]:
    """Return real parts without the rounding errors above the degree, so that the script follows the same number of paths."""
    real = coefficients.real
    size = len(real)
    return [[float(real[i, j]) if i + j < size else 0.0 for j in range(size)] for i in range(size)]


def _parts(values: ComplexArray) -> list[float]:
    return [float(part) for value in values for part in (value.real, value.imag)]
