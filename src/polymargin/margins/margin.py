"""`margin`: the distance from a point to the nearest tie with another class, for one point or a batch."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import checked, real_array
from polymargin.boundary import Boundary
from polymargin.continuation import TrackerSettings
from polymargin.enumeration.cache import Cache
from polymargin.enumeration.limit import DEFAULT_LIMIT
from polymargin.errors import InputError
from polymargin.margins.batch import Rows, margins_of_rows
from polymargin.margins.checkpoint import Checkpoint
from polymargin.margins.models import margins_of
from polymargin.margins.pairs import Search
from polymargin.networks.network import Network
from polymargin.standing import Standing
from polymargin.work import completed

# Seconds for the bounds of one point where enumeration is out of reach.
DEFAULT_TIMEOUT = 30.0
# Rows that a worker gets at a time: it has to find or read stage 1 first.
ROWS_PER_TASK = 16


@checked(Network, Boundary)
def margin(
    model: Network | Boundary,
    points: ArrayLike,
    *,
    seed: int = 0,
    threads: int | None = None,
    limit: int = DEFAULT_LIMIT,
    cache: bool | str | Path = True,
    settings: TrackerSettings | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    checkpoint: str | Path | None = None,
    progress: Callable[[int], None] | None = None,
    executor: Executor | None = None,
) -> Any:
    """The exact L2 margin at one point (n,), or a list of them for a batch (m, n).

    Parameters
    ----------
    model        a network, or a boundary alone
    points       one vector, or a batch; a bad row of a batch reports its own error
    seed         of every random choice; the answer is the same for any number of threads
    threads      worker threads, all available cores by default
    limit        networks whose boundaries have more critical points get proved bounds instead; a boundary alone is refused
    cache        keep stage-1 solutions on disk (True), nowhere (False) or in a directory
    settings     of the path tracker
    timeout      seconds for the bounds of one point
    checkpoint   a file that collects finished rows; the same call continues where it stopped
    progress     called with 1 after every finished row of a batch
    executor     any `concurrent.futures.Executor` that takes the rows of a batch; one thread per worker then

    >>> from polymargin.networks import PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 4.0], [0.0, 0.0]], [0.0, 4.0])],
    ...                         degree=2)
    >>> margin(net, [0.0, 0.25], cache=False)         # the ellipse x² + 4y² = 4
    Margin(0.75, class 1 against 0, NUMERICAL by quadric)
    """
    array = _points(points)
    search = Search(seed, threads, limit, Cache.from_option(cache), settings or TrackerSettings(), timeout)
    session = margins_of(model, search)
    store = None if checkpoint is None else _checkpoint(checkpoint, model, search, np.atleast_2d(array))
    if array.ndim == 1:
        known = None if store is None else store.get(0)
        if known is None:
            known = session.margin_at(array)
            if store is not None:
                store.add(0, known)
        return known
    results = [None if store is None else store.get(index) for index in range(len(array))]
    left = [index for index, result in enumerate(results) if result is None]
    if progress is not None and len(left) < len(array):
        progress(len(array) - len(left))
    size = 1 if executor is None else ROWS_PER_TASK
    blocks = [left[start : start + size] for start in range(0, len(left), size)]
    session = session if executor is None else margins_of(model, replace(search, threads=1))
    for position, found in completed(margins_of_rows, [Rows(session, array[block]) for block in blocks], executor):
        for index, result in zip(blocks[position], found, strict=True):
            results[index] = result
            if store is not None and result.status is not Standing.FAILED:
                store.add(index, result)
            if progress is not None:
                progress(1)
    return results


def _checkpoint(file: str | Path, model: Network | Boundary, search: Search, points: NDArray[np.float64]) -> Checkpoint:
    # What can change a row.
    options = {"seed": int(search.seed), "limit": int(search.limit), "settings": asdict(search.settings)}
    return Checkpoint.open(file, model_fingerprint(model), points, options)


def model_fingerprint(model: Network | Boundary) -> str:
    """Changes whenever a coefficient of the model does."""
    return model.source.fingerprint if isinstance(model, Boundary) else model.fingerprint


def _points(points: ArrayLike) -> NDArray[np.float64]:
    array = real_array(points, "points")
    if array.ndim not in (1, 2) or 0 in array.shape:
        raise InputError(f"points of shape {array.shape}: expected one vector (n,) or a batch (m, n)")
    return array
