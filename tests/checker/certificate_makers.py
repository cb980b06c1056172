"""Certificates made by hand, with no help from polymargin beyond networks and approximate critical points."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from flint import acb, arb, ctx

import polymargin as pm
from polymargin_checker.krawczyk import _derivative, _values
from polymargin_checker.model import read_model
from polymargin_checker.network import LayeredBoundary

Json = dict[str, Any]


def hexes(values: Any) -> list[str]:
    return [float(value).hex() for value in np.asarray(values, dtype=float)]


def certificate(net: pm.PolynomialNetwork, u: Any, label: int, claim: Json, rivals: list[Json], upper: Any) -> Json:
    return {
        "format": "polymargin-certificate-1",
        "created": {"version": "test", "seed": 0},
        "model": {"kind": "polynomial-network", "sha256": net.fingerprint},
        "point": hexes(u),
        "label": label,
        "claim": claim,
        "rivals": rivals,
        "upper": upper,
    }


def write(folder: Path, net: pm.PolynomialNetwork, document: Any) -> tuple[Path, Path]:
    model, file = folder / "model.npz", folder / "certificate.json"
    if not model.exists():
        net.save(model)
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return model, file


def two_parts(value: arb) -> list[str]:
    """A ball's midpoint as a double plus a correction."""
    first = float(value.mid())
    return [first.hex(), float((value - first).mid()).hex()]


def completeness(
    folder: Path, net: pm.PolynomialNetwork, u: Any, label: int, rival: int, radius: float = 1e-12
) -> tuple[Json, list[float]]:
    """A completeness proof, and the approximate distances of the real solutions first to last."""
    found = pm.critical_points(pm.Boundary.from_network(net, label, rival), u, cache=False)
    assert found.audit.complete
    path = folder / "for_newton.npz"
    net.save(path)
    before, ctx.prec = ctx.prec, 160
    try:
        boundary = LayeredBoundary(read_model(path), label, rival)
        centre = [arb(float(value)) for value in u]
        solutions = []
        for x, multiplier in zip(found.points, found.multipliers, strict=True):
            z = [acb(arb(value.real), arb(value.imag)) for value in [*x.tolist(), complex(multiplier)]]
            for _ in range(3):
                step = _derivative(boundary, z).solve(_values(boundary, centre, z)).entries()
                z = [(value - change).mid() for value, change in zip(z, step, strict=True)]
            *pairs, last = [[two_parts(value.real), two_parts(value.imag)] for value in z]
            size = max(1.0, max(float(value.abs_upper()) for value in z))
            solutions.append({"x": pairs, "multiplier": last, "radius": (radius * size).hex()})
    finally:
        ctx.prec = before
    return {"kind": "completeness", "precision": 128, "solutions": solutions}, found.distances.tolist()


def ball_value(weights: Any, p: Any, t: Any, c: float, r: float) -> tuple[float, float]:
    """The best S-lemma bound of Σ p y² + t y + c over ‖δ‖ ≤ r and its multiplier, by a scan: slow and simple."""
    values, vectors = np.linalg.eigh(weights.T @ np.diag(p) @ weights)
    b = vectors.T @ (weights.T @ t)
    best = (-np.inf, 0.0)
    for mu in np.concatenate([[0.0], np.geomspace(1e-6, 1e6, 4000)]):
        if (values + mu).min() > 1e-9:
            best = max(best, (c - mu * r * r - float(np.sum(b * b / (4 * (values + mu)))), float(mu)))
    return best


def shallow_minorants(alpha: Any, s: Any, low: Any, high: Any, degree: int) -> list[tuple[float, float, float]]:
    """Parabolas below α (s + y)^degree on [low, high] for degree 2 or 3.

    Exact up to a slack for squares; for cubes the Chebyshev line of the cubic part about the middle of the range.
    """
    result = []
    for a, shift, lo, hi in zip(alpha, s, low, high, strict=True):
        if degree == 2:
            exact = (a, 2 * a * shift, a * shift * shift)
        else:
            middle, rho = (lo + hi) / 2, (hi - lo) / 2
            base = shift + middle  # α(base + v)³ = α(base³ + 3base²v + 3base v² + v³), v = y − middle
            p, t, c = 3 * a * base, 3 * a * base**2 + 0.75 * a * rho**2, a * base**3 - abs(a) * rho**3 / 4
            exact = (p, t - 2 * p * middle, c - t * middle + p * middle**2)
        slack = 1e-11 * (1 + abs(exact[2]) + abs(exact[1]) * max(abs(lo), abs(hi)))
        result.append((exact[0], exact[1], exact[2] - slack))
    return result


def shallow_bound(net: pm.PolynomialNetwork, u: Any, r: float, degree: int, low: Any, high: Any) -> tuple[float, Json]:
    """A bound for f_0 − f_1 on one leaf and its value."""
    (first, last), u = net.layers, np.asarray(u)
    alpha, constant = last.weights[0] - last.weights[1], float(last.bias[0] - last.bias[1])
    rows = shallow_minorants(alpha, first.weights @ u + first.bias, low, high, degree)
    p, t, c = (np.array(column) for column in zip(*rows, strict=True))
    value, mu = ball_value(first.weights, p, t, constant + float(c.sum()), r)
    return value, {"slopes": [], "quadratics": [hexes(row) for row in rows], "multiplier": mu.hex()}


def shallow_tree(net: pm.PolynomialNetwork, u: Any, r: float, degree: int) -> Json:
    """Branch on the widest range until every leaf is positive."""
    norms = np.linalg.norm(net.layers[0].weights, axis=1)

    def grow(low: Any, high: Any, depth: int) -> Json:
        value, bound = shallow_bound(net, u, r, degree, low, high)
        if value > 1e-7:
            return {"ranges": [], "bound": bound}
        assert depth < 12, "the radius is too near to the margin for these minorants"
        j = int(np.argmax(high - low))
        v = float((low[j] + high[j]) / 2)
        below, above = high.copy(), low.copy()
        below[j] = above[j] = v
        parts = {"low": grow(low, below, depth + 1), "high": grow(above, high, depth + 1)}
        return {"split": [j, v.hex()], **parts}

    return {"kind": "exclusion", "radius": float(r).hex(), "tree": grow(-r * norms, r * norms, 0)}
