"""`agree` says around which points two networks give the same class, and how far their logits can differ there.

Both keep their class up to the smaller of their margins. The difference of logits is a network of its own, with the stages of
both side by side, and its range over the region is proved as any range is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import checked, real_array
from polymargin.errors import InputError
from polymargin.margins.result import Margins
from polymargin.margins.verifier import margin
from polymargin.networks.network import Network
from polymargin.networks.side_by_side import difference
from polymargin.regions import Region
from polymargin.standing import Standing
from polymargin.value_ranges.bounded import ranges
from polymargin.value_ranges.results import LayerRanges, Ranges

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Agreement:
    """Two networks around a point.

    labels        of both at the point; the radii are 0 if these differ
    lower, upper  the smaller ones of the bounds that `margin` gives for both, known as its answers are; for networks with ReLU
                  there is no certificate of them
    radius        of the region on which the logits were compared
    compared      ranges of the network f − g on that region; None where the radius is 0
    """

    labels: tuple[int, int]
    lower: float
    upper: float
    radius: float
    compared: Ranges | None

    @property
    def difference(self) -> LayerRanges | None:
        """Return the ranges of f_i − g_i."""
        return None if self.compared is None else self.compared["logits"]

    @property
    def standing(self) -> Standing:
        """Return how the ranges of f_i − g_i are known."""
        return Standing.FAILED if self.compared is None else self.compared.standing

    @property
    def largest_difference(self) -> float:
        """Return a bound of |f_i − g_i| for all logits; inf where the radius is 0."""
        return float("inf") if self.difference is None else self.difference.largest

    def __repr__(self) -> str:
        if self.labels[0] != self.labels[1]:
            return f"Agreement(classes {self.labels[0]} and {self.labels[1]} at the point)"
        bound = f"{self.largest_difference:.4g} within {self.radius:.4g} ({self.standing.name})"
        far = f", logits differ by at most {bound}" if self.difference is not None else ""
        return f"Agreement(class {self.labels[0]}, both margins are at least {self.lower:.4g}{far})"


@checked(Network)
def agree(
    model: Network,
    other: Network,
    points: ArrayLike,
    *,
    radius: float | None = None,
    within: Region | None = None,
    timeout: float = 60.0,
    seed: int = 0,
) -> list[Agreement]:
    """Return for each point how far both networks agree.

    radius    of the region on which logits are compared; the radius on which both keep their class if None

    >>> import polymargin as pm
    >>> f, g = (pm.PolynomialNetwork([[[1.0, 0.0], [0.0, a]], [[1.0, 0.0], [0.0, 1.0]]], degree=2) for a in (1.0, 1.125))
    >>> (found,) = agree(f, g, [[1.0, 0.25]])
    >>> found.labels, found.standing.name
    ((0, 0), 'CERTIFIED')
    """
    if not isinstance(other, Network):
        raise InputError(f"other: {type(other).__name__}; expected a network, such as pm.load returns")
    both = difference(model, other)
    rows = np.atleast_2d(real_array(points, "points"))
    if rows.ndim != 2 or rows.shape[1] != model.dimension:
        raise InputError(f"points of shape {rows.shape}: expected rows of {model.dimension} numbers")
    labels = np.stack([model.predict(rows), other.predict(rows)], axis=1)
    kept = np.zeros((len(rows), 2))
    same = labels[:, 0] == labels[:, 1]
    if same.any():
        found = [margin(one, rows[same], within=within, timeout=timeout / 3, seed=seed) for one in (model, other)]
        kept[same] = np.stack([np.minimum.reduce([one.lower for one in found]), _least_upper(found)], axis=1)
    results = []
    for point, pair, (lower, upper) in zip(rows, labels.tolist(), kept.tolist(), strict=True):
        reach = lower if radius is None else radius
        compared = None
        if 0 < reach < np.inf:
            compared = ranges(both, point, radius=reach, within=within, timeout=timeout / 3, seed=seed)
        results.append(Agreement((pair[0], pair[1]), lower, upper, reach, compared))
    return results


def _least_upper(found: Sequence[Margins]) -> Array:
    return np.asarray(np.minimum.reduce([one.upper for one in found]))
