"""A verifier of lifted proofs in exact rational arithmetic that never writes the matrix down.

It evaluates B and the constraints as functions of δ and w, straight from their definition, and finds the matrix of the quadratic
form by evaluating it at sums of unit vectors.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import numpy as np
from bounds.exact import positive_definite, positive_on, rational

import polymargin as pm

Range = tuple[Fraction, Fraction]


class LiftedVerifier:
    """Raises AssertionError unless the proof shows B > 0 on the ball."""

    def __init__(self, network: pm.Network, point: np.ndarray, label: int, rival: int) -> None:
        self.weights = [
            [[Fraction(w) for w in row] for row in layer.weights.tolist()] for layer in network.chain.layers
        ]
        self.bias = [[Fraction(b) for b in layer.bias.tolist()] for layer in network.chain.layers]
        self.sigma = [([Fraction(c) for c in row] + [Fraction(0)] * 2)[:3] for row in network.chain.activations]
        self.last = [Fraction(c) for c in network.chain.activations[-1]]
        self.u = [Fraction(v) for v in point.tolist()]
        self.label, self.rival = label, rival
        self.sizes = [len(b) for b in self.bias[1:-1]]
        self.leaves = 0
        self.combined: list[list[Fraction]] = []
        self.values: list[list[Fraction]] = []
        a = self.u
        for W, b, (c0, c1, c2) in zip(self.weights[:-1], self.bias[:-1], self.sigma, strict=True):
            z = [dot(row, a) + shift for row, shift in zip(W, b, strict=True)]
            self.values.append(z)
            a = [c0 + c1 * v + c2 * v * v for v in z]

    def check(self, proof: dict[str, Any]) -> None:
        assert proof["kind"] == "lifted"
        self.radius = number(proof["radius"])
        ranges = [[(number(lo), number(hi)) for lo, hi in layer] for layer in proof["ranges"]]
        for i, (low, high) in enumerate(ranges[0]):
            for sign, end in ((1, -low), (-1, high)):  # sign·δᵀQδ + end on the ball
                rest = lambda d, i=i: self.second_rest(d)[i]  # noqa: E731
                form = lambda d, s=sign, e=end, f=rest: s * f(d) + e / self.radius**2 * dot(d, d)  # noqa: E731
                assert end >= 0
                assert positive_definite(matrix_of(form, len(self.u)))
        for layer in range(1, len(ranges)):
            self.intervals_hold(ranges, layer, {}, ranges[layer])
        self.combinations(proof.get("combinations"), len(ranges))
        self.tree(proof["tree"], ranges, {})

    def combinations(self, stated: dict[str, Any] | None, lifted: int) -> None:
        """C, the directions and the ranges of the combinations; the ranges are proved where there is one lifted layer."""
        self.combined, self.directions, self.combined_ranges = [], [], []
        if stated is None:
            return
        self.combined, self.directions = (
            [[number(v) for v in row] for row in stated[name]] for name in ("weights", "directions")
        )
        self.combined_ranges = [(number(lo), number(hi)) for lo, hi in stated["ranges"]]
        assert len(self.combined) == len(self.directions) == len(self.combined_ranges)
        if lifted > 1:
            return
        for row, (low, high) in zip(self.combined, self.combined_ranges, strict=True):
            for sign, end in ((1, -low), (-1, high)):
                rest = lambda d, row=row: dot(row, self.second_rest(d))  # noqa: E731
                form = lambda d, s=sign, e=end, f=rest: s * f(d) + e / self.radius**2 * dot(d, d)  # noqa: E731
                assert end >= 0
                assert positive_definite(matrix_of(form, len(self.u)))

    def second_rest(self, delta: list[Fraction]) -> list[Fraction]:
        bend = self.sigma[0][2]
        squares = [bend * dot(row, delta) ** 2 for row in self.weights[0]]
        return [dot(row, squares) for row in self.weights[1]]

    def tree(self, tree: dict[str, Any], ranges: list[list[Range]], first: dict[int, Range]) -> None:
        if "split" in tree:
            layer, j, v = tree["split"][0], tree["split"][1], number(tree["split"][2])
            if layer == 1:
                reach = self.reach(self.weights[0][j])
                low, high = first.get(j, (-reach, reach))
            else:
                low, high = ranges[layer - 2][j]
            assert low < v < high
            for side, ends in (("low", (low, v)), ("high", (v, high))):
                if layer == 1:
                    self.tree(tree[side], ranges, {**first, j: ends})
                else:
                    changed = [list(r) for r in ranges]
                    changed[layer - 2][j] = ends
                    self.tree(tree[side], changed, first)
            return
        self.leaves += 1
        if tree["ranges"] is not None:
            stated = [[(number(lo), number(hi)) for lo, hi in layer] for layer in tree["ranges"]]
            for layer in range(len(stated)):
                self.intervals_hold(stated, layer, first, ranges[layer])
            ranges = stated
        self.leaf(tree, ranges, first)

    def reach(self, row: list[Fraction]) -> Fraction:
        """At least r‖row‖."""
        square = self.radius**2 * dot(row, row)
        return Fraction(float(square) ** 0.5 * (1 + 1e-12))

    def linear_parts(self) -> list[list[list[Fraction]]]:
        """aˡ for every hidden layer."""
        result = [self.weights[0]]
        for layer in range(1, len(self.values)):
            c1, c2 = self.sigma[layer - 1][1:]
            rise = [c1 + 2 * c2 * v for v in self.values[layer - 1]]
            scaled = [[r * v for v in row] for r, row in zip(rise, result[-1], strict=True)]
            columns = list(zip(*scaled, strict=True))
            result.append([[dot(row, column) for column in columns] for row in self.weights[layer]])
        return result

    def intervals_hold(
        self, ranges: list[list[Range]], layer: int, first: dict[int, Range], known: list[Range]
    ) -> None:
        """Every end of ranges[layer] is known or follows from the layer below."""
        below = ranges[layer - 1] if layer else [(Fraction(0), Fraction(0))] * len(self.weights[0])
        c1, c2 = self.sigma[layer][1:]
        slopes = self.linear_parts()[layer]
        pieces = []
        for j, (low, high) in enumerate(below):
            reach, rise = self.reach(slopes[j]), c1 + 2 * c2 * self.values[layer][j]
            ends = first.get(j, (low - reach, high + reach)) if layer == 0 else (low - reach, high + reach)
            squares = [e * e for e in ends] + ([Fraction(0)] if ends[0] <= 0 <= ends[1] else [])
            linear = sorted((rise * low, rise * high))
            bent = sorted((c2 * min(squares), c2 * max(squares)))
            pieces.append((linear[0] + bent[0], linear[1] + bent[1]))
        for row, (low, high), (lowest, highest) in zip(self.weights[layer + 1], ranges[layer], known, strict=True):
            least = sum(min(w * a, w * b) for w, (a, b) in zip(row, pieces, strict=True))
            most = sum(max(w * a, w * b) for w, (a, b) in zip(row, pieces, strict=True))
            assert low <= lowest or low <= least
            assert high >= highest or high >= most

    def minorants(self, rows: Any, rests: list[Range], slopes: list[list[Fraction]]) -> list[list[Fraction] | None]:
        if len(self.last) <= 3:
            assert rows is None
            return [None] * len(rests)
        v = [a - b for a, b in zip(self.weights[-1][self.label], self.weights[-1][self.rival], strict=True)]
        result = [[number(entry) for entry in row] for row in rows]
        for factor, p, (low, high), slope, row in zip(v, self.values[-1], rests, slopes, result, strict=True):
            line = flint.fmpq_poly([rational(p), 1])
            gap = rational(factor) * sum((rational(c) * line**k for k, c in enumerate(self.last)), flint.fmpq_poly([0]))
            gap -= flint.fmpq_poly([rational(entry) for entry in reversed(row)])
            reach = self.reach(slope)
            assert positive_on(gap, rational(low - reach), rational(high + reach))
        return result

    def cubic(
        self, stated: dict[str, Any], slopes: list[list[Fraction]], delta: list[Fraction], rests: list[Fraction]
    ) -> Fraction:
        """2 Σ x_j (a_j·δ) w_j + r b‖δ‖² + (r/b)‖S‖², S the symmetric part of c Σ_l (W¹_l·δ) W¹_l z_lᵀ, z = W²ᵀ diag(x) a²."""
        x, b = [number(v) for v in stated["weights"]], number(stated["balance"])
        assert b > 0
        columns = [[factor * v for factor, v in zip(x, column, strict=True)] for column in zip(*slopes, strict=True)]
        z = [[dot(heard, column) for column in columns] for heard in zip(*self.weights[1], strict=True)]
        moved, places = [self.sigma[0][2] * dot(row, delta) for row in self.weights[0]], range(len(delta))
        N = [
            [sum(m * row[i] * tail[k] for m, row, tail in zip(moved, self.weights[0], z, strict=True)) for k in places]
            for i in places
        ]
        length = sum(((N[i][k] + N[k][i]) / 2) ** 2 for i in places for k in places)
        products = sum(f * dot(a, delta) * w for f, a, w in zip(x, slopes, rests, strict=True))
        return 2 * products + self.radius * b * dot(delta, delta) + self.radius / b * length

    def leaf(self, leaf: dict[str, Any], ranges: list[list[Range]], first: dict[int, Range]) -> None:
        mu = number(leaf["ball"])
        nu, kappa = ([[number(v) for v in layer] for layer in leaf[name]] for name in ("equalities", "intervals"))
        theta, eta = ([number(v) for v in leaf[name]] for name in ("cuts", "first"))
        assert min([mu, *theta, *eta, *(k for layer in kappa for k in layer)]) >= 0
        linear = self.linear_parts()
        n = len(self.u)
        below_top = self.minorants(leaf["minorants"], ranges[-1], linear[-1])
        shares, plain = [number(v) for v in leaf.get("exchanges", [])], self.sizes[-1]
        cubic = leaf.get("cubic")
        columns = list(zip(*self.weights[-2], strict=True))
        listening = [*self.weights[1:-2], self.weights[-2] + [[dot(row, c) for c in columns] for row in self.combined]]
        known = [*ranges[:-1], [*ranges[-1], *self.combined_ranges]]

        def lagrangian(one: Fraction, vector: list[Fraction]) -> Fraction:
            """Homogenised: linear terms times `one`, constants times its square."""
            delta, rests, place = vector[:n], [], n
            for layer in known:
                rests.append(vector[place : place + len(layer)])
                place += len(layer)
            sums, rests[-1] = rests[-1][plain:], rests[-1][:plain]
            zero = [Fraction(0)] * len(self.weights[0])
            t = [
                [dot(a, delta) + w for a, w in zip(A, r, strict=True)]
                for A, r in zip(linear, [zero, *rests], strict=True)
            ]
            v = [a - b for a, b in zip(self.weights[-1][self.label], self.weights[-1][self.rival], strict=True)]
            total = self.bias[-1][self.label] - self.bias[-1][self.rival]
            total *= one * one
            c0, c1, c2 = self.sigma[-1]
            for factor, p, s, row in zip(v, self.values[-1], t[-1], below_top, strict=True):
                z = p * one + s
                exact = factor * (c0 * one * one + c1 * one * z + c2 * z * z)
                total += exact if row is None else row[0] * s * s + row[1] * s * one + row[2] * one * one
            for k, layer in enumerate(nu):
                c1, c2 = self.sigma[k][1:]
                below = rests[k - 1] if k else zero
                rises = [c1 + 2 * c2 * p for p in self.values[k]]
                inner = [r * w * one + c2 * s * s for r, w, s in zip(rises, below, t[k], strict=True)]
                own = rests[k] + sums if k == len(nu) - 1 else rests[k]
                for multiplier, w, row in zip(layer, own, listening[k], strict=True):
                    total += multiplier * (w * one - dot(row, inner))
                for multiplier, w, (low, high) in zip(kappa[k], own, known[k], strict=True):
                    total -= multiplier * (w - low * one) * (high * one - w)
            moved = [dot(a, delta) for a in linear[-1]]
            for share, s, row, direction in zip(shares, sums, self.combined, self.directions, strict=True):
                total += 2 * share * dot(direction, moved) * (s - dot(row, rests[-1]))
            total -= mu * (self.radius**2 * one * one - dot(delta, delta))
            bend = self.sigma[0][2]
            if cubic is not None:
                total -= self.cubic(cubic, linear[1], delta, rests[0])
            for multiplier, w, row in zip(theta, rests[0], self.weights[1], strict=True):
                image = [bend * a * b for a, b in zip(row, t[0], strict=True)]
                length = sum(dot(column, image) ** 2 for column in zip(*self.weights[0], strict=True))
                total -= multiplier * (self.radius**2 * length - w * w)
            for multiplier, (j, (low, high)) in zip(eta, first.items(), strict=True):
                total -= multiplier * (t[0][j] - low * one) * (high * one - t[0][j])
            return total

        side = n + sum(map(len, known))
        assert positive_definite(matrix_of(lambda v: lagrangian(v[0], v[1:]), 1 + side))


def matrix_of(form: Any, side: int) -> list[list[Fraction]]:
    """The symmetric matrix of a quadratic form that is given as a function."""
    units = [[Fraction(int(i == j)) for j in range(side)] for i in range(side)]
    alone = [form(unit) for unit in units]
    result = [[Fraction(0)] * side for _ in range(side)]
    for i in range(side):
        result[i][i] = alone[i]
        for j in range(i):
            both = form([a + b for a, b in zip(units[i], units[j], strict=True)])
            result[i][j] = result[j][i] = (both - alone[i] - alone[j]) / 2
    return result


def dot(a: Any, b: Any) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def number(text: str) -> Fraction:
    return Fraction(float.fromhex(text))
