"""Networks whose forms are off by noise: |e_i| ≤ η_i is added to form i of some layers.

The network with noise is one over the inputs (x, e), so that search, proofs and exact arithmetic are those of any network. Its
region is ‖(ω δ, w e)‖ ≤ R in the domain |e_i| ≤ η_i with small weights w. It contains all δ with ‖ω δ‖ ≤ R − Σ w_i η_i, for every
norm, and so what is proved at R holds up to there. Without weights the inputs stay, and the radius is that of the noise in units
of η: how much noise a class bears.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.class_names import class_name
from polymargin.deadlines import Deadline, TimeUpError
from polymargin.errors import InputError
from polymargin.margins.case import Case
from polymargin.margins.certificate import Certificate, certificate, in_base64
from polymargin.margins.judge import Judge, Judgement
from polymargin.margins.prediction import predicted_class
from polymargin.margins.proofs import RivalProof, counterexample_json
from polymargin.networks.network import Network
from polymargin.networks.noisy import layer_names, layer_number, layers_of, with_logits, with_noise
from polymargin.regions import Region, ThreatModel
from polymargin.relaxation.confirmation import Counterexample
from polymargin.relaxation.curvatures import CurvatureCache
from polymargin.relaxation.prover import PreparedRegion
from polymargin.relaxation.search import RegionSearch

Array = NDArray[np.float64]
NoiseGiven: TypeAlias = Mapping[int, Any] | Mapping[str, Any]
"""Sizes by layer."""

SMALL = 2.0**-20
"""How long the noise of all forms together is at most, relative to the radius."""


@dataclass(frozen=True)
class Noise:
    """Sizes of noise by the number of the layer: numbers, one for each form, or shares of the layer's proved range."""

    absolute: dict[int, Array]
    relative: dict[int, float]

    @classmethod
    def of(cls, network: Network, given: Mapping[Any, Any]) -> Noise:
        """Read what a user gives: {layer: size}, layers by name or number, sizes as numbers or as '0.1%' of the range."""
        if not isinstance(given, Mapping) or not given:
            raise InputError(f"noise={given!r}: expected sizes by layer, such as {{0: 1e-3}} or {{0: '0.1%'}}")
        absolute, relative = dict[int, Array](), dict[int, float]()
        names, widths = layer_names(network), [len(forms) for forms in layers_of(network)]
        for layer, size in given.items():
            number = layer_number(network, layer)
            if number in absolute or number in relative:
                raise InputError(f"noise: the layer {names[number]} is given twice")
            if isinstance(size, str):
                relative[number] = _share(size)
            else:
                absolute[number] = _sizes(size, widths[number], names[number])
        return cls(absolute, relative)

    def at(self, network: Network, point: Array, region: Region, radius: float, deadline: Deadline) -> dict[int, Array]:
        """Return the sizes for a region around a point."""
        found = dict(self.absolute)
        if self.relative:
            largest = largest_forms(network, point, region, radius, deadline)
            found |= {
                layer: np.full(len(largest[layer]), share * largest[layer].max())
                for layer, share in self.relative.items()
            }
        return dict(sorted(found.items()))


def largest_forms(network: Network, point: Array, region: Region, radius: float, deadline: Deadline) -> list[Array]:
    """Return the proved bounds of the absolute values of all forms on a region, layer by layer."""
    try:
        here = PreparedRegion.of(with_logits(network), point, region, radius, CurvatureCache(), deadline)
    except TimeUpError:
        raise InputError("noise in percent: the time was too short for the ranges of the layers") from None
    enclosures = here.proved.enclosures
    ends = [[group.value + end for end in enclosures.of_forms(group)] for group in enclosures.expansion.groups]
    return [np.maximum(np.abs(low), np.abs(high)) for low, high in ends]


