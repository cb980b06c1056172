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
