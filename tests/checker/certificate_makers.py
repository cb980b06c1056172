"""Certificates made by hand, with no help from polymargin beyond networks and approximate critical points."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
from flint import acb, acb_mat, arb, ctx

import polymargin as pm
from polymargin_checker.boundary import Boundary
from polymargin_checker.stages import read_network

Json = dict[str, Any]


def hexes(values: Any) -> list[str]:
    return [float(value).hex() for value in np.asarray(values, dtype=float)]


def certificate(net: pm.Network, u: Any, label: int, claim: Json, rivals: list[Json], upper: Any) -> Json:
    return {
        "format": "polymargin-certificate-1",
        "created": {"version": "test", "seed": 0},
        "model": {"sha256": net.fingerprint},
        "point": hexes(u),
        "label": label,
        "claim": claim,
        "rivals": rivals,
        "upper": upper,
    }


def write(folder: Path, net: pm.Network, document: Any) -> tuple[Path, Path]:
    model, file = folder / "model.npz", folder / "certificate.json"
    if not model.exists():
        net.save(model)
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return model, file


def base64_of(values: Any, kind: str = "<f8") -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()


def from_base64(text: str, kind: str = "<f8") -> Any:
    return np.frombuffer(base64.b64decode(text), dtype=kind).copy()


def completeness(
    folder: Path,
    net: pm.Network,
    u: Any,
    label: int,
    rival: int,
    exponent: int = -33,
    corrected: bool = False,
) -> tuple[Json, list[float]]:
    """A completeness proof, and the approximate distances of the real solutions first to last."""
    found = pm.critical_points(pm.Boundary.from_network(net, label, rival), u, cache=False)
    assert found.audit.complete
    path = folder / "for_newton.npz"
    net.save(path)
    real = np.asarray(found.real)
    upper = ~real & (found.points.imag @ np.random.default_rng(5).normal(size=net.dimension) > 0)
    order = [*np.flatnonzero(real).tolist(), *np.flatnonzero(upper).tolist()]
    before, ctx.prec = ctx.prec, 160
    try:
        boundary = Boundary(read_network(path), label, rival)
        solutions = [
            [acb(arb(value.real), arb(0 if real[place] else value.imag)) for value in z]
            for place in order
            for z in [[*found.points[place].tolist(), complex(found.multipliers[place])]]
        ]
        sharp = [newton(boundary, [arb(float(value)) for value in u], z) for z in solutions]
        first = [[complex(float(v.real.mid()), float(v.imag.mid())) for v in z] for z in sharp]
        second = [
            [
                complex(float((v.real - w.real).mid()), float((v.imag - w.imag).mid()))
                for v, w in zip(z, doubles, strict=True)
            ]
            for z, doubles in zip(sharp, first, strict=True)
        ]
    finally:
        ctx.prec = before
    reals = int(real.sum())
    sizes = np.log2(np.maximum(1, np.abs(np.array(first)))).round()
    radii = np.stack([exponent + sizes[:, :-1].max(axis=1), exponent + 2 + sizes[:, -1]], axis=1)
    proof = {
        "kind": "completeness",
        "reals": reals,
        "points": listed(np.array(first)[:, :-1], reals),
        "radii": base64_of(radii, "<i2"),
    }
    if corrected:
        proof["corrections"] = listed(np.array(second)[:, :-1], reals)
    return proof, found.distances[real].tolist() or [np.inf]


def listed(points: Any, reals: int) -> str:
    """Real points as they are, the others with their imaginary parts."""
    others = np.stack([points[reals:].real, points[reals:].imag], axis=-1)
    return base64_of(np.concatenate([points[:reals].real.ravel(), others.ravel()]))


def newton(boundary: Boundary, u: Any, z: list[acb]) -> list[acb]:
    """Three steps of Newton's method for the critical equations, in balls."""
    n = len(u)
    for _ in range(3):
        jet = boundary.jet(z[:n], hessian=True)
        slope = jet.gradient.entries()
        values = [x - c + z[n] * g for x, c, g in zip(z[:n], u, slope, strict=True)]
        rows = [[z[n] * jet.hessian[i, j] + int(i == j) for j in range(n)] + [slope[i]] for i in range(n)]
        step = acb_mat([*rows, [*slope, acb(0)]]).solve(acb_mat(n + 1, 1, [*values, jet.value])).entries()
        z = [(value - change).mid() for value, change in zip(z, step, strict=True)]
    return z


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


def shallow_bound(net: pm.Network, u: Any, r: float, degree: int, low: Any, high: Any) -> tuple[float, Json]:
    """A bound for f_0 − f_1 on one leaf and its value."""
    (first, last), u = net.chain.layers, np.asarray(u)
    alpha, constant = last.weights[0] - last.weights[1], float(last.bias[0] - last.bias[1])
    rows = shallow_minorants(alpha, first.weights @ u + first.bias, low, high, degree)
    p, t, c = (np.array(column) for column in zip(*rows, strict=True))
    value, mu = ball_value(first.weights, p, t, constant + float(c.sum()), r)
    return value, {"slopes": [], "quadratics": [hexes(row) for row in rows], "multiplier": mu.hex()}


def shallow_tree(net: pm.Network, u: Any, r: float, degree: int) -> Json:
    """Branch on the widest range until every leaf is positive."""
    norms = np.linalg.norm(net.chain.layers[0].weights, axis=1)

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
