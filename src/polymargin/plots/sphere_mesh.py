"""A surface B = 0 in three variables as triangles, by marching through the cells of a grid.

Every cube of the grid is cut into six tetrahedra around its main diagonal. In a tetrahedron the signs at the corners leave no
doubt how the surface passes, unlike in a cube; neighbours share faces and edges, so the mesh has no cracks. The crossing of each
edge is then bisected, so that the vertices lie on the surface as nearly as a picture can show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Field = Callable[[Array], Array]

# Corners of a cube are numbered by bits (x + 2y + 4z); each tetrahedron walks from corner 0 to corner 7 along three edges.
TETRAHEDRA = ((0, 1, 3, 7), (0, 3, 2, 7), (0, 2, 6, 7), (0, 6, 4, 7), (0, 4, 5, 7), (0, 5, 1, 7))
BISECTIONS = 14


@dataclass(frozen=True, eq=False)
class Mesh:
    """Vertices (V, 3), unit normals (V, 3), triangles (T, 3) as indices of vertices."""

    vertices: Array
    normals: Array
    triangles: Indices


def level_surface(field: Field, low: float, high: float, cells: int) -> Mesh:
    """Return the zeros of `field`, a function of points (m, 3), in the cube [low, high]³ with cells³ cells.

    >>> ball = level_surface(lambda x: (x**2).sum(axis=1) - 1.0, -1.5, 1.5, 8)
    >>> bool(np.allclose(np.linalg.norm(ball.vertices, axis=1), 1.0, atol=1e-4))
    True
    """
    if cells < 2 or not low < high:
        raise InputError(f"{cells} cells on [{low}, {high}]: expected at least two and low < high")
    ticks = np.linspace(low, high, cells + 1)
    grid = np.stack(np.meshgrid(ticks, ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 3)
    inside = field(grid) > 0
    edges = np.concatenate([_triangle_edges(tetrahedra, inside) for tetrahedra in _tetrahedra(cells)])
    pairs, numbers = np.unique(np.sort(edges.reshape(-1, 2), axis=1), axis=0, return_inverse=True)
    vertices = _crossings(field, grid[pairs[:, 0]], grid[pairs[:, 1]], inside[pairs[:, 0]])
    return Mesh(vertices, _normals(field, vertices, (high - low) * 1e-5), numbers.reshape(-1, 3))


def ball_mesh(centre: Array, radius: float, cells: int = 24) -> Mesh:
    """Return a sphere as a mesh, for scenes."""
    unit = level_surface(lambda x: np.asarray((x**2).sum(axis=1) - 1.0), -1.25, 1.25, cells)
    return Mesh(centre + radius * unit.vertices, unit.normals, unit.triangles)


def _tetrahedra(cells: int) -> list[Indices]:
    """Return six arrays (cells³, 4) of grid indices."""
    side = cells + 1
    i, j, k = np.meshgrid(*[np.arange(cells)] * 3, indexing="ij")
    first = ((i * side + j) * side + k).ravel()
    shift = [(bit & 1) * side * side + (bit >> 1 & 1) * side + (bit >> 2 & 1) for bit in range(8)]
    return [np.stack([first + shift[corner] for corner in corners], axis=1) for corners in TETRAHEDRA]


def _triangle_edges(tetrahedra: Indices, inside: NDArray[np.bool_]) -> Indices:
    """Return for every triangle the three edges of the tetrahedron on which its corners lie: (T, 3, 2)."""
    patterns = (inside[tetrahedra] * [1, 2, 4, 8]).sum(axis=1)
    found = [np.empty((0, 3, 2), dtype=np.int64)]
    for pattern in range(1, 15):
        chosen = tetrahedra[patterns == pattern]
        positive = [corner for corner in range(4) if pattern >> corner & 1]
        negative = [corner for corner in range(4) if not pattern >> corner & 1]
        if len(positive) == 2:  # a quadrilateral with corners on ac, ad, bd, bc in this order
            (a, b), (c, d) = positive, negative
            triangles = [((a, c), (a, d), (b, d)), ((a, c), (b, d), (b, c))]
        else:
            (alone,), others = sorted((positive, negative), key=len)
            triangles = [tuple((alone, other) for other in others)]  # type: ignore[list-item]
        found += [np.stack([chosen[:, list(edge)] for edge in triangle], axis=1) for triangle in triangles]
    return np.concatenate(found)


def _crossings(field: Field, first: Array, second: Array, first_inside: NDArray[np.bool_]) -> Array:
    """Locate the sign change on every segment by bisection."""
    for _ in range(BISECTIONS):
        middle = (first + second) / 2
        with_first = ((field(middle) > 0) == first_inside)[:, None]
        first, second = np.where(with_first, middle, first), np.where(with_first, second, middle)
    return np.asarray((first + second) / 2)


def _normals(field: Field, points: Array, step: float) -> Array:
    """Return unit gradients by central differences, zero where the gradient vanishes."""
    gradient = np.stack([field(points + step * axis) - field(points - step * axis) for axis in np.eye(3)], axis=1)
    return np.asarray(gradient / np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), 1e-300))
