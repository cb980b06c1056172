"""`agree` says around which points two networks give the same class, and how far their logits can differ there.

Both keep their class up to the smaller of their margins, each of which has a certificate. The difference of logits is a network
of its own, with the stages of both side by side, and its range over the region is proved as any range is. Where one network
changes its class and the other does not, they disagree: such a point is sought just beyond the ties of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from time import perf_counter
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import checked, real_array
from polymargin.deadlines import Deadline
from polymargin.errors import InputError
from polymargin.margins.certificate import Certificate
from polymargin.margins.judge import Judge
from polymargin.margins.noise import PointProblem
from polymargin.margins.noisy_answers import margin_at
from polymargin.margins.prediction import predicted_class
from polymargin.margins.result import Margin
from polymargin.margins.verifier import margin
from polymargin.networks.network import Network
from polymargin.networks.side_by_side import difference
from polymargin.regions import Region, ThreatModel
from polymargin.standing import Standing
from polymargin.value_ranges.bounded import ranges
from polymargin.value_ranges.results import LayerRanges, Ranges

Array = NDArray[np.float64]

BEYOND = (1.0, 1 + 1e-9, 1 + 1e-6, 1.001, 1.01, 1.05, 1.2)
"""Where a disagreement is sought, on the way from the point through a tie."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """Two networks around a point.

    labels         of both at the point; the radii are 0 if these differ
    lower          both networks keep this class up to here, as their `certificates` prove
    upper          the smaller one of the upper bounds of their margins
    certificates   of the margins of both, None where there is none
    disagreement   an input at which the classes differ, compared in exact arithmetic; None if none was found
    distance       its distance from the point; infinite if none was found
    radius         of the region on which the logits were compared
    compared       ranges of the network f − g on that region; None where the radius is 0
    """

    labels: tuple[int, int]
    lower: float
    upper: float
    certificates: tuple[Certificate | None, Certificate | None]
    disagreement: Array | None
    distance: float
    radius: float
    compared: Ranges | None

    @property
    def difference(self) -> LayerRanges | None:
        """Return the ranges of f_i − g_i."""
        return None if self.compared is None else self.compared["logits"]

    @property
    def standing(self) -> Standing:
        """Return CERTIFIED if the checker accepted both margins and the ranges of f_i − g_i, or if labels differ."""
        if self.labels[0] != self.labels[1]:
            return Standing.CERTIFIED
        proved = None not in self.certificates and self.compared is not None
        return Standing.CERTIFIED if proved and self.compared_standing is Standing.CERTIFIED else Standing.NUMERICAL

    @property
    def compared_standing(self) -> Standing:
        """Return how the ranges of f_i − g_i are known."""
        return Standing.FAILED if self.compared is None else self.compared.standing

    @property
    def largest_difference(self) -> float:
        """Return a bound of |f_i − g_i| for all logits; inf where the radius is 0."""
        return float("inf") if self.difference is None else self.difference.largest

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; None for what is infinite or was not found."""
        numbers = {name: getattr(self, name) for name in ("lower", "upper", "distance", "radius", "largest_difference")}
        return {
            "labels": list(self.labels),
            **{name: value if np.isfinite(value) else None for name, value in numbers.items()},
            "disagreement": None if self.disagreement is None else self.disagreement.tolist(),
            "standing": self.standing.name,
        }

    def __repr__(self) -> str:
        if self.labels[0] != self.labels[1]:
            return f"Agreement(classes {self.labels[0]} and {self.labels[1]} at the point)"
        far = (
            f", logits differ by at most {self.largest_difference:.4g} within {self.radius:.4g}"
            if self.compared
            else ""
        )
        found = "" if self.disagreement is None else f", they disagree at {self.distance:.4g}"
        return f"Agreement(class {self.labels[0]} up to {self.lower:.4g}{found}{far}; {self.standing.name})"


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
    >>> found.labels, found.standing.name, found.lower < found.distance
    ((0, 0), 'CERTIFIED', True)
    """
    if not isinstance(other, Network):
        raise InputError(f"other: {type(other).__name__}; expected a network, such as pm.load returns")
    both = difference(model, other)
    rows = np.atleast_2d(real_array(points, "points"))
    if rows.ndim != 2 or rows.shape[1] != model.dimension:
        raise InputError(f"points of shape {rows.shape}: expected rows of {model.dimension} numbers")
    threat, judges = ThreatModel.of(model.dimension, within), (Judge(model), Judge(other))
    results = []
    for point in rows:
        labels = predicted_class(model, point)[0], predicted_class(other, point)[0]
        if labels[0] != labels[1]:
            results.append(Agreement(labels, 0.0, 0.0, (None, None), point.copy(), 0.0, 0.0, None))
            continue
        found = [_margin(judge, threat, point, timeout / 3, seed) for judge in judges]
        lower = min(one.lower for one in found)
        reach, compared = lower if radius is None else radius, None
        if 0 < reach < np.inf:
            compared = ranges(both, point, radius=reach, within=within, timeout=timeout / 3, seed=seed)
        place = _disagreement(model, other, point, found, threat.region)
        results.append(
            Agreement(
                labels=labels,
                lower=lower,
                upper=min(one.upper for one in found),
                certificates=(found[0].certificate, found[1].certificate),
                disagreement=place,
                distance=float("inf") if place is None else threat.region.distance(place, point),
                radius=reach,
                compared=compared,
            )
        )
    return results


def _margin(judge: Judge, threat: ThreatModel, point: Array, timeout: float, seed: int) -> Margin:
    """Return a margin with a certificate: by the relaxation where the usual way, cell by cell, has none."""
    if judge.network.is_polynomial:
        found: Any = margin(judge.network, point, within=threat.region, timeout=timeout, seed=seed)
        if found.certificate is not None:
            return cast(Margin, found)
    return margin_at(PointProblem.plain(judge, threat, point, seed), Deadline.after(timeout), perf_counter())


def _disagreement(f: Network, g: Network, point: Array, found: Sequence[Margin], region: Region) -> Array | None:
    """Return the nearest point just beyond a tie of one network at which the classes differ without doubt."""
    nearest: Array | None = None
    for one in found:
        for share in BEYOND if one.point is not None else ():
            place = region.clipped(point + share * (np.asarray(one.point) - point))
            if nearest is not None and region.distance(place, point) >= region.distance(nearest, point):
                break
            classes = [_only_class(network.exact_logits(place)) for network in (f, g)]
            if None not in classes and classes[0] != classes[1]:
                nearest = np.asarray(place)
                break
    return nearest


def _only_class(logits: list[Fraction]) -> int | None:
    largest = max(logits)
    return logits.index(largest) if logits.count(largest) == 1 else None
