"""`report`: from a model, points and their right classes to a `Report`."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from time import perf_counter
from typing import Any

from numpy.typing import ArrayLike

from polymargin import __version__
from polymargin.arguments import checked, real_array
from polymargin.class_names import class_numbers, names_of
from polymargin.continuation import available_threads
from polymargin.errors import InputError
from polymargin.margins import Margin, Settings, Verifier
from polymargin.margins.options import DEFAULT_TIMEOUT, Progress
from polymargin.networks.network import Network
from polymargin.networks.readers.models import reads_model
from polymargin.plots.thumbnails import Shape, image_shape_of
from polymargin.regions import Region
from polymargin.reports.record import About, Report
from polymargin.work import Workers


@reads_model
@checked(Network)
def report(
    model: Any,
    points: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    within: Region | None = None,
    image_shape: Shape | str | None = None,
    title: str = "",
    certificates: str | Path | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    seed: int = 0,
    workers: int | Workers | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
    settings: Settings | None = None,
) -> Report:
    """Margins of all points, and what they say together; `.save("report.html")` writes one page that opens anywhere.

    Parameters
    ----------
    model         a network, polynomial or piecewise, a PyTorch module, a scikit-learn estimator or the path of a model file
    points        (m, n), or images (m, h, w), (m, h, w, 3), (m, 3, h, w)
    labels        right classes (m,), numbers or the model's names for them; without them the predicted ones take their place
    within        the perturbations that count, as for `margin`
    image_shape   how flat points are shown: a shape, "none", or None for squares of 8 and more pixels a side
    title         of the page; by default what the model is
    certificates  a directory: the margins are proved, and their certificates kept there
    timeout, seed, workers, checkpoint, progress   as for `margin`
    settings      as for `Verifier`

    >>> from polymargin.networks import PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 4.0], [0.0, 0.0]], [0.0, 4.0])],
    ...                         degree=2)
    >>> report(net, [[0.0, 0.25], [3.0, 0.0]], [1, 1])                  # the ellipse x² + 4y² = 4
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
    if certificates is not None and Path(certificates).is_file():
        raise InputError(
            f"certificates {certificates}: this is a file; expected a folder, which is made if there is none"
        )
    started = perf_counter()
    verifier = Verifier(model, within=within, seed=seed, workers=workers, settings=settings)
    found = verifier.margin(
        array, proof=certificates is not None, timeout=timeout, checkpoint=checkpoint, progress=progress
    )
    files: tuple[Path | None, ...] = (None,) * len(array)
    if certificates is not None:
        files = _saved(found, Path(certificates))
    # One counterexample per point is shown; those of the other rivals would take gigabytes for 10,000 images.
    margins = tuple(_without_points(one) for one in found)
    about = About(
        title=title or repr(model),
        model=repr(model),
        version=__version__,
        date=date.today().isoformat(),
        machine=f"{platform.system()} {platform.machine()}, {available_threads()} cores, Python {platform.python_version()}",
        seed=int(seed),
        seconds=perf_counter() - started,
    )
    return Report(array, right, margins, model.class_count, shape, files, about, names_of(model))


def _without_points(found: Margin) -> Margin:
    return replace(found, pairs=tuple(replace(pair, point=None) for pair in found.pairs))


def _saved(margins: Sequence[Margin], directory: Path) -> tuple[Path | None, ...]:
    """Write the certificate of every row that has one."""
    directory.mkdir(parents=True, exist_ok=True)
    proofs = [one.certificate for one in margins]
    return tuple(
        None if proof is None else proof.save(directory / f"point-{index}.json") for index, proof in enumerate(proofs)
    )
