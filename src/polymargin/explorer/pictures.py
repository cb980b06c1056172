"""Backgrounds of the picture as arrays: logits over the window, chambers, and the ED discriminant."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.errors import InputError
from polymargin.explorer.scene import Scene
from polymargin.geometry import Plane, chambers, ed_discriminant
from polymargin.plots.evolute import signed_root

Window = tuple[float, float, float, float]

# Samples per side of the window, fewer for networks with many inputs.
SAMPLES, FEW_SAMPLES, MANY_INPUTS = 160, 64, 32
# Points per evaluation: activations of image networks are large.
AT_A_TIME = 1_024
# Larger differences of logits are clipped before single precision.
LARGEST = 1e30
# Samples of the chambers, fewer if each sample has many paths.
CHAMBER_SAMPLES, LEAST_SAMPLES, CHAMBER_PATHS = 12_000, 900, 2_000_000
CHAMBER_VARIABLES = 12
# Pixels per side of their picture, about.
CHAMBER_PIXELS = 1_200
DISCRIMINANT_SAMPLES = 300
DISCRIMINANT_SECONDS = 30.0


def logit_field(scene: Scene, window: Window) -> dict[str, Any]:
    """Return the logits on a grid, row 0 lowest, relative to the largest one at each place."""
    size = SAMPLES if scene.network.dimension <= MANY_INPUTS else FEW_SAMPLES
    points = scene.plane.points(grid(window, size))
    parts = [scene.network(points[start : start + AT_A_TIME]) for start in range(0, len(points), AT_A_TIME)]
    logits = np.concatenate(parts)
    lead = np.nan_to_num(logits - logits.max(axis=1, keepdims=True), neginf=-LARGEST, posinf=LARGEST)
    # One unit for the whole window, so that values between two places can be interpolated.
    unit = float(np.median(np.abs(lead[lead < 0]))) if (lead < 0).any() else 1.0
    logits = np.clip(lead / unit, -LARGEST, LARGEST)
    return {"size": size, "classes": logits.shape[1], "window": list(window), "values": packed(logits.T, "<f4")}


def chamber_field(scene: Scene, boundary: Boundary, window: Window, going_on: Callable[[int], None]) -> dict[str, Any]:
    """Return the numbers of real critical points over the window, −1 where unknown. `going_on` may raise to end the work."""
    if boundary.degree < 1:
        raise InputError("the two classes differ by a constant: there is no boundary between them")
    if boundary.space.dimension > CHAMBER_VARIABLES:
        raise InputError(
            f"the boundary depends on {boundary.space.dimension} variables: its chambers take too long for a page; "
            "the command `polymargin chambers` draws them"
        )
    samples = int(np.clip(CHAMBER_PATHS // boundary.critical_bound, LEAST_SAMPLES, CHAMBER_SAMPLES))
    plane = Plane(scene.plane.origin, scene.plane.first, scene.plane.second, window)
    found = chambers(boundary, plane, samples, seed=scene.seed, progress=going_on)
    shares = {str(number): round(share, 4) for number, share in found.shares().items()}
    step = max(1, round(len(found.raster) / CHAMBER_PIXELS))
    raster = found.raster[::step, ::step]
    width = 1 if found.total < 128 else 2
    return {
        "size": len(raster),
        "window": list(window),
        "total": found.total,
        "shares": shares,
        "bytes": width,
        "values": packed(raster, f"<i{width}"),
    }


def discriminant_field(boundary: Boundary, window: Window, going_on: Callable[[int], None]) -> dict[str, Any]:
    """Sample the exact discriminant polynomial; its sign changes are the curve. `going_on` may raise to end the work."""
    if boundary.dimension != 2:
        raise InputError(
            f"the ED discriminant of {boundary.dimension} inputs is not a curve in the plane; the chambers show where it cuts"
        )
    found = ed_discriminant(boundary, timeout=DISCRIMINANT_SECONDS, progress=going_on)
    values = signed_root(_sampled(found.polynomial, grid(window, DISCRIMINANT_SAMPLES)), found.degree)
    largest = float(np.abs(values).max()) or 1.0
    return {
        "size": DISCRIMINANT_SAMPLES,
        "window": list(window),
        "degree": found.degree,
        "method": found.method,
        "seconds": found.seconds,
        "values": packed(values / largest, "<f4"),
    }


def _sampled(polynomial: Any, places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values of a polynomial up to a positive factor, in extended precision if there is one."""
    terms = {tuple(map(int, powers)): int(coefficient) for powers, coefficient in polynomial.to_dict().items()}
    largest = max(map(abs, terms.values()))
    first, second = places.astype(np.longdouble).T
    degree = max(map(sum, terms))
    rising = [[np.ones_like(first)], [np.ones_like(second)]]
    for _ in range(degree):
        rising[0].append(rising[0][-1] * first)
        rising[1].append(rising[1][-1] * second)
    total = np.zeros_like(first)
    for (i, j), coefficient in terms.items():
        total += np.longdouble(float(Fraction(coefficient, largest))) * rising[0][i] * rising[1][j]
    return np.asarray(total / (np.abs(total).max() or 1.0), dtype=np.float64)


def grid(window: Window, size: int) -> NDArray[np.float64]:
    """Return places (size², 2), the lowest row first."""
    s, c = np.meshgrid(np.linspace(*window[:2], size), np.linspace(*window[2:], size))
    return np.column_stack([s.ravel(), c.ravel()])


def packed(values: Any, kind: str) -> str:
    """Return an array as base64 text."""
    return b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")
