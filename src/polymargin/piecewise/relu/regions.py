"""All regions of a small ReLU network, one by one: for counts, pictures and comparisons; the search never lists them.

Neuron by neuron, layer by layer: a hyperplane splits the regions whose interior it meets. Each region keeps an interior point,
so only the side away from it needs a program: is there a point of the region beyond the hyperplane, by more than rounding?
On every region the two logits of a pair differ by an affine function, so the tie is one hyperplane and the local problem has
one critical point, the foot of the perpendicular: local ED degree 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import checked
from polymargin.errors import InputError, TooManyPathsError
from polymargin.networks import Network
from polymargin.piecewise.projection import project_origin
from polymargin.piecewise.search_at import is_relu, searchable

Array = NDArray[np.float64]

# Regions narrower than this, in units of the coordinates, are not told from their boundary.
THIN = 1e-9
DEFAULT_LIMIT = 100_000


@dataclass(frozen=True, eq=False)
class LinearRegion:
    """A full-dimensional region {x : rows @ x ≤ limits}, rows of length one, and the affine logits matrix @ x + offset on it.

    signs  which neurons are active, layer after layer
    inner  a point of the interior
    """

    signs: tuple[bool, ...]
    rows: Array
    limits: Array
    inner: Array
    matrix: Array
    offset: Array

    def tie(self, label: int, rival: int) -> tuple[Array, float] | None:
        """Return the hyperplane slope·x + shift = 0 that holds the tie of two classes, None if their difference is constant."""
        slope, shift = self.matrix[label] - self.matrix[rival], float(self.offset[label] - self.offset[rival])
        return (slope, shift) if slope.any() else None

    def distance(self, u: Array) -> float:
        """Return the distance from u to the closed region."""
        return project_origin(self.rows, self.limits - self.rows @ u).lower

    def nearest_tie(self, u: Array, label: int, rival: int) -> Array | None:
        """Return the point of the tie in the closed region nearest to u."""
        tie = self.tie(label, rival)
        if tie is None:
            return None
        slope, shift = tie
        rows = np.vstack([self.rows, slope, -slope])
        limits = np.array([*(self.limits - self.rows @ u), -shift - slope @ u, shift + slope @ u])
        found = project_origin(rows, limits)
        return None if found.point is None else u + found.point


@checked(Network)
def linear_regions(network: Network, *, limit: int = DEFAULT_LIMIT) -> list[LinearRegion]:
    """Return every full-dimensional region; refused beyond `limit` of them.

    >>> from polymargin.networks import ReLUNetwork
    >>> cross = ReLUNetwork([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    >>> len(linear_regions(cross))
    4
    """
    chain, size = searchable(network), network.dimension
    if not is_relu(chain):
        raise InputError(f"{network!r}: expected layers with ReLU alone; regions are listed for these")
    # No hyperplane of a network with biases goes through this point by chance.
    start = np.random.default_rng(20266).normal(size=size)
    parts = [_LayerRegion((), np.zeros((0, size)), np.zeros(0), start, np.eye(size), np.zeros(size))]
    for layer in chain.layers[:-1]:
        done = []
        for part in parts:
            matrix, offset = layer.weights @ part.matrix, layer.weights @ part.offset + layer.bias
            for signs, rows, limits, inner in _split(part, matrix, offset):
                active = np.array(signs)
                done.append(
                    _LayerRegion(
                        (*part.signs, *signs),
                        rows,
                        limits,
                        inner,
                        np.where(active[:, None], matrix, 0.0),
                        np.where(active, offset, 0.0),
                    )
                )
                if len(done) > limit:
                    raise TooManyPathsError(f"{network!r} has more than {limit:,} regions; raise limit= to list them")
        parts = done
    last = chain.layers[-1]
    return [
        LinearRegion(p.signs, p.rows, p.limits, p.inner, last.weights @ p.matrix, last.weights @ p.offset + last.bias)
        for p in parts
    ]


@dataclass(frozen=True, eq=False)
class _LayerRegion:
    """A region of the first layers, and the activations matrix @ x + offset after them."""

    signs: tuple[bool, ...]
    rows: Array
    limits: Array
    inner: Array
    matrix: Array
    offset: Array


def _split(part: _LayerRegion, matrix: Array, offset: Array) -> Iterator[tuple[tuple[bool, ...], Array, Array, Array]]:
    """Yield the parts into which the hyperplanes matrix[j]·x + offset[j] = 0 divide a region, depth first."""
    stack: list[tuple[tuple[bool, ...], Array, Array, Array]] = [((), part.rows, part.limits, part.inner)]
    while stack:
        signs, rows, limits, inner = stack.pop()
        if len(signs) == len(offset):
            yield signs, rows, limits, inner
            continue
        normal, shift = matrix[len(signs)], offset[len(signs)]
        size = float(np.linalg.norm(normal))
        if size <= THIN * np.linalg.norm(part.matrix):  # constant on the region
            stack.append(((*signs, bool(shift > 0)), rows, limits, inner))
            continue
        normal, shift = normal / size, shift / size
        height = float(normal @ inner) + shift
        for active in (False, True):
            outward, level = (-normal, shift) if active else (normal, -shift)
            if (height > THIN) == active and abs(height) > THIN:
                point = inner
            else:
                found = project_origin(
                    np.vstack([rows, outward]), np.append(limits, level) - THIN - np.vstack([rows, outward]) @ inner
                )
                if found.point is None:
                    continue
                point = inner + found.point
            stack.append(((*signs, active), np.vstack([rows, outward]), np.append(limits, level), point))
