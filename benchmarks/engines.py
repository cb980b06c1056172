"""The two ways of bounding a network on a ball in one piece, side by side: parabolas and lines below all neurons, sought together
and decided by the S-lemma (`bounds/relaxation.py`), and the lifted relaxation, of layers or of products.

Random networks with two classes; for each the largest proved radius over the attack's distance, and CPU seconds.
attention: lifted as products, and in brackets as the sum of cubes. inner: two or three hidden layers that are not quadratic.

Run: python benchmarks/engines.py --kinds shallow attention inner wide
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import pairwise
from time import process_time
from typing import Any

import common
import numpy as np
from polymargin.bounds.products.of_layers import products_of

import polymargin as pm
from polymargin.bounds.lifted.expansion import expansion_at
from polymargin.bounds.provers import LiftedProver, ParabolaProver, Prover, provers
from polymargin.bounds.views import view_of
from polymargin.deadlines import NEVER
from polymargin.networks.attention import random_attention
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import Product

TOLERANCE = 1e-3
BETTER = 3e-3
SQUARE, CUBE, BENT = [0.0, 0.0, 1.0], [0.0, 0.5, 0.3, 0.2], [0.1, 0.5, 0.4, 0.0, 0.1]
Problem = tuple[str, Any, np.ndarray]


def layered(widths: tuple[int, ...], activations: list[list[float]], seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    layers = [
        (generator.normal(size=(high, low)) / np.sqrt(low), generator.normal(size=high) / 2)
        for low, high in pairwise(widths)
    ]
    network = pm.PolynomialNetwork(layers, activations=activations)
    return f"{widths} {seed}", network, generator.normal(size=widths[0]) / 2


def shallow() -> Iterator[Problem]:
    for inputs, width, degree in ((4, 6, 3), (6, 8, 3), (8, 10, 3), (6, 8, 4)):
        for seed in range(6):
            generator = np.random.default_rng(seed)
            network = common.network(inputs, [width], degree, generator)
            yield f"({inputs}, {width}) d = {degree} {seed}", network, generator.normal(size=inputs) / 3


def attention() -> Iterator[Problem]:
    for sizes in ((2, 2, 1, 1), (2, 2, 2, 2), (3, 2, 2, 1), (4, 3, 2, 2), (4, 3, 3, 3)):
        for seed in range(3):
            network = random_attention(*sizes, 2, seed)
            yield f"{sizes} {seed}", network, np.random.default_rng(100 + seed).normal(size=network.dimension)


def inner() -> Iterator[Problem]:
    for widths, activations in (
        ((4, 5, 4, 2), [[0.0, 0.0, 0.0, 1.0], SQUARE]),
        ((4, 5, 4, 2), [[0.0, 0.5, 0.0, 1.0]] * 2),
        ((6, 6, 5, 2), [BENT, SQUARE]),
        ((6, 8, 6, 2), [BENT] * 2),
        ((5, 6, 5, 4, 2), [CUBE] * 3),
    ):
        yield from (layered(widths, activations, seed) for seed in range(3))


def wide() -> Iterator[Problem]:
    for widths, activations in (
        ((10, 10, 8, 2), [CUBE, SQUARE]),
        ((12, 12, 8, 2), [BENT] * 2),
        ((18, 16, 10, 2), [CUBE] * 2),
        ((24, 20, 12, 2), [BENT] * 2),
        ((32, 24, 16, 2), [CUBE, SQUARE]),
        ((64, 48, 24, 2), [BENT] * 2),
    ):
        yield from (layered(widths, activations, seed) for seed in range(2))


def as_products(network: pm.Network) -> Network:
    """Σ_σ v_σi k_σj first, and each of these sums times q_τj."""
    t, d, n = network.structure.t, network.structure.d, network.dimension

    def forms(matrix: np.ndarray, rows: list[tuple[int, int]], width: int) -> np.ndarray:
        """Row i of the matrix at token σ, for every (σ, i)."""
        result = np.zeros((len(rows), width))
        for place, (token, index) in enumerate(rows):
            result[place, token * d : (token + 1) * d] = matrix[index]
        return result

    pairs = [(i, j) for i in range(network.structure.d_prime) for j in range(network.structure.a)]
    first = second = [(token, i, j) for token in range(t) for i, j in pairs]
    values = forms(network.structure.V, [(token, i) for token, i, _ in first], n)
    keys = forms(network.structure.K.T, [(token, j) for token, _, j in first], n)
    sums = np.zeros((len(second), n + len(first)))
    readout = np.zeros((network.class_count, n + len(first) + len(second)))
    for place, (token, i, j) in enumerate(second):
        sums[place, [n + k for k, entry in enumerate(first) if entry[1:] == (i, j)]] = 1.0
        readout[:, n + len(first) + place] = network.structure.readout[:, token * network.structure.d_prime + i]
    queries = forms(network.structure.Q.T, [(token, j) for token, _, j in second], n + len(first))
    stages = [Product(Forms.of(values), Forms.of(keys)), Product(Forms.of(sums), Forms.of(queries))]
    return Network(stages, Forms.of(readout, network.structure.bias))


def compared(kind: str, network: Any, u: np.ndarray) -> list[tuple[float, float]]:
    """Proved over attack, and seconds, of both."""
    nearest = pm.attack(network, u)
    if nearest is None:
        return []
    label, rival = nearest.label, nearest.rival
    view: Any = view_of(network, u, label, rival)
    ways: list[Prover] = [ParabolaProver(view, label, rival, None, NEVER)]
    if kind == "shallow":
        ways.append(LiftedProver(expansion_at(view), label, rival, NEVER))
    else:
        other = as_products(network) if kind == "attention" else products_of(network)
        assert np.allclose(other(u), network(u))
        ways.append(provers({rival: view_of(other, u, label, rival)}, label, NEVER)[rival])
        ways += [LiftedProver(expansion_at(view), label, rival, NEVER)] if kind == "attention" else []
    rows = []
    for way in ways:
        started = process_time()
        found = way.largest(TOLERANCE, nearest.distance)
        rows.append((found.radius / nearest.distance, process_time() - started))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = {"shallow": shallow, "attention": attention, "inner": inner, "wide": wide}
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=list(kinds))
    rows = []
    for kind in parser.parse_args().kinds:
        found = []
        for name, network, u in kinds[kind]():
            both = compared(kind, network, u)
            if both:
                found.append(both)
                print(kind, name, *(f"{ratio:.4f} in {seconds:.2f} s" for ratio, seconds in both), flush=True)
        ratios = np.array([[ratio for ratio, _ in both] for both in found])
        times = np.median([[seconds for _, seconds in both] for both in found], axis=0)
        for k in range(1, ratios.shape[1]):
            apart = ratios[:, 0] - ratios[:, k]
            rows.append(
                [
                    kind + " [cubes]" * (k == 2),
                    str(len(apart)),
                    *(f"{value:.3f}" for value in np.median(ratios[:, [0, k]], axis=0)),
                    f"{int((apart > BETTER).sum())} by up to {max(apart.max(), 0):.2f}",
                    f"{int((apart < -BETTER).sum())} by up to {max(-apart.min(), 0):.2f}",
                    f"{times[0]:.2f}, {times[k]:.2f}",
                ]
            )
    common.print_table(
        ["kind", "networks", "parabolas", "lifted", "parabolas better", "lifted better", "seconds"], rows
    )


if __name__ == "__main__":
    main()
