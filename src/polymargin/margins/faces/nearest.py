"""The nearest tie over all faces, confirmed; what could not be settled makes it a bracket.

A candidate stands if a point of the domain next to it is on the other side of the boundary in exact arithmetic: between it and u
lies a tie, since domains and balls are convex. A nearer candidate that does not stand, or a face whose list may have gaps, leaves
the answer bracketed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.continuation import Tracker
from polymargin.margins.confirmation import exact_signs
from polymargin.margins.faces.candidates import candidates
from polymargin.margins.faces.face import faces
from polymargin.margins.pairs import Enumeration
from polymargin.margins.result import PairMargin
from polymargin.regions import Region

Array = NDArray[np.float64]

# How far beyond a candidate, relative to its distance, the other side may begin.
REACHES = (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9)
# Coordinates this far outside the domain, relative to its size, may have been put there by rounding.
ROUNDING = 1e-9
# Points of the ball that are looked at in the end: does anything nearer tie?
SAMPLES = 64


def nearest_on_faces(
    boundary: Boundary, u: Array, rival: int | None, near: Region, search: Enumeration, tracker: Tracker
) -> PairMargin:
    """Return the least length of a perturbation to {B = 0}, for a point that is not on it."""
    side = exact_signs(boundary, u[None])[0]
    active = boundary.space.dimension
    best, place = math.inf, None
    doubts: list[float] = []
    complete, found, real = True, 0, 0
    for face in faces(near, u, active):
        tracker.deadline.check()
        if face.floor > best:
            continue
        here = candidates(boundary, face, search, tracker)
        complete &= here.complete
        found, real = found + here.found, real + len(here.points)
        for point in here.points:
            inside = near.clipped(point)
            length = near.length(inside - u)
            if length >= best or not _inside(near, point):
                continue
            if _stands(boundary, u, inside, side, near):
                best, place = length, inside
            else:
                doubts.append(length)
    nearer = min((length for length in doubts if length < best), default=math.inf)
    seen = _seen_across(boundary, u, side, near, best)
    if seen is not None:  # a tie nearer than the nearest: something was lost
        complete, best, place = False, near.length(seen - u), seen
    notes: tuple[str, ...] = ()
    if not complete:
        notes = ("on some face not every path has a known end",)
    elif nearer < math.inf:
        notes = (f"a tie at distance {nearer:.6g} could not be confirmed in exact arithmetic",)
    elif place is None:
        notes = ("no face has a real critical point: no point of the region ties",)
    complete &= nearer == math.inf
    return PairMargin(
        rival=rival,
        radius=best,
        lower=best if complete else 0.0,  # a doubtful candidate is no bound: its error is unknown
        upper=best,
        point=place,
        method="faces",
        complete=complete,
        complex_count=found,
        real_count=real,
        bound=found,
        notes=notes,
    )


def _inside(near: Region, point: Array) -> bool:
    """Return whether a point is in the domain up to rounding; one outside by rounding is as near on the face at that end."""
    if near.low is None or near.high is None:
        return True
    room = ROUNDING * (1 + np.abs(point))
    return bool(((near.low - room <= point) & (point <= near.high + room)).all())


def _stands(boundary: Boundary, u: Array, point: Array, side: int, near: Region) -> bool:
    """Return whether B is zero, or has the other sign, at the point or next to it within the domain."""
    slope = boundary.gradient(point)
    steepest = np.zeros_like(u)
    moving = list(near.moving)
    steepest[moving] = -side * slope[moving]
    size = float(np.abs(steepest).max(initial=0.0))
    directions = [point - u] + ([steepest / size * float(np.abs(point - u).max())] if size > 0 else [])
    for reach in REACHES:
        places = np.stack([near.clipped(point + reach * direction) for direction in directions])
        if any(sign != side for sign in exact_signs(boundary, places)):
            return True
    return False


def _seen_across(boundary: Boundary, u: Array, side: int, near: Region, radius: float) -> Array | None:
    """Return a point of the region nearer than the radius and across the boundary, if a look at some of them finds one."""
    generator = np.random.default_rng(20269)
    moving = list(near.moving)
    steps = np.zeros((SAMPLES, len(u)))
    steps[:, moving] = generator.standard_normal((SAMPLES, len(moving)))
    steps[: SAMPLES // 2, moving] = np.sign(steps[: SAMPLES // 2, moving])
    reach = radius * (1 - 1e-6) if math.isfinite(radius) else 10 * (1 + float(np.abs(u).max()))
    lengths = np.array([near.length(step) for step in steps])
    places = near.clipped(u + steps * (reach / lengths)[:, None])
    with np.errstate(all="ignore"):
        values = boundary.source.values(places)
        across = np.flatnonzero(-side * values > boundary.source.noise(places))
    return min((places[i] for i in across), key=lambda place: near.length(place - u), default=None)
