"""Under which conditions a claim holds, in words: norm, weights, domain, movable coordinates, rivals, always all of them.

A claim with weights of 2³⁰⁰ or on a domain of one point is true and says nothing; who reads the sentence must see that.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from polymargin_checker.neighbourhood import StatedNeighbourhood
from polymargin_checker.words import rounded_down, rounded_up

_NAMES = {"l2": "L2", "linf": "L∞", "l1": "L1"}


def distance(near: StatedNeighbourhood) -> str:
    """Return the measured distance in words, with its article."""
    return f"{'a weighted' if near.is_weighted else 'an'} {_NAMES[near.norm]} distance"


def conditions(near: StatedNeighbourhood, size: int, label: int, classes: int) -> str:
    """Return the further conditions of the claim in words."""
    words = [perturbations(near, size), _rivals(near, label, classes)]
    if near.abstain > 0:
        words.append(f"a lead of at most {rounded_up(near.abstain)} counts as a tie")
    return ", ".join(words)


def perturbations(near: StatedNeighbourhood, size: int) -> str:
    """Return in words what may change, for a point of so many coordinates."""
    return ", ".join([_weights(near), _domain(near), _movable(near, size)])


def _weights(near: StatedNeighbourhood) -> str:
    if near.frame is not None and near.frame.metric is not None:
        return f"a matrix of weights with a diagonal {_span([row[i] for i, row in enumerate(near.frame.metric)])}"
    return "no weights" if near.weights is None else f"weights {_span(near.weights)}"


def _domain(near: StatedNeighbourhood) -> str:
    if near.low is None or near.high is None:
        return "no domain"
    return f"a domain with low ends {_ends(near.low)} and high ends {_ends(near.high)}"


def _movable(near: StatedNeighbourhood, size: int) -> str:
    if near.frame is not None and near.frame.size < size and near.movable is None:
        return f"a subspace of dimension {near.frame.size} of {size} coordinates"
    chosen = range(size) if near.movable is None else near.movable
    if near.low is None:
        return f"{len(chosen)} of {size} coordinates movable"
    ends = (near.ends(coordinate) for coordinate in chosen)
    count = sum(low is None or high is None or low < high for low, high in ends)
    return f"{count} of {size} coordinates movable"


def _rivals(near: StatedNeighbourhood, label: int, classes: int) -> str:
    if near.rivals is None:
        return f"{classes - 1} of {classes - 1} rivals"
    counted = sorted(near.rivals - {label})
    return f"{len(counted)} of {classes - 1} rivals: {' '.join(map(str, counted))}"


def _ends(values: Sequence[fmpq | None]) -> str:
    known = [value for value in values if value is not None]
    some = "" if len(known) == len(values) else f" in {len(known)} of {len(values)} coordinates"
    return f"{_span(known)}{some}" if known else "nowhere"


def _span(values: Sequence[fmpq]) -> str:
    return f"from {rounded_down(min(values))} to {rounded_up(max(values))}"
