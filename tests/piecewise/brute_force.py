"""The margin of a small ReLU network by listing regions: slow, simple, and sharing no code with the package.

`by_all_patterns` solves a quadratic program for each of the 2^h sign patterns. `by_regions` lists the patterns that occur, neuron
by neuron. Both use quadprog (Goldfarb and Idnani), which the package does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

quadprog = pytest.importorskip("quadprog")


def nearest(rows: np.ndarray, limits: np.ndarray, u: np.ndarray) -> np.ndarray | None:
    """The point of {x : rows @ x ≤ limits} nearest to u, None if there is none; rows of length one."""
    try:
        return quadprog.solve_qp(np.eye(len(u)), u.copy(), -rows.T.copy(), -limits.copy())[0]
    except ValueError:
        return None


def by_all_patterns(
    layers: list[tuple[np.ndarray, np.ndarray]], u: np.ndarray, label: int, rivals: list[int] | None = None
) -> float:
    """min ‖x − u‖ over all patterns, rivals, and points of the pattern's polyhedron where the rival is not behind."""
    best = math.inf
    widths = [len(bias) for _, bias in layers[:-1]]
    for flat in product((False, True), repeat=sum(widths)):
        matrix, offset = np.eye(len(u)), np.zeros(len(u))
        rows, limits, position = [], [], 0
        for weights, bias in layers[:-1]:
            matrix, offset = weights @ matrix, weights @ offset + bias
            active = np.array(flat[position : position + len(bias)])
            position += len(bias)
            sign = np.where(active, -1.0, 1.0)
            rows.append(sign[:, None] * matrix)
            limits.append(-sign * offset)
            matrix, offset = matrix * active[:, None], offset * active
        best = min(
            best, _in_region(np.concatenate(rows), np.concatenate(limits), matrix, offset, layers, u, label, rivals)
        )
    return best


def _in_region(
    rows: np.ndarray,
    limits: np.ndarray,
    matrix: np.ndarray,
    offset: np.ndarray,
    layers: list[tuple[np.ndarray, np.ndarray]],
    u: np.ndarray,
    label: int,
    rivals: list[int] | None = None,
) -> float:
    """The nearest point of one closed region at which another class (or one of `rivals`) is not behind."""
    best = math.inf
    weights, bias = layers[-1]
    logits, shifts = weights @ matrix, weights @ offset + bias
    for rival in range(len(bias)) if rivals is None else rivals:
        if rival == label:
            continue
        every = np.vstack([rows, logits[label] - logits[rival]])
        levels = np.append(limits, shifts[rival] - shifts[label])
        sizes = np.linalg.norm(every, axis=1)
        flat = sizes < 1e-12
        if (levels[flat] < -1e-12).any():
            continue
        x = nearest(every[~flat] / sizes[~flat, None], levels[~flat] / sizes[~flat], u) if (~flat).any() else u
        if x is not None:
            best = min(best, float(np.linalg.norm(x - u)))
    return best


def regions(layers: list[tuple[np.ndarray, np.ndarray]], start: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """(rows, limits, matrix, offset) of every full-dimensional region; activations are matrix @ x + offset."""
    size = len(start)

    def descend(layer, index, matrix, offset, values, shifts, active, rows, limits, witness):
        if layer == len(layers) - 1:
            yield rows, limits, matrix, offset
            return
        weights, bias = layers[layer]
        if index == 0:
            values, shifts = weights @ matrix, weights @ offset + bias
        if index == len(bias):
            keep = np.array(active)
            yield from descend(
                layer + 1, 0, values * keep[:, None], shifts * keep, None, None, [], rows, limits, witness
            )
            return
        length = np.linalg.norm(values[index])
        if length < 1e-12:
            on = bool(shifts[index] > 0)
            yield from descend(layer, index + 1, matrix, offset, values, shifts, [*active, on], rows, limits, witness)
            return
        normal, shift = values[index] / length, shifts[index] / length
        for on in (False, True):
            sign = -1.0 if on else 1.0
            more, levels = np.vstack([rows, sign * normal]), np.append(limits, -sign * shift)
            inside = -sign * (normal @ witness + shift) > 1e-9
            point = witness if inside else nearest(more, levels - 1e-8, witness)
            if point is not None:
                yield from descend(layer, index + 1, matrix, offset, values, shifts, [*active, on], more, levels, point)

    yield from descend(
        0, 0, np.eye(size), np.zeros(size), None, None, [], np.zeros((0, size)), np.zeros(0), start + 1e-3
    )


def by_regions(layers: list[tuple[np.ndarray, np.ndarray]], u: np.ndarray, label: int) -> tuple[float, int, int]:
    """The margin, the number of regions, and how many of them are nearer than the margin."""
    every = list(regions(layers, u))
    best = min(_in_region(*region, layers, u, label) for region in every)
    within = sum(
        (x := nearest(rows, limits, u)) is not None and np.linalg.norm(x - u) < best for rows, limits, _, _ in every
    )
    return best, len(every), within