@dataclass(frozen=True, eq=False)
class PointProblem:
    """A network around a point, with noise or without.

    network, region, start   over (x, e), and (u, 0)
    threat                   about x, as certificates state it
    stated                   what certificates say besides
    scale, slack             what a radius is about, and at least Σ w_i η_i
    """

    judge: Judge
    threat: ThreatModel
    u: Array
    label: int
    rivals: list[int]
    network: Network
    region: Region
    start: Array
    stated: dict[str, Any]
    scale: float
    slack: float
    seed: int

    @classmethod
    def of(
        cls, judge: Judge, threat: ThreatModel, u: Array, sizes: dict[int, Array], scale: float | None, seed: int
    ) -> PointProblem:
        """Put the inputs and the noise together; `scale` is a radius, None where the inputs stay."""
        network, region = judge.network, threat.region
        Case.check_size(network, u)
        region.check_inside(u)
        if region.is_skew:
            raise InputError("noise with an ellipsoid or a subspace: expected a region without these")
        label = only_class(network, u)
        every = np.concatenate(list(sizes.values()))
        count, size = len(u), len(every)
        around, slack, weights = np.concatenate([_ones(region.weights, count), np.ones(size)]), 0.0, None
        loud = every > 0
        if scale is None:
            if not loud.any():
                raise InputError("noise: all sizes are zero; expected one that is not")
            around[count:][loud] = np.nextafter(1 / every[loud], np.inf)  # lengths are not below those of 1 / η
            moving = (count + np.flatnonzero(loud)).tolist()
            whole = replace(region, weights=around, movable=tuple(moving), stated_dimension=None)
        else:
            weights = np.where(loud, SMALL * scale / (size * np.where(loud, every, 1.0)), 1.0)
            around[count:], slack = weights, 2 * SMALL * scale
            infinite = np.full(count, np.inf)
            low = np.concatenate([-infinite if region.low is None else region.low, -every])
            high = np.concatenate([infinite if region.high is None else region.high, every])
            movable = None if region.movable is None else (*region.movable, *range(count, count + size))
            whole = replace(region, weights=around, low=low, high=high, movable=movable, stated_dimension=None)
        layers = [[layer, in_base64(own)] for layer, own in sizes.items()]
        return cls(
            judge=judge,
            threat=threat,
            u=u,
            label=label,
            rivals=threat.against(label, network.class_count),
            network=with_noise(network, list(sizes)),
            region=whole.in_dimension(count + size),
            start=np.concatenate([u, np.zeros(size)]),
            stated={"noise": {"layers": layers, "weights": None if weights is None else in_base64(weights)}},
            scale=1.0 if scale is None else scale,
            slack=slack,
            seed=seed,
        )

    @classmethod
    def plain(cls, judge: Judge, threat: ThreatModel, u: Array, seed: int) -> PointProblem:
        """Return the network itself."""
        network, label = judge.network, only_class(judge.network, u)
        Case.check_size(network, u)
        threat.region.check_inside(u)
        rivals = threat.against(label, network.class_count)
        return cls(judge, threat, u, label, rivals, network, threat.region, u, {}, 1.0, 0.0, seed)

    @property
    def options(self) -> dict[str, Any]:
        """Return the keywords of searches."""
        return {"seed": self.seed, "abstain": self.threat.abstain}

    def search(self, deadline: Deadline) -> RegionSearch:
        """Return the search for proofs."""
        return RegionSearch(
            self.network, self.start, self.label, self.rivals, self.region, self.threat.abstain, deadline
        )

    def judged(
        self, claim: dict[str, Any], proofs: list[RivalProof], upper: Counterexample | None, deadline: Deadline
    ) -> tuple[Certificate, Judgement]:
        """Write a certificate, and let the checker judge it."""
        rivals = [proof.to_json() for proof in proofs]
        evidence = None if upper is None else counterexample_json(upper)
        network = self.judge.network
        made = certificate(network, self.u, self.label, claim, rivals, evidence, self.seed, self.threat)
        document = Certificate({**made.data, **self.stated})
        return document, self.judge.on(document, deadline.left)


def only_class(network: Network, u: Array) -> int:
    """Return the class at a point; refuse a tie."""
    label, tied = predicted_class(network, u)
    if tied is not None:
        names = " and ".join(class_name(network, one) for one in (label, tied))
        raise InputError(f"classes {names} tie exactly at the point: it has no class of its own")
    return label


def _ones(weights: Array | None, count: int) -> Array:
    return np.ones(count) if weights is None else weights


def _share(text: str) -> float:
    try:
        value = float(text.removesuffix("%")) / 100 if text.endswith("%") else math.nan
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f"noise: a size of {text!r}; expected a number, or a share of the range such as '0.1%'")
    return value


def _sizes(given: ArrayLike, width: int, name: str) -> Array:
    try:
        sizes = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"noise at {name}: {given!r}; expected a number, or one for each of {width} forms") from None
    if sizes.shape not in ((), (width,)):
        raise InputError(f"noise at {name} of shape {sizes.shape}; expected a number, or one for each of {width} forms")
    if not (np.isfinite(sizes).all() and (sizes >= 0).all()):
        raise InputError(f"noise at {name}: a size is negative or not finite; expected numbers of 0 or more")
    return np.broadcast_to(sizes, (width,)).copy()
