"""The exactly labelled edition: no training, no doubt.

At random points of random networks the margin is certified, ρ_lower ≤ ρ ≤ ρ_upper, and the radii lie just inside and just
outside: a ball of radius 0.999 ρ_lower holds no tie (unsat), one of radius 1.001 ρ_upper does (sat). Both are proved by the same
certificate, so that a verifier is wrong in either direction or right, without trusting this package: the separate checker
accepts every certificate before it is listed. Each network is written with z^d as Pow and as Mul, for verifiers differ there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError, PolymarginError
from polymargin.margins import Margin, margin
from polymargin.networks import LightningAttention, Network, PolynomialNetwork
from polymargin.networks.attention import random_attention
from polymargin.networks.structures import Attention
from polymargin.networks.writers.to_onnx import to_onnx
from polymargin.soundness.benchmark_files import CLEAN, UNVERIFIABLE, Instance, write_header, write_instances
from polymargin.soundness.checking import proved

Array = NDArray[np.float64]
EDITION = "exact"
FACTORS = (0.9, 0.99, 0.999, 1.001, 1.01, 1.1)
SPELLINGS = ("Pow", "Mul")
# Points drawn for each one that is wanted before a network is given up, and networks drawn for one.
TRIES_PER_POINT, MOST_NETWORKS = 2, 30


@dataclass(frozen=True)
class ExactPlan:
    """The random networks of an exact edition: widths and degree of layered ones, (t, d, d', a) of attention modules.

    points   for each network; six radii each
    """

    layered: tuple[tuple[tuple[int, ...], int], ...] = (
        ((8, 10, 2), 2),
        ((6, 8, 2), 3),
        ((5, 6, 3), 3),
        ((3, 3, 2, 2), 2),
    )
    attention: tuple[tuple[int, int, int, int], ...] = ((2, 2, 1, 1),)
    points: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.points, int) or self.points < 1:
            raise InputError(f"points {self.points!r}: expected a whole number of at least 1")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise InputError(f"seed {self.seed!r}: expected an integer >= 0")
        if not self.layered and not self.attention:
            raise InputError("no network in the plan; give at least one of layered and attention")


@dataclass(frozen=True, eq=False)
class LabelledPoint:
    """A point, its certified margin, and the nearest tie."""

    point: Array
    certified: Margin
    nearest: Array


def generate_exact_edition(
    directory: str | Path, plan: ExactPlan | None = None, *, progress: Callable[[str], None] | None = None
) -> list[Instance]:
    """Write models in both spellings, certificates, queries, instances.csv and ground_truth.csv."""
    folder, plan = Path(directory), plan or ExactPlan()
    write_header(folder, EDITION, {"plan": asdict(plan), "factors": list(FACTORS)})
    for part in ("models", "onnx", "margins"):
        (folder / part).mkdir(exist_ok=True)
    instances: list[Instance] = []
    classes: dict[str, int] = {}
    for name, draw in edition_networks(plan):
        network, found = _with_points(name, draw, plan)
        model = f"models/{name}.npz"
        network.save(folder / model)
        classes[model] = network.class_count
        for spelling in SPELLINGS:
            to_onnx(network, folder / f"onnx/{name}-{spelling}.onnx", powers=spelling)
        instances += _labelled(folder, name, model, found)
        if progress is not None:
            progress(name)
    write_instances(folder, instances, classes)
    return instances


def edition_networks(plan: ExactPlan) -> list[tuple[str, Callable[[int], Any]]]:
    """Return names and functions that draw the network of an attempt; every weight fits float32."""
    layered: list[tuple[str, Callable[[int], Any]]] = [
        (
            f"{'shallow' if len(widths) == 3 else 'deep'}-{'-'.join(map(str, widths))}-d{degree}",
            partial(_layered, widths, degree, (plan.seed, 0, index)),
        )
        for index, (widths, degree) in enumerate(plan.layered)
    ]
    attention: list[tuple[str, Callable[[int], Any]]] = [
        (f"attention-{'-'.join(map(str, sizes))}", partial(_attention, sizes, (plan.seed, 1, index)))
        for index, sizes in enumerate(plan.attention)
    ]
    return layered + attention


def _layered(widths: tuple[int, ...], degree: int, seeds: tuple[int, ...], attempt: int) -> Network:
    generator = np.random.default_rng([*seeds, attempt])
    # Variance 1/inputs keeps the pre-activations of size one, layer after layer.
    layers = [
        (_float32(generator.normal(size=(b, a)) / np.sqrt(a)), _float32(generator.normal(size=b)))
        for a, b in pairwise(widths)
    ]
    return PolynomialNetwork(layers, degree=degree)


def _attention(sizes: tuple[int, int, int, int], seeds: tuple[int, ...], attempt: int) -> Network:
    seed = int(np.random.SeedSequence([*seeds, attempt]).generate_state(1)[0])
    drawn = random_attention(*sizes, seed=seed).structure
    assert isinstance(drawn, Attention)
    return LightningAttention(*map(_float32, (drawn.V, drawn.K, drawn.Q, drawn.readout, drawn.bias)))


def _with_points(name: str, draw: Callable[[int], Any], plan: ExactPlan) -> tuple[Any, list[LabelledPoint]]:
    """Return the first network that has enough points with a certified margin; many boundaries are empty."""
    for attempt in range(MOST_NETWORKS):
        network = draw(attempt)
        found = _certified_points(network, plan)
        if len(found) == plan.points:
            return network, found
    raise PolymarginError(
        f"{name}: no network has {plan.points} points with a certified finite margin; give another seed"
    )


def _certified_points(network: Any, plan: ExactPlan) -> list[LabelledPoint]:
    generator = np.random.default_rng([plan.seed, 2])
    found: list[LabelledPoint] = []
    for _ in range(TRIES_PER_POINT * plan.points):
        point = _float32(generator.uniform(-1.0, 1.0, network.dimension))
        certified = margin(network, point[None], seed=plan.seed, workers=1)[0]
        if certified.point is not None and certified.radius > 0 and _separates(certified):
            found.append(LabelledPoint(point, certified, certified.point))
        if len(found) == plan.points:
            break
    return found


def _labelled(folder: Path, name: str, model: str, found: list[LabelledPoint]) -> list[Instance]:
    """Return six instances in two spellings for every point, after the checker has accepted all margins."""
    proofs = [item.certified.certificate for item in found]
    files = [
        proof.save(folder / f"margins/{name}-{index}.json") for index, proof in enumerate(proofs) if proof is not None
    ]
    if len(files) < len(found) or not all(proved(folder / model, files)):
        raise PolymarginError(f"{name}: the checker refused a certificate; this is a bug, please report it")
    return [
        _instance(name, model, spelling, index, factor, item)
        for spelling in SPELLINGS
        for index, item in enumerate(found)
        for factor in FACTORS
    ]


def _separates(certified: Margin) -> bool:
    """Return whether every factor leads to a radius on its proved side."""
    lower, upper = certified.lower, certified.upper
    radii = [(factor, labelled_radius(certified, factor)) for factor in FACTORS]
    return 0 < lower <= upper < math.inf and all(
        0 < radius < lower if factor < 1 else radius > upper for factor, radius in radii
    )


def labelled_radius(certified: Margin, factor: float) -> float:
    """Return factor · margin as a float32 number, measured from the bound on the other side."""
    end = certified.lower if factor < 1 else certified.upper
    return float(np.float32(factor * end))


def _instance(name: str, model: str, spelling: str, index: int, factor: float, item: LabelledPoint) -> Instance:
    bounds, radius = item.certified, labelled_radius(item.certified, factor)
    assert bounds.label is not None
    safe = Fraction(radius) < Fraction(bounds.lower)
    return Instance(
        onnx=f"onnx/{name}-{spelling}.onnx",
        vnnlib=f"vnnlib/{name}-{index}-{factor:g}.vnnlib",
        model=model,
        kind=CLEAN if safe else UNVERIFIABLE,
        truth="unsat" if safe else "sat",
        radius=radius,
        label=bounds.label,
        point=item.point,
        margin_lower=bounds.lower,
        margin_upper=bounds.upper,
        nearest=item.nearest,
        certificate=f"margins/{name}-{index}.json",
    )


def _float32(values: Array) -> Array:
    return values.astype(np.float32).astype(np.float64)
