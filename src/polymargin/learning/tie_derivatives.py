"""Distances to ties, given as numbers, with the derivatives that they have.

Let x* = u + δ be the nearest tie of a point u with a rival, B = f_y − f_rival with y the true class, s = ±N(δ) the signed
distance in the norm N, and g = ∇B(x*). By the envelope theorem

    ∂s/∂θ = λ (∂B/∂θ)(x*),      ∂s/∂u = λ g,      λ = 1 / N*(g),

N* being the dual norm on the directions in which the input may move. So no derivative of a solver is needed: the module is
evaluated once more, at the constant points x*, and multiplied by constants. Both formulas hold on either side of the boundary
and on it.

Where x* is on a wall of the domain, its coordinates there do not move. λ is then that of the others: stationarity in them is
∂N(δ) = −λ g. The input's own coordinate still changes the distance to the wall: ∂s/∂u_i = ∓∂N(δ)_i.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.learning.extra import torch_package
from polymargin.regions import Norm, Region

Array = NDArray[np.float64]

# A coordinate this close to a wall, relatively, is on it.
ON_WALL = 1e-12


def with_derivatives(
    module: Any,
    x: Any,
    labels: NDArray[np.int64],
    rivals: NDArray[np.int64],
    distances: Array,
    ties: Array,
    near: Region,
) -> Any:
    """Return the distances as constants plus zeros that have their derivatives."""
    torch = torch_package()
    places = torch.as_tensor(ties, dtype=x.dtype, device=x.device).requires_grad_()
    rows = torch.arange(len(labels), device=x.device)
    with torch.enable_grad():
        logits = module(places)
        values = logits[rows, torch.as_tensor(labels)] - logits[rows, torch.as_tensor(rivals)]
        (slopes,) = torch.autograd.grad(values.sum(), places, retain_graph=True)
    moves = ties - x.detach().cpu().double().numpy()
    multipliers, pulls = _derivatives(near, distances, ties, moves, slopes.cpu().double().numpy())
    weight = torch.as_tensor(multipliers, dtype=x.dtype, device=x.device)
    result = torch.as_tensor(distances, dtype=x.dtype, device=x.device)
    result = result + torch.where(weight > 0, weight * (values - values.detach()), 0.0)
    if not x.requires_grad:
        return result
    return result + (torch.as_tensor(pulls, dtype=x.dtype, device=x.device) * (x - x.detach())).sum(dim=1)


def _derivatives(near: Region, distances: Array, ties: Array, moves: Array, slopes: Array) -> tuple[Array, Array]:
    """Return λ (m,), zero where there is none, and ∂s/∂u (m, n), for rows of ties and slopes g there."""
    finite = np.isfinite(distances) & np.isfinite(slopes).all(axis=1)
    slopes, moves = np.where(finite[:, None], slopes, 0.0), np.where(finite[:, None], moves, 0.0)
    walls = _walls(near, ties)
    if near.is_skew:
        parts = [_ellipsoid(near, *row) for row in zip(moves, slopes, walls, strict=True)]
        multipliers, own = np.array([part[0] for part in parts]), np.array([part[1] for part in parts])
    else:
        multipliers, own = _by_coordinates(near, moves, slopes, walls)
    away = -np.sign(distances)[:, None] * own
    singular = (multipliers == 0)[:, None]
    pulls = np.where(walls | singular, away, multipliers[:, None] * slopes)
    return multipliers, np.where(finite[:, None], pulls, 0.0)


def _walls(near: Region, ties: Array) -> NDArray[np.bool_]:
    """Return True for coordinates (m, n) of the ties that lie on the bounds of the domain."""
    held = np.zeros(ties.shape, dtype=bool)
    if near.low is None or near.high is None:
        return held
    for wall in (near.low, near.high):
        bounded = np.isfinite(wall)
        held[:, bounded] |= np.abs(ties - wall)[:, bounded] <= ON_WALL * (1 + np.abs(wall[bounded]))
    moving = np.zeros(ties.shape[1], dtype=bool)
    moving[list(near.moving)] = True
    return np.asarray(held & moving)


def _by_coordinates(near: Region, moves: Array, slopes: Array, walls: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return λ and ∂N(δ) for one weight per coordinate."""
    sizes = np.ones(near.dimension) if near.weights is None else near.weights
    free = np.zeros(moves.shape, dtype=bool)
    free[:, list(near.moving)] = True
    free &= ~walls
    steps, steep = sizes * moves, np.where(free, slopes, 0.0) / sizes
    if near.norm is Norm.L2:
        lengths = np.linalg.norm(steps, axis=1)
        along = steps / np.where(lengths > 0, lengths, 1.0)[:, None]
        share = np.where(walls.any(axis=1) & (lengths > 0), np.linalg.norm(np.where(free, along, 0.0), axis=1), 1.0)
        own, dual = sizes * along, np.linalg.norm(steep, axis=1)
    elif near.norm is Norm.LINF:
        share, dual = np.ones(len(moves)), np.abs(steep).sum(axis=1)
        largest = np.abs(steps) == np.abs(steps).max(axis=1, keepdims=True)
        # Of several largest coordinates each has its share; one that a wall holds moves nothing.
        own = np.where(largest & ~walls, sizes * np.sign(moves), 0.0)
        own /= np.maximum((largest & ~walls).sum(axis=1), 1)[:, None]
    else:
        share, dual = np.ones(len(moves)), np.abs(steep).max(axis=1, initial=0.0)
        own = sizes * np.sign(moves)
    return np.where(dual > 0, share / np.where(dual > 0, dual, 1.0), 0.0), own


def _ellipsoid(near: Region, move: Array, slope: Array, wall: NDArray[np.bool_]) -> tuple[float, Array]:
    """Return λ and ∂N(δ) for an ellipsoid or a subspace, at one point."""
    columns = near.subspace
    if columns is None:
        columns = np.eye(near.dimension)[:, [j for j in near.moving if not wall[j]]]
    step = near.root @ move
    length = float(np.linalg.norm(step))
    along = step / length if length > 0 else step
    base, triangle = np.linalg.qr(near.root @ columns)
    dual = (
        float(np.linalg.norm(linalg.solve_triangular(triangle, columns.T @ slope, trans="T"))) if columns.size else 0.0
    )
    share = float(np.linalg.norm(base.T @ along)) if length > 0 and wall.any() else 1.0
    return (share / dual if dual > 0 else 0.0), near.root.T @ along
