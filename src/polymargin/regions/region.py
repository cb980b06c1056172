"""A region: which perturbations δ of an input u are allowed, and how long they are. A value; it knows no solver.

    weights      the norm is that of ω∘δ, for positive ω (n,)
    ellipsoid    L2 only: the length is √(δᵀMδ), for a positive definite M (n, n)
    domain       lo ≤ u + δ ≤ hi, coordinate by coordinate
    movable      the coordinates that may change
    subspace     L2 only: δ lies in the span of these columns (n, k)

A region is made without a dimension and gets it from the network (`in_dimension`). What changes nothing is left out then:
weights of one, a domain without ends, the identity as ellipsoid, all coordinates movable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.errors import InputError
from polymargin.regions import given
from polymargin.regions.frame import SkewFrame, frame_of
from polymargin.regions.norms import Norm
from polymargin.regions.perturbations import Perturbations, perturbations

Floats = NDArray[np.float64]

_NAMES = {Norm.L2: "L2", Norm.LINF: "Linf", Norm.L1: "L1"}


@dataclass(frozen=True, eq=False, repr=False)
class Region:
    """Made by `L2`, `Linf` and `L1`.

    >>> region = Linf(domain=(0, 1)).in_dimension(2)
    >>> region
    Linf(domain=(0, 1))
    >>> region.length([0.25, -0.5]), region.admits([0.5, 1.25])
    (0.5, False)
    """

    norm: Norm = Norm.L2
    weights: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None
    movable: tuple[int, ...] | None = None
    ellipsoid: Floats | None = None
    subspace: Floats | None = None
    stated_dimension: int | None = None

    def in_dimension(self, dimension: int) -> Region:
        """Return the region for inputs of this dimension; refuse one that does not fit it."""
        if self.stated_dimension not in (None, dimension):
            raise InputError(f"within={self!r}: made for {self.stated_dimension} inputs, the model has {dimension}")
        if self.movable is not None and max(self.movable) >= dimension:
            raise InputError(f"movable {list(self.movable)}: expected different coordinates from 0 to {dimension - 1}")
        low, high = (None if end is None else np.broadcast_to(end, dimension) for end in (self.low, self.high))
        movable = None if self.movable == tuple(range(dimension)) else self.movable
        return replace(self, low=low, high=high, movable=movable, stated_dimension=dimension)

    @property
    def dimension(self) -> int:
        """Return how many inputs there are."""
        if self.stated_dimension is None:
            raise InputError(f"{self!r} has no dimension yet; call in_dimension(n)")
        return self.stated_dimension

    @property
    def is_round(self) -> bool:
        """Return whether this is the plain L2 ball."""
        parts = (self.weights, self.low, self.movable, self.ellipsoid, self.subspace)
        return self.norm is Norm.L2 and all(part is None for part in parts)

    @property
    def is_skew(self) -> bool:
        """Return whether the coordinates of the input are not those of the ball."""
        return self.ellipsoid is not None or self.subspace is not None

    @property
    def moving(self) -> tuple[int, ...]:
        """Return the coordinates that may change."""
        return tuple(range(self.dimension)) if self.movable is None else self.movable

    @cached_property
    def root(self) -> Floats:
        """Return R (n, n) with |Rδ|₂ the length for L2: upper triangular for an ellipsoid."""
        if self.ellipsoid is not None:
            return np.asarray(np.linalg.cholesky(self.ellipsoid).T)
        return np.eye(self.dimension) if self.weights is None else np.diag(self.weights)

    @property
    def metric(self) -> Floats:
        """Return M (n, n) with √(δᵀMδ) the length for L2."""
        if self.ellipsoid is not None:
            return self.ellipsoid
        return np.eye(self.dimension) if self.weights is None else np.diag(self.weights**2)

    def length(self, step: ArrayLike) -> float:
        """Return the norm of δ, whether it is allowed or not."""
        delta = np.asarray(step, dtype=np.float64)
        if self.ellipsoid is not None:
            delta = self.root @ delta
        elif self.weights is not None:
            delta = self.weights * delta
        largest = float(np.abs(delta).max(initial=0.0))
        if self.norm is Norm.LINF or largest == 0.0 or not np.isfinite(largest):
            return largest
        return largest * float(np.linalg.norm(delta / largest, 2 if self.norm is Norm.L2 else 1))

    def distance(self, x: ArrayLike, u: ArrayLike) -> float:
        """Return the length of x − u; inf where the region does not allow it (to rounding, in a subspace)."""
        place, start = np.asarray(x, dtype=np.float64), np.asarray(u, dtype=np.float64)
        step = place - start
        if not self.admits(place) or (self.movable is not None and np.delete(step, self.movable).any()):
            return float("inf")
        if self.subspace is not None:
            off = step - self.subspace @ np.linalg.lstsq(self.subspace, step)[0]
            if np.abs(off).max() > 1e-9 * np.abs(step).max():
                return float("inf")
        return self.length(step)

    @cached_property
    def frame(self) -> SkewFrame | None:
        """Return coordinates in which the region is a ball; None if those of the input are."""
        return frame_of(self) if self.is_skew else None

    def at(self, u: Floats, radius: float) -> Perturbations:
        """Return what is allowed of u within the radius, as a box and a ball; more than that where a skew one has a domain."""
        self.check_inside(u)
        return perturbations(self, u, radius)

    def admits(self, point: ArrayLike) -> bool:
        """Return whether the point lies in the domain."""
        x = np.asarray(point, dtype=np.float64)
        return self.low is None or self.high is None or bool(((self.low <= x) & (x <= self.high)).all())

    def clipped(self, points: Floats) -> Floats:
        """Return the nearest points of the domain, coordinate by coordinate."""
        return points if self.low is None or self.high is None else np.clip(points, self.low, self.high)

    def check_inside(self, point: Floats) -> None:
        """Refuse a point outside the domain."""
        if not self.admits(point):
            raise InputError("the point lies outside the domain; expected a point inside, or a larger domain")

    def check_bounded(self) -> None:
        """Refuse what has margins alone."""
        if self.low is not None and self.is_skew:
            raise InputError(
                "an ellipsoid or a subspace within a domain has no bounds and no proofs: leave out the domain (what is "
                "proved without it holds inside it too), or give one weight per coordinate"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for files: null where there is nothing."""
        arrays = {"weights": self.weights, "low": self.low, "high": self.high}
        skew = {"ellipsoid": self.ellipsoid, "subspace": self.subspace}
        return {
            "norm": self.norm.value,
            **{name: None if array is None else array.tolist() for name, array in (arrays | skew).items()},
            "movable": None if self.movable is None else list(self.movable),
        }

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        arrays = (self.weights, self.low, self.high, self.ellipsoid, self.subspace)
        content = tuple(None if a is None else (a.shape, (a + 0.0).tobytes()) for a in arrays)
        return (self.norm, self.movable, self.stated_dimension, *content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Region) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        words = []
        if self.low is not None and self.high is not None:
            words.append(f"domain=({_end(self.low)}, {_end(self.high)})")
        if self.weights is not None:
            words.append("weights=…")
        if self.movable is not None:
            words.append(f"movable={list(self.movable) if len(self.movable) <= 8 else f'{len(self.movable)} inputs'}")
        if self.ellipsoid is not None:
            words.append("ellipsoid=…")
        if self.subspace is not None:
            words.append(f"subspace of dimension {self.subspace.shape[1]}")
        return f"{_NAMES[self.norm]}({', '.join(words)})"


