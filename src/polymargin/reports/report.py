"""`report`: from a model, points and their right classes to a `Report`."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin import __version__
from polymargin.arguments import DEFAULT_LIMIT, checked, real_array
from polymargin.certificates import certify
from polymargin.class_names import class_numbers, names_of
from polymargin.continuation import available_threads
from polymargin.errors import InputError
from polymargin.margins import Margin, margin
from polymargin.networks.network import Network
from polymargin.networks.readers.models import reads_model
from polymargin.piecewise import piecewise_margin
from polymargin.plots.thumbnails import Shape, image_shape_of
from polymargin.regions import Region
from polymargin.reports.record import About, Report
from polymargin.work import Workers

# Seconds for one point where all critical points are too many.
DEFAULT_TIMEOUT = 30.0


@reads_model(polynomial=False)
@checked(Network)
def report(
    model: Any,
    points: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    image_shape: Shape | str | None = None,
    title: str = "",
    command: str = "",
    certificates: str | Path | None = None,
    within: Region | None = None,
    seed: int = 0,
    threads: int | None = None,
    limit: int = DEFAULT_LIMIT,
    timeout: float = DEFAULT_TIMEOUT,
    cache: bool | str | Path = True,
    checkpoint: str | Path | None = None,
    progress: Callable[[int], None] | None = None,
    executor: Workers | None = None,
) -> Report:
    """Margins of all points, and what they say together; `.save("report.html")` writes one page that opens anywhere.

    Parameters
    ----------
    model         a network, polynomial or piecewise, a PyTorch module, a scikit-learn estimator or the path of a model file
    points        (m, n), or images (m, h, w), (m, h, w, 3), (m, 3, h, w)
    labels        right classes (m,), numbers or the model's names for them; without them the predicted ones take their place
    image_shape   how flat points are shown: a shape, "none", or None for squares of 8 and more pixels a side
    title         of the page; by default what the model is
    command       printed on the page as what made it
    certificates  a directory: rows are proved by `certify` too, and their certificates kept there
    checkpoint    a file that collects finished rows
    within        the perturbations that count, as for `margin`; there are certificates for `L2()`
    seed, threads, limit, timeout, cache, progress, executor   as for `margin`

    >>> from polymargin.networks import PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 4.0], [0.0, 0.0]], [0.0, 4.0])],
    ...                         degree=2)
    >>> report(net, [[0.0, 0.25], [3.0, 0.0]], [1, 1], cache=False)     # the ellipse x² + 4y² = 4
    Report(2 points, clean accuracy 50.0%, median margin 0.875)
    """
    given = real_array(points, "points")
    if given.ndim not in (2, 3, 4) or 0 in given.shape:
        raise InputError(
            f"points of shape {given.shape}: expected (m, n), or images (m, h, w), (m, h, w, 3), (m, 3, h, w)"
        )
    array = given.reshape(len(given), -1)
    shape = image_shape_of(given, image_shape)
    right = None if labels is None else class_numbers(labels, len(array), names_of(model))
    piecewise = not model.is_polynomial
    if piecewise and (certificates is not None or checkpoint is not None):
        raise InputError("there are no certificates and no checkpoints for piecewise networks; leave them out")
    if certificates is not None and Path(certificates).is_file():
        raise InputError(
            f"certificates {certificates}: this is a file; expected a folder, which is made if there is none"
        )
    if within is not None and not within.is_round and (piecewise or certificates is not None):
        raise InputError(f"within={within!r}: piecewise networks and certificates are for L2()")
    started = perf_counter()
    files: tuple[Path | None, ...] = (None,) * len(array)
    if piecewise:
        told = None if progress is None else lambda row, found: progress(1)
        margins: Sequence[Margin] = piecewise_margin(
            model, array, timeout=timeout, seed=seed, on_row=told, executor=executor
        )
    else:
        options: dict[str, Any] = {"seed": seed, "threads": threads, "limit": limit, "cache": cache, "timeout": timeout}
        shown = progress if certificates is None else None
        # One counterexample per point is shown; those of the other rivals would take gigabytes for 10,000 images.
        margins = margin(
            model,
            array,
            checkpoint=checkpoint,
            pair_points=False,
            progress=shown,
            executor=executor,
            within=within,
            **options,
        )
        if certificates is not None:
            margins, files = _proved(
                model, array, margins, Path(certificates), options | {"executor": executor}, progress
            )
    about = About(
        title=title or repr(model),
        model=repr(model),
        command=command,
        version=__version__,
        date=date.today().isoformat(),
        machine=f"{platform.system()} {platform.machine()}, {available_threads()} cores, Python {platform.python_version()}",
        seed=int(seed),
        seconds=perf_counter() - started,
    )
    return Report(array, right, tuple(margins), model.class_count, shape, files, about, names_of(model))


def _proved(
    network: Network,
    array: NDArray[np.float64],
    margins: Sequence[Margin],
    directory: Path,
    options: dict[str, Any],
    progress: Callable[[int], None] | None,
) -> tuple[list[Margin], tuple[Path | None, ...]]:
    """Return the margins with proved bounds and certificates; a row that cannot be certified is unchanged."""
    directory.mkdir(parents=True, exist_ok=True)
    told = None if progress is None else lambda row, found: progress(1)
    certified = certify(network, array, on_row=told, **options)
    proved: list[Margin] = []
    files: list[Path | None] = []
    for index, (known, found) in enumerate(zip(margins, certified, strict=True)):
        if found.certificate is None:
            proved.append(replace(known, notes=(*known.notes, f"no certificate: {found.margin.error}")))
            files.append(None)
        else:
            proved.append(_with_proof(known, found.margin))
            files.append(Path(found.certificate.save(directory / f"point-{index}.json")))
    return proved, tuple(files)


def _with_proof(known: Margin, proof: Margin) -> Margin:
    """Bounds, standing and way of the proof, which names no point; the nearest point as it was found."""
    return replace(
        known,
        radius=proof.radius,
        lower=proof.lower,
        upper=proof.upper,
        label=proof.label,
        rival=known.rival if known.point is not None else proof.rival,
        standing=proof.standing,
        method=proof.method,
        seconds=known.seconds + proof.seconds,
        notes=(*known.notes, *proof.notes),
        error=None,
    )
