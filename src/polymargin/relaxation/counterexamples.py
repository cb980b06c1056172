"""Upper bounds: counterexamples, as near as a local search finds them, confirmed in exact arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import checked, checked_point
from polymargin.blas import few_blas_threads
from polymargin.class_names import AboutClasses, named
from polymargin.deadlines import NEVER, Deadline
from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.networks.readers.models import reads_model
from polymargin.regions import Region, ThreatModel, ThreatOptions
from polymargin.relaxation.attack import nearest_counterexample
from polymargin.relaxation.label import label_at
from polymargin.rows import ManyPoints, OnePoint, each, one_or_many

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Attack(AboutClasses):
    """f_rival ≥ f_label at `point`, in exact arithmetic; `distance` is the length of point − u in `norm`, rounded up."""

    point: Array
    distance: float
    label: int
    rival: int
    norm: str = "l2"
    class_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        distance = "distance" if self.norm == "l2" else f"{self.norm} distance"
        return f"Attack({distance} {self.distance:.10g}, class {self.label_name} loses to {self.rival_name})"


class AttackOptions(ThreatOptions, total=False):
    """The keywords of `attack`, for type checkers."""

    starts: int | None
    seed: int


@overload
def attack(
    network: Any, points: OnePoint, rival: int | None = None, **options: Unpack[AttackOptions]
) -> Attack | None: ...
@overload
def attack(
    network: Any, points: ManyPoints, rival: int | None = None, **options: Unpack[AttackOptions]
) -> list[Attack | None]: ...
@overload
def attack(network: Any, points: ArrayLike, rival: int | None = None, **options: Unpack[AttackOptions]) -> Any: ...
@reads_model(polynomial=False)
@checked(Network)
@few_blas_threads
def attack(
    network: Network,
    points: ArrayLike,
    rival: int | None = None,
    *,
    starts: int | None = None,
    seed: int = 0,
    within: Region | None = None,
    rivals: Sequence[int] | None = None,
    abstain: float = 0.0,
) -> Any:
    """Return the nearest counterexample that a local search finds, against one rival or against all; None if it finds none.

    One point (n,), or a list of answers for a batch (m, n). `starts` per rival: 24 by default, 4 in many dimensions. `within`,
    `rivals` and `abstain` as for `margin`.

    >>> from polymargin import PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[0.0, 0.0], [1.0, 4.0]], [4.0, 0.0])],
    ...                         degree=2)
    >>> attack(net, [0.0, 0.25])
    Attack(distance 0.75, class 0 loses to 1)
    >>> from polymargin import Linf
    >>> attack(net, [0.0, 0.25], within=Linf(domain=(-1, 1)))
    Attack(linf distance 0.6888194417, class 0 loses to 1)
    """
    if starts is not None and starts < 1:
        raise InputError(f"starts {starts}: expected at least 1")
    asked = ThreatModel.of(network.dimension, within, rivals, abstain, network.class_count)
    asked.region.check_bounded()
    array = one_or_many(points, network.dimension)
    if array.ndim == 2:
        return each(lambda row: named(nearest_attack(network, row, rival, starts, seed, asked=asked), network), array)
    return named(nearest_attack(network, array, rival, starts, seed, asked=asked), network)


def nearest_attack(
    network: Network,
    point: Array,
    rival: int | None = None,
    starts: int | None = None,
    seed: int = 0,
    deadline: Deadline = NEVER,
    asked: ThreatModel | None = None,
) -> Attack | None:
    """Return the answer of `attack` at one point; at the deadline the best that it has."""
    asked = asked or ThreatModel.of(network.dimension)
    u = checked_point(point, network.dimension)
    label = label_at(network, u)
    others = asked.against(label, network.class_count)
    if rival is not None and rival not in others:
        raise InputError(f"rival {rival}: expected one of the classes {others}")
    found = nearest_counterexample(
        network,
        u,
        label,
        others if rival is None else [rival],
        asked.region,
        starts=starts,
        seed=seed,
        deadline=deadline,
        abstain=asked.abstain,
    )
    return None if found is None else Attack(found.point, found.distance, label, found.rival, asked.region.norm.value)
