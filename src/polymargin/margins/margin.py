"""`margin`: the distance from a point to the nearest tie with another class, for one point or a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import DEFAULT_LIMIT, checked, positive
from polymargin.boundary import Boundary
from polymargin.class_names import names_of, with_names
from polymargin.continuation import Tracker, TrackerSettings
from polymargin.deadlines import Deadline
from polymargin.enumeration.cache import Cache
from polymargin.margins.batch import Block, margins_in_blocks, ordinary_margins
from polymargin.margins.checkpoint import Checkpoint
from polymargin.margins.faces.margins import RegionMargins
from polymargin.margins.gathered import gathered
from polymargin.margins.pairs import Enumeration
from polymargin.margins.result import Margin, Margins, Ordinary
from polymargin.margins.sessions import session_for
from polymargin.networks.network import Network
from polymargin.networks.readers.models import reads_model
from polymargin.regions import Region, ThreatModel, ThreatOptions
from polymargin.rows import ManyPoints, OnePoint, OnRow, one_or_many
from polymargin.standing import Standing
from polymargin.work import Workers

OUTSIDE = "the nearest tie leaves [0, 1], where the input is; within=L2(domain=(0, 1)), --domain 0,1, keeps it inside"


class MarginOptions(ThreatOptions, total=False):
    """The keywords of `margin`, for type checkers."""

    seed: int
    threads: int | None
    limit: int
    cache: bool | str | Path
    settings: TrackerSettings | None
    timeout: float | None
    rtol: float
    checkpoint: str | Path | None
    pair_points: bool
    progress: Callable[[int], None] | None
    on_row: OnRow | None
    executor: Workers | None
    device: str | None


def _piecewise_margin() -> Callable[..., Any]:
    from polymargin.piecewise import piecewise_margin  # which is made of margins

    return piecewise_margin


@overload
def margin(model: Any, points: OnePoint, **options: Unpack[MarginOptions]) -> Margin: ...
@overload
def margin(model: Any, points: ManyPoints, **options: Unpack[MarginOptions]) -> Margins: ...
@overload
def margin(model: Any, points: ArrayLike, **options: Unpack[MarginOptions]) -> Any: ...
@reads_model(piecewise=_piecewise_margin)
@checked(Network, Boundary)
def margin(
    model: Any,
    points: ArrayLike,
    *,
    seed: int = 0,
    threads: int | None = None,
    limit: int = DEFAULT_LIMIT,
    cache: bool | str | Path = True,
    settings: TrackerSettings | None = None,
    timeout: float | None = None,
    rtol: float = 1e-6,
    checkpoint: str | Path | None = None,
    pair_points: bool = True,
    progress: Callable[[int], None] | None = None,
    on_row: OnRow | None = None,
    executor: Workers | None = None,
    device: str | None = None,
    within: Region | None = None,
    rivals: Sequence[int] | None = None,
    abstain: float = 0.0,
) -> Any:
    """The exact margin at one point (n,), or `Margins` for a batch (m, n) or images (m, …); in the L2 norm by default.

    Parameters
    ----------
    model        a network, a PyTorch module, a scikit-learn estimator, the path of a model file, or a boundary alone
    points       one vector, or a batch; a bad row of a batch reports its own error
    seed         of every random choice; the answer is the same for any number of threads
    threads      of the core that follows paths, all available ones by default, and of BLAS, one by default
    limit        networks whose boundaries have more critical points get proved bounds instead; a boundary alone is refused
    cache        keep stage-1 solutions on disk (True), nowhere (False) or in a directory
    settings     of the path tracker
    timeout      seconds for one point; what is not known then is bracketed. None: as long as paths take, and 30 s for bounds
    rtol         bounds of one point that are this close, relatively, are an answer: `CERTIFIED`
    checkpoint   a file that collects finished rows; the same call continues where it stopped
    pair_points  False keeps the nearest tie alone instead of one per rival: less memory and shorter checkpoints for images
    progress     called with the number of rows that were finished since the last call
    on_row       called with the number of a row and its margin as soon as there is one
    executor     any `concurrent.futures.Executor` or Dask `Client` that takes the rows of a batch; one thread per worker then
    device       'cpu', 'cuda' or 'auto': a GPU if there is one and the paths are many; POLYMARGIN_DEVICE by default
    within       the perturbations that count: `L2(...)`, `Linf(...)` or `L1(...)` with a domain, weights, movable coordinates …
    rivals       only ties with these classes count
    abstain      an answer counts only if its logit leads by more than this

    >>> from polymargin.networks import PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 4.0], [0.0, 0.0]], [0.0, 4.0])],
    ...                         degree=2)
    >>> margin(net, [0.0, 0.25], cache=False)         # the ellipse x² + 4y² = 4
    Margin(0.75, class 1 against 0, NUMERICAL by quadric)
    """
    array = one_or_many(points, model.dimension)
    tracker = Tracker.of(settings, threads, device)
    search = Enumeration(tracker, seed, limit, Cache.from_option(cache), timeout, positive(rtol, "rtol"))
    asked = ThreatModel.of(
        model.dimension, within, rivals, abstain, None if isinstance(model, Boundary) else model.class_count
    )
    session = session_for(model, search) if asked.is_plain else RegionMargins(model, search, asked)
    rows = np.atleast_2d(array)
    store = None if checkpoint is None else _checkpoint(checkpoint, model, search, asked, rows, pair_points)
    told = _Told.of(model, asked, rows)
    stored = {} if store is None else {row: found for row in range(len(rows)) if (found := store.get(row)) is not None}
    kept, left = np.array(list(stored), dtype=np.intp), np.delete(np.arange(len(rows)), list(stored))
    parts: list[Ordinary] = [(kept, list(stored.values()))]
    if array.ndim == 1:
        if len(left):
            timed = tracker.until(Deadline.after(timeout))
            _, plain = ordinary_margins(Block(session, rows, timed))
            known = _kept(plain or [session.margin_at(array, timed)], pair_points)
            if store is not None:
                store.add([(0, known[0])])
            parts.append((left, known))
        return gathered(parts, told)[0]
    if progress is not None and len(kept):
        progress(len(kept))
    if on_row is not None:
        for row, result in stored.items():
            on_row(row, told(result, row))
    for block, answers in margins_in_blocks(session, rows, left, tracker, executor):
        found = _kept(answers, pair_points)
        parts.append((block, found))
        if store is not None:
            done = zip(block.tolist(), found, strict=True)
            store.add([(row, result) for row, result in done if result.standing is not Standing.FAILED])
        if on_row is not None:
            for row, result in zip(block.tolist(), found, strict=True):
                on_row(row, told(result, row))
        if progress is not None:
            progress(len(block))
    return gathered(parts, told)


def _kept(found: Sequence[Margin], pair_points: bool) -> Sequence[Margin]:
    if pair_points:
        return found
    return [replace(one, pairs=tuple(replace(pair, point=None) for pair in one.pairs)) for one in found]


@dataclass(frozen=True, eq=False)
class _Told:
    """Rows with the model's names for its classes, and a word on ties outside [0, 1] where the input is an image."""

    names: tuple[str, ...] | None
    images: NDArray[np.bool_]  # (m,)

    @classmethod
    def of(cls, model: Network | Boundary, asked: ThreatModel, points: NDArray[np.float64]) -> _Told:
        images = np.zeros(len(points), dtype=bool)
        if asked.is_plain and not isinstance(model, Boundary):
            first, last = points[:, 0], points[:, -1]  # two coordinates tell most points that are no images
            rows = np.flatnonzero((first >= 0) & (first <= 1))
            rows = rows[(last[rows] >= 0) & (last[rows] <= 1)]
            images[rows] = ((points[rows] >= 0) & (points[rows] <= 1)).all(axis=1)
        return cls(names_of(model), images)

    def __call__(self, found: Margin, row: int) -> Margin:
        told = _remarked(found) if self.images[row] else found
        return told if self.names is None else with_names(told, self.names)


def _remarked(found: Margin) -> Margin:
    """Of an input whose coordinates are all in [0, 1], with a word on a tie that no image has: one outside."""
    tie = found.point
    if tie is None or ((tie >= 0) & (tie <= 1)).all():
        return found
    return replace(found, notes=(*found.notes, OUTSIDE))


def _checkpoint(
    file: str | Path,
    model: Network | Boundary,
    search: Enumeration,
    asked: ThreatModel,
    points: NDArray[np.float64],
    pair_points: bool,
) -> Checkpoint:
    # What can change a row.
    options: dict[str, Any] = {
        "seed": int(search.seed),
        "limit": int(search.limit),
        "settings": asdict(search.tracker.settings),
    }
    if not asked.is_plain:
        options["within"] = asked.to_dict()
    if not pair_points:
        options["pair_points"] = False
    return Checkpoint.open(file, model_fingerprint(model), points, options)


def model_fingerprint(model: Network | Boundary) -> str:
    """Changes whenever a coefficient of the model does."""
    return model.source.fingerprint if isinstance(model, Boundary) else model.fingerprint
