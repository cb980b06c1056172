"""What a perturbation δ of an input may be, and how long it is. A value, checked once; no solver.

norm        l2, linf or l1 of δ, or of w∘δ for positive `weights` (n,); for l2 also √(δᵀMδ) for a positive definite M (n, n)
domain      lo ≤ u + δ ≤ hi, coordinate by coordinate
movable     the coordinates that may change, or for l2 the columns (n, k) of a subspace in which δ lies
rivals      the classes whose ties count; all by default
abstain     an answer counts only if its logit leads by more than this
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.errors import InputError
from polymargin.regions.norms import Norm

Array = NDArray[np.float64]

# Of weights and ends of domains: their squares and quotients must stay within the range of doubles.
SMALLEST, LARGEST = 1e-60, 1e60


class NeighbourhoodOptions(TypedDict, total=False):
    """The keywords of `Neighbourhood.of`, for type checkers."""

    norm: str
    weights: ArrayLike | None
    domain: tuple[Any, Any] | None
    movable: Any
    rivals: Sequence[int] | None
    abstain: float


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Made by `Neighbourhood.of`.

    >>> near = Neighbourhood.of(2, norm="linf", domain=(0, 1))
    >>> near
    Neighbourhood(linf within [0, 1])
    >>> near.length([0.25, -0.5]), near.admits([0.5, 1.25])
    (0.5, False)
    """

    dimension: int
    norm: Norm = Norm.L2
    weights: Array | None = None
    low: Array | None = None
    high: Array | None = None
    movable: tuple[int, ...] | None = None
    subspace: Array | None = None
    rivals: tuple[int, ...] | None = None
    abstain: float = 0.0

    @classmethod
    def of(
        cls,
        dimension: int,
        *,
        norm: str | Norm = "l2",
        weights: ArrayLike | None = None,
        domain: tuple[Any, Any] | None = None,
        movable: Any = None,
        rivals: Sequence[int] | None = None,
        abstain: float = 0.0,
        classes: int | None = None,
    ) -> Neighbourhood:
        """From what a user gives; a wrong value gets one sentence. `classes`: how many there are, if rivals are among them."""
        chosen = _norm(norm)
        low, high = _domain(domain, dimension)
        coordinates, subspace = _movable(movable, dimension)
        if subspace is not None and (chosen is not Norm.L2 or low is not None):
            raise InputError("movable= with the columns of a subspace: expected norm='l2' and no domain")
        if not np.isfinite(abstain) or abstain < 0:
            raise InputError(f"abstain={abstain}: expected a lead of the logits, 0 or more")
        return cls(
            dimension,
            chosen,
            _weights(weights, dimension, chosen),
            low,
            high,
            coordinates,
            subspace,
            None if rivals is None else _rivals(rivals, classes),
            float(abstain),
        )

    @property
    def is_everything(self) -> bool:
        """Whether this is the default: any δ, measured by its L2 norm, against any rival."""
        return self.norm is Norm.L2 and self.has_whole_space and self.rivals is None and self.abstain == 0

    @property
    def is_ball(self) -> bool:
        """Whether it is an L2 ball in which all that counts is a tie."""
        return self.norm is Norm.L2 and self.has_whole_space and self.abstain == 0

    @property
    def has_whole_space(self) -> bool:
        """Whether δ is not restricted and not weighted."""
        return all(item is None for item in (self.weights, self.low, self.movable, self.subspace))

    @property
    def moving(self) -> tuple[int, ...]:
        """The coordinates that may change."""
        return tuple(range(self.dimension)) if self.movable is None else self.movable

    def length(self, step: ArrayLike) -> float:
        """The norm of δ."""
        delta = np.asarray(step, dtype=np.float64)
        if self.weights is not None and self.weights.ndim == 2:
            delta = self.root @ delta
        elif self.weights is not None:
            delta = self.weights * delta
        largest = float(np.abs(delta).max(initial=0.0))
        if self.norm is Norm.LINF or largest == 0.0 or not np.isfinite(largest):
            return largest
        return largest * float(np.linalg.norm(delta / largest, 2 if self.norm is Norm.L2 else 1))

    @property
    def root(self) -> Array:
        """R with |Rδ|₂ the length for L2: upper triangular for a matrix of weights."""
        if self.weights is None:
            return np.eye(self.dimension)
        return np.asarray(np.diag(self.weights) if self.weights.ndim == 1 else np.linalg.cholesky(self.weights).T)

    def admits(self, point: ArrayLike) -> bool:
        """Whether the point lies in the domain."""
        x = np.asarray(point, dtype=np.float64)
        return self.low is None or self.high is None or bool(((self.low <= x) & (x <= self.high)).all())

    def clipped(self, points: Array) -> Array:
        """The nearest points of the domain, coordinate by coordinate."""
        return points if self.low is None or self.high is None else np.clip(points, self.low, self.high)

    def against(self, label: int, classes: int) -> list[int]:
        """The rivals of a class; refused where there are none."""
        found = [c for c in self.rivals or range(classes) if c != label]
        if not found:
            raise InputError(
                f"rivals {list(self.rivals or ())}: the point is of class {label}, which has no "
                "other rival; name at least one other class"
            )
        return found

    def check_bounded(self) -> None:
        """Refuse what has margins alone."""
        if self.low is not None and self.weights is not None and self.weights.ndim == 2:
            raise InputError(
                "a matrix of weights within a domain has margins, but no bounds and no proofs: leave out the domain (what is "
                "proved without it holds inside it too), or give one weight per coordinate"
            )

    def check_inside(self, point: Array) -> None:
        """Refuse a point outside the domain."""
        if not self.admits(point):
            raise InputError("the point lies outside the domain; expected a point inside, or a larger domain")

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for files."""
        arrays = {"weights": self.weights, "low": self.low, "high": self.high, "subspace": self.subspace}
        return {
            "norm": self.norm.value,
            **{name: None if array is None else array.tolist() for name, array in arrays.items()},
            "movable": None if self.movable is None else list(self.movable),
            "rivals": None if self.rivals is None else list(self.rivals),
            "abstain": self.abstain,
        }

    def __repr__(self) -> str:
        words = [self.norm.value + ("" if self.weights is None else " with weights")]
        if self.low is not None and self.high is not None:
            ends = [f"{a.min():g}" if (a == a.min()).all() else "…" for a in (self.low, self.high)]
            words.append(f"within [{ends[0]}, {ends[1]}]")
        if self.movable is not None:
            words.append(f"{len(self.movable)} of {self.dimension} coordinates move")
        if self.subspace is not None:
            words.append(f"in a subspace of dimension {self.subspace.shape[1]}")
        if self.rivals is not None:
            words.append(f"rivals {', '.join(map(str, self.rivals))}")
        if self.abstain:
            words.append(f"abstaining below {self.abstain:g}")
        return f"Neighbourhood({' '.join(words[:2]) if len(words) < 3 else ', '.join(words)})"


def _norm(norm: str | Norm) -> Norm:
    try:
        return Norm(norm)
    except ValueError:
        raise InputError(f"norm {norm!r}: expected 'l2', 'linf' or 'l1'") from None


def _weights(weights: ArrayLike | None, dimension: int, norm: Norm) -> Array | None:
    if weights is None:
        return None
    array = real_array(weights, "weights")
    if array.shape == (dimension,):
        if not (np.isfinite(array).all() and (array > 0).all()):
            raise InputError(f"weights {array.tolist()}: expected positive, finite numbers")
        if array.min() < SMALLEST or array.max() > LARGEST:
            raise InputError(
                f"weights from {array.min():.3g} to {array.max():.3g}: expected numbers from {SMALLEST:g} to {LARGEST:g}; "
                "the norm scales with them, and a coordinate that hardly counts may be left out by movable="
            )
        return array
    if array.shape != (dimension, dimension):
        raise InputError(f"weights of shape {array.shape}: expected ({dimension},) or ({dimension}, {dimension})")
    if norm is not Norm.L2:
        raise InputError(f"norm {norm.value!r} with a matrix of weights: expected 'l2', or a vector of weights")
    if not np.abs(array).max() <= LARGEST:
        raise InputError(
            f"weights: an entry of {np.abs(array).max():.3g}; expected a matrix of numbers up to {LARGEST:g}"
        )
    symmetric = (array + array.T) / 2
    try:
        np.linalg.cholesky(symmetric)
    except np.linalg.LinAlgError:
        raise InputError(
            "weights: the matrix is not positive definite; expected a symmetric positive definite one"
        ) from None
    return symmetric


def _domain(domain: Any, dimension: int) -> tuple[Array | None, Array | None]:
    if domain is None:
        return None, None
    try:
        lowest, highest = domain
    except (TypeError, ValueError):
        raise InputError(f"domain {domain!r}: expected a pair (lo, hi) of numbers or of vectors") from None
    ends = []
    for end in (lowest, highest):
        array = real_array(end, "domain")
        if array.shape not in ((), (dimension,)):
            raise InputError(f"domain: an end of shape {array.shape}; expected a number or {dimension} numbers")
        ends.append(np.broadcast_to(array, (dimension,)).astype(np.float64))
    low, high = ends
    if not (low <= high).all() or np.isnan(low).any():
        where = int(np.flatnonzero(~(low <= high))[0])
        raise InputError(f"domain: coordinate {where} runs from {low[where]} to {high[where]}; expected lo ≤ hi")
    if any((np.isfinite(end) & (np.abs(end) > LARGEST)).any() for end in (low, high)):
        raise InputError(f"domain: an end beyond {LARGEST:g}; expected smaller numbers, or inf where there is no end")
    return low, high


def _movable(movable: Any, dimension: int) -> tuple[tuple[int, ...] | None, Array | None]:
    if movable is None:
        return None, None
    array = np.asarray(movable)
    if array.ndim == 2:
        columns = real_array(movable, "movable")
        if columns.shape[0] != dimension or np.linalg.matrix_rank(columns) < columns.shape[1]:
            raise InputError(f"movable of shape {columns.shape}: expected ({dimension}, k) with independent columns")
        return None, columns
    if array.dtype == bool and array.shape == (dimension,):
        array = np.flatnonzero(array)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not len(array):
        raise InputError(f"movable {movable!r}: expected coordinates, a mask of {dimension}, or columns of a subspace")
    if array.min() < 0 or array.max() >= dimension or len(set(array.tolist())) < len(array):
        raise InputError(f"movable {array.tolist()}: expected different coordinates from 0 to {dimension - 1}")
    return tuple(sorted(array.tolist())), None


def _rivals(rivals: Sequence[int], classes: int | None) -> tuple[int, ...]:
    array = np.asarray(rivals)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not len(array) or array.min() < 0:
        raise InputError(f"rivals {rivals!r}: expected the numbers of some classes")
    if classes is not None and array.max() >= classes:
        raise InputError(f"rivals {array.tolist()}: the model has classes 0 to {classes - 1}")
    return tuple(sorted(set(array.tolist())))