def L2(
    domain: tuple[Any, Any] | None = None,
    weights: ArrayLike | None = None,
    movable: Sequence[int] | NDArray[Any] | None = None,
    *,
    ellipsoid: ArrayLike | None = None,
    subspace: ArrayLike | None = None,
) -> Region:
    """Return the region in which perturbations are measured by √Σ ωᵢ²δᵢ², or by √(δᵀMδ) for an ellipsoid M.

    >>> L2(domain=(0, 1), movable=[0, 2])
    L2(domain=(0, 1), movable=[0, 2])
    """
    if weights is not None and ellipsoid is not None:
        raise InputError("weights and ellipsoid: expected one of them; an ellipsoid diag(w²) is weights w")
    if movable is not None and subspace is not None:
        raise InputError("movable and subspace: expected one of them; columns of the identity are movable coordinates")
    return _region(Norm.L2, domain, weights, movable, given.ellipsoid(ellipsoid), given.subspace(subspace))


def Linf(
    domain: tuple[Any, Any] | None = None,
    weights: ArrayLike | None = None,
    movable: Sequence[int] | NDArray[Any] | None = None,
) -> Region:
    """Return the region in which perturbations are measured by max ωᵢ|δᵢ|.

    >>> Linf(domain=(0, 1))
    Linf(domain=(0, 1))
    """
    return _region(Norm.LINF, domain, weights, movable)


def L1(
    domain: tuple[Any, Any] | None = None,
    weights: ArrayLike | None = None,
    movable: Sequence[int] | NDArray[Any] | None = None,
) -> Region:
    """Return the region in which perturbations are measured by Σ ωᵢ|δᵢ|.

    >>> L1()
    L1()
    """
    return _region(Norm.L1, domain, weights, movable)


def _region(
    norm: Norm,
    domain: tuple[Any, Any] | None,
    weights: ArrayLike | None,
    movable: Any,
    ellipsoid: Floats | None = None,
    subspace: Floats | None = None,
) -> Region:
    low, high = given.domain(domain)
    scale = given.weights(weights)
    coordinates, masked = given.movable(movable)
    sizes = {
        "domain": None if low is None or low.ndim == 0 else len(low),
        "weights": None if scale is None else len(scale),
        "movable": masked,
        "ellipsoid": None if ellipsoid is None else len(ellipsoid),
        "subspace": None if subspace is None else len(subspace),
    }
    known = {name: size for name, size in sizes.items() if size is not None}
    if len(set(known.values())) > 1:
        raise InputError(f"{', '.join(f'{name} of {size} inputs' for name, size in known.items())}: expected one size")
    if scale is not None and (scale == 1).all():
        scale = None
    if ellipsoid is not None and np.array_equal(ellipsoid, np.eye(len(ellipsoid))):
        ellipsoid = None
    if low is not None and high is not None and np.isinf(low).all() and np.isinf(high).all():
        low = high = None
    dimension = next(iter(known.values()), None)
    found = Region(norm, scale, low, high, coordinates, ellipsoid, subspace)
    return found if dimension is None else found.in_dimension(dimension)


def _end(values: Floats) -> str:
    return f"{values.min():g}" if (values == values.min()).all() else "…"
