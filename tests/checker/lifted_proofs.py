"""Lifted proofs by hand, from the formulas of docs/certificates.md in plain NumPy: what they say, and small honest ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from checker.certificate_makers import Json, certificate, hexes

import polymargin as pm

Array = Any


def deep_squares(
    widths: tuple[int, ...] = (3, 4, 3, 2), seed: int = 2, change: Callable[[Any], object] | None = None
) -> tuple[pm.Network, Array, float]:
    """A network with activations c₀ + c₁z + c₂z², all different, a point of class 0 and a small radius.

    `change` may alter the list of weights and biases.
    """
    generator = np.random.default_rng(seed)
    layers = [
        (generator.normal(size=(high, low)) / np.sqrt(low), generator.normal(size=high))
        for low, high in pairwise(widths)
    ]
    if change is not None:
        change(layers)
    activations = generator.uniform(0.3, 0.9, size=(len(widths) - 2, 3)).tolist()
    u = generator.normal(size=widths[0])
    scores = pm.PolynomialNetwork(layers, activations=activations)(u)
    layers[-1][1][0] += scores.max() - scores[0] + 1  # class 0 wins by one at least
    return pm.PolynomialNetwork(layers, activations=activations), u, 2.0**-8


@dataclass
class Around:
    """The network around u: p, a, d = σ'(p), c per hidden layer; v, and the bias of B."""

    network: pm.PolynomialNetwork
    u: Array
    rival: int = 1

    def __post_init__(self) -> None:
        self.p, self.a, self.d, self.c = [], [], [], []
        values = np.asarray(self.u, dtype=float)
        for k, (layer, sigma) in enumerate(
            zip(self.network.chain.layers[:-1], self.network.chain.activations, strict=True)
        ):
            polynomial = np.polynomial.Polynomial(sigma)
            p = layer.weights @ values + layer.bias
            self.a.append(layer.weights @ (self.d[-1][:, None] * self.a[-1]) if k else layer.weights)
            self.p.append(p)
            self.d.append(polynomial.deriv()(p))
            self.c.append(float(polynomial.coef[2]) if len(polynomial.coef) > 2 else 0.0)
            values = polynomial(p)
        last = self.network.chain.layers[-1]
        self.v = last.weights[0] - last.weights[self.rival]
        self.bias = float(last.bias[0] - last.bias[self.rival])
        self.centre = float(self.v @ values + self.bias)
        self.weights = [layer.weights for layer in self.network.chain.layers[:-1]]

    def rests(self, delta: Array) -> list[Array]:
        """w¹ = 0, w², …, by their definition z − p − aδ."""
        values, found = np.asarray(self.u) + delta, []
        chain = self.network.chain
        for layer, sigma, p, a in zip(chain.layers[:-1], chain.activations, self.p, self.a, strict=True):
            z = layer.weights @ values + layer.bias
            found.append(z - p - a @ delta)
            values = np.polynomial.Polynomial(sigma)(z)
        return found

    def curvature(self, neuron: int) -> Array:
        return self.c[0] * self.weights[0].T @ np.diag(self.weights[1][neuron]) @ self.weights[0]

    def root_ranges(self, r: float, slack: float = 1.0001) -> list[Array]:
        """Ranges of w², … on the ball, a little wider than eigenvalues and interval arithmetic give."""
        ends = [np.linalg.eigvalsh(self.curvature(i))[[0, -1]] * r * r for i in range(len(self.p[1]))]
        ranges = [slack * np.array([(min(lo, -1e-3 * r * r), max(hi, 1e-3 * r * r)) for lo, hi in ends])]
        for layer in range(2, len(self.p)):
            low, high = self.intervals(layer, r, ranges[-1])
            width = (high - low) * (slack - 1)
            ranges.append(np.stack([low - width, high + width], axis=1))
        return ranges

    def intervals(self, layer: int, r: float, below: Array | None, first: dict[int, Any] | None = None) -> Any:
        """Bounds of the rests of hidden layer `layer` (1 is the second) by interval arithmetic."""
        k = layer - 1
        reach = r * np.linalg.norm(self.a[k], axis=1)
        rest = np.zeros((len(reach), 2)) if below is None else below
        t = np.stack([rest[:, 0] - reach, rest[:, 1] + reach], axis=1)
        for neuron, ends in (first or {}).items():
            t[neuron] = ends
        smallest = np.where((t[:, 0] < 0) & (t[:, 1] > 0), 0.0, np.abs(t).min(axis=1))
        squares = np.sort(self.c[k] * np.stack([smallest**2, np.abs(t).max(axis=1) ** 2], axis=1), axis=1)
        inner = np.sort(self.d[k][:, None] * rest, axis=1) + squares
        positive, negative = np.maximum(self.weights[layer], 0), np.minimum(self.weights[layer], 0)
        return positive @ inner[:, 0] + negative @ inner[:, 1], positive @ inner[:, 1] + negative @ inner[:, 0]

    def constraints(
        self, r: float, delta: Array, rests: list[Array], mu: float, nu: Any, kappa: Any, ranges: Any, theta: Array
    ) -> float:
        """What multipliers add to B at δ and any rests w¹ = 0, w², …: −μ(r² − ‖δ‖²) and all that follows it but splits."""
        t = [a @ delta + rest for a, rest in zip(self.a, rests, strict=True)]
        total = -mu * (r * r - delta @ delta)
        for k in range(len(nu)):
            below = self.d[k] * rests[k] + self.c[k] * t[k] ** 2
            total += nu[k] @ (rests[k + 1] - self.weights[k + 1] @ below)
            low, high = ranges[k].T
            total -= kappa[k] @ ((rests[k + 1] - low) * (high - rests[k + 1]))
        for i in range(len(theta)):
            total -= theta[i] * (r * r * np.sum((self.curvature(i) @ delta) ** 2) - rests[1][i] ** 2)
        return float(total)

    def leaf(self, r: float) -> Json:
        """Multipliers for a small ball: no linear term in w is left, and μ = ‖∇B(u)‖ / 2r."""
        nu = [-self.v * self.d[-1]]
        for k in range(len(self.p) - 2, 0, -1):
            nu.insert(0, (self.weights[k + 1].T @ nu[0]) * self.d[k])
        gradient = self.a[-1].T @ (self.v * self.d[-1])
        factors = [*(self.weights[k + 1].T @ column for k, column in enumerate(nu)), self.v]
        kappa = [4 * np.abs(factors[k + 1] * self.c[k + 1]) + 4 for k in range(len(nu))]
        return {
            "ball": float(np.linalg.norm(gradient) / (2 * r) + 100).hex(),
            "equalities": [hexes(column) for column in nu],
            "intervals": [hexes(column) for column in kappa],
            "cuts": hexes(np.full(len(self.p[1]), 0.25)),
            "first": [],
            "minorants": None,
            "ranges": None,
        }


def least_over_rests(value: Callable[[Array], float], size: int) -> float:
    """The least value of a quadratic in the rests, which meet each other nowhere: a parabola each."""
    base = least = value(np.zeros(size))
    for unit in np.eye(size):
        up, down = value(unit), value(-unit)
        least -= ((up - down) / 2) ** 2 / (4 * ((up + down) / 2 - base))
    return least


def lifted_proof(around: Around, r: float, tree: Json | None = None) -> Json:
    ranges = [[hexes(row) for row in layer] for layer in around.root_ranges(r)]
    return {"kind": "lifted", "radius": float(r).hex(), "ranges": ranges, "tree": tree or around.leaf(r)}


def lifted_certificate(network: pm.Network, u: Array, r: float, tree: Json | None = None) -> Json:
    """For two classes."""
    rivals = [{"rival": 1, "lower": float(r).hex(), "proof": lifted_proof(Around(network, u), r, tree)}]
    return certificate(network, u, 0, {"kind": "robust", "radius": float(r).hex()}, rivals, None)
