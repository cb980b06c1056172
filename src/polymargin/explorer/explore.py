"""`explore`: serve the page for a network."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from polymargin.arguments import checked
from polymargin.errors import InputError
from polymargin.explorer.scene import Scene
from polymargin.explorer.server import Explorer
from polymargin.networks.network import Network
from polymargin.networks.readers.models import reads_model


@reads_model
@checked(Network)
def explore(
    model: Any,
    points: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
    plane: tuple[int, int, int] | None = None,
    window: tuple[float, float, float, float] | None = None,
    image_shape: Any = None,
    title: str = "",
    seed: int = 0,
    timeout: float = 5.0,
    browser: bool = True,
) -> Explorer:
    """Serve the explorer on the loopback address, open it in the browser and return; `.close()` stops it.

    Parameters
    ----------
    model         a network, a PyTorch module, a scikit-learn estimator or the path of a model file
    points        (m, n) or images; shown in the picture and, if they are images, as a gallery
    labels        their true classes (m,)
    plane         three rows of `points`, for more than two inputs: the plane through them; the first three by default
    window        of the plane (left, right, bottom, top); by default it holds the points
    image_shape   as for `report`
    seed          of every random choice; it also chooses the plane if there are fewer than three points
    timeout       seconds for one answer if there are too many critical points to list
    browser       if False, only serve the page; `.address` is its address
    """
    if not model.is_polynomial:
        raise InputError(f"explore is for polynomial networks, and {model!r} is piecewise; margin and report take it")
    scene = Scene.of(
        model,
        points,
        labels=labels,
        rows=plane,
        window=window,
        image_shape=image_shape,
        title=title,
        seed=seed,
        timeout=timeout,
    )
    explorer = Explorer(scene)
    if browser:
        explorer.open()
    return explorer
