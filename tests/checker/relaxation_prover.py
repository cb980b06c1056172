"""Relaxation proofs made with little: a dense barrier method over whatever constraints are named.

The matrices of multipliers are those that the checker makes of them, one at a time; whether a proof may hold at all is decided
in the tests by other means.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from flint import fmpq

from polymargin.networks.network import Network
from polymargin.networks.stages import Piecewise
from polymargin_checker.neighbourhood import PLAIN, StatedNeighbourhood
from polymargin_checker.relaxation.arithmetic import Arithmetic
from polymargin_checker.relaxation.constraints import CONSTRAINTS
from polymargin_checker.relaxation.numbers import Multipliers
from polymargin_checker.relaxation.scene import Scene
from polymargin_checker.relaxation.tree import Functional, Relaxations, split_parts
from polymargin_checker.stages import read_network
from tests.checker.stage_files import model_file

FREE = {"definition", "pieces"}


def packed(values: Any) -> str:
    return base64.b64encode(np.asarray(values, dtype="<f8").tobytes()).decode()


def exact_point(u: Any) -> list[fmpq]:
    return [fmpq(*float(x).as_integer_ratio()) for x in u]


def relaxations(
    network: Network, u: Any, near: StatedNeighbourhood = PLAIN, label: int = 0, exact: bool = False
) -> Relaxations:
    return Relaxations(read_network(model_file(network)), near, exact_point(u), label, Arithmetic(exact))


def shared(radius: float, decided: Any = (), **options: Any) -> dict[str, Any]:
    defaults = {"coordinates": "inputs", "ellipsoid": None, "decided": list(decided), "lemmas": []}
    return {"radius": float(radius).hex(), **defaults, **options}


def pieces_entry(stage: int, pieces: Any) -> list[Any]:
    return [stage, base64.b64encode(np.asarray(pieces, dtype=np.int8).tobytes()).decode()]


def undecided(network: Network) -> list[Any]:
    stages = enumerate(network.stages, start=1)
    return [pieces_entry(k, np.full(len(s), -1)) for k, s in stages if isinstance(s, Piecewise)]


def lengths(scene: Scene) -> dict[str, int]:
    return {
        "box": scene.region.dimension,
        "definition": scene.remainders,
        "range": scene.variables,
        "argument": scene.forms,
        "cauchy_schwarz": scene.remainders,
        "pieces": sum(len(n.forms) for n in scene.neurons if n.powers is None),
    }


def leaf_of(values: dict[str, Any]) -> dict[str, Any]:
    """JSON of multipliers: floats for ball and ellipsoid, arrays, and a list of parabolas (neuron, sign, a, b, c, weight)."""
    result: dict[str, Any] = {"judge": "definite"}
    for name, value in values.items():
        if name in ("ball", "ellipsoid"):
            result[name] = float(value).hex()
        elif name == "minorant":
            columns = list(zip(*value, strict=True)) or [[]] * 6
            result[name] = {
                "neuron": [int(n) for n in columns[0]],
                "sign": [int(s) for s in columns[1]],
                **{key: packed(columns[k]) for k, key in enumerate(("a", "b", "c", "weight"), start=2)},
            }
        else:
            result[name] = packed(value)
    return result


def matrix_of(scene: Scene, name: str, values: Any) -> np.ndarray:
    """−(multiplier · constraint) as a matrix over ξ."""
    forms = Arithmetic(False).forms(1, scene.size)
    CONSTRAINTS[name](Multipliers(leaf_of({name: values}), "leaf", None), scene, forms)
    return np.array(forms.matrix[0])  # type: ignore[attr-defined]


def unknowns(scene: Scene, names: list[str], parabolas: list[tuple[Any, ...]]) -> list[tuple[str, Any, np.ndarray]]:
    found = []
    for name in names:
        if name in ("ball", "ellipsoid"):
            found.append((name, 1.0, matrix_of(scene, name, 1.0)))
        elif name == "minorant":
            found += [(name, [(*p, 1.0)], matrix_of(scene, name, [(*p, 1.0)])) for p in parabolas]
        else:
            size = lengths(scene)[name]
            for unit in np.eye(size):
                try:
                    found.append((name, unit, matrix_of(scene, name, unit)))
                except Exception:
                    continue
    return [entry for entry in found if entry[2].any()]


def best_leaf(
    given: Relaxations, entry: Any, rival: int, names: list[str], parabolas: Any = (), scene: Scene | None = None
) -> tuple[float, dict[str, Any]]:
    """The largest γ with functional − γ − Σ multiplier · constraint positive definite, nearly, and its leaf."""
    scene = scene or given.prepared(entry)
    forms = Arithmetic(False).forms(1, scene.size)
    Functional(scene, given.label, rival, given.near.abstain)(scene, forms)
    base = np.array(forms.matrix[0])  # type: ignore[attr-defined]
    found = unknowns(scene, names, list(parabolas))
    matrices = [np.outer(*[np.eye(1, scene.size)[0]] * 2) * -1.0, *(matrix for _, _, matrix in found)]
    signed = np.array([False, *(name not in FREE for name, _, _ in found)])
    used = [0, *(np.flatnonzero(np.any([m.any(axis=0) for m in [base, *matrices]], axis=0)[1:]) + 1)]
    base, stack = base[np.ix_(used, used)], np.array([m[np.ix_(used, used)] for m in matrices])
    y = _solve(base, stack, signed)
    values: dict[str, Any] = {}
    for (name, unit, _), multiplier in zip(found, y[1:], strict=True):
        if name == "minorant":
            values.setdefault(name, []).append((*unit[0][:5], multiplier))
        else:
            values[name] = values.get(name, 0.0) + multiplier * np.asarray(unit)
    return float(y[0]), leaf_of(values)


def _solve(base: np.ndarray, stack: np.ndarray, signed: np.ndarray) -> np.ndarray:
    """Maximise y_0 with base + Σ y_k stack_k definite and signed y ≥ 0, by Newton's method on barriers."""
    y = np.where(signed, 1.0, 0.0)
    size = max(1.0, float(np.abs(base).max()))

    def form(z: np.ndarray) -> np.ndarray:
        return base + np.tensordot(z, stack, axes=1)

    # A common shift t of the form, brought below zero first, is one more unknown of phase one.
    t = max(0.0, -float(np.linalg.eigvalsh(form(y))[0])) + size
    for phase in (1, 2):
        mu = size
        matrices = np.concatenate([np.eye(len(base))[None], stack]) if phase == 1 else stack
        z = np.concatenate([[t], y]) if phase == 1 else y
        positive = np.concatenate([[False], signed]) if phase == 1 else signed
        cost = np.zeros(len(z))
        cost[0] = 1.0 if phase == 1 else -1.0
        while mu > 1e-11 * size:
            for _ in range(200):
                whole = base + np.tensordot(z, matrices, axes=1)
                inverse = np.linalg.inv(whole)
                parts = inverse @ matrices
                gradient = cost - mu * np.einsum("kii->k", parts)
                hessian = mu * np.einsum("kij,lji->kl", parts, parts)
                gradient[positive] -= mu / z[positive]
                hessian[positive, positive] += mu / z[positive] ** 2
                hessian[np.diag_indices(len(z))] += 1e-12 * mu
                step = -np.linalg.solve(hessian, gradient)
                decrement = float(-gradient @ step)
                size_of_step = np.sqrt(max(decrement, 0.0) / mu)
                length = 1.0 if size_of_step < 0.25 else 1 / (1 + size_of_step)  # inside of the domain, and downhill
                while length > 1e-12:
                    trial = z + length * step
                    if (trial[positive] > 0).all() and np.linalg.eigvalsh(base + np.tensordot(trial, matrices, axes=1))[
                        0
                    ] > 0:
                        break
                    length /= 2
                z = z + length * step
                if decrement < 1e-6 * mu or (phase == 1 and z[0] < 0):
                    break
            if phase == 1 and z[0] < 0:
                break
            mu /= 4
        if phase == 1:
            y = z[1:]
            if z[0] >= 0:
                y[0] = -np.inf
                return y
    return z


def split_leaf(
    given: Relaxations, entry: Any, rival: int, names: list[str], split: tuple[str, int, float], parabolas: Any
) -> dict[str, Any]:
    """A split and the best leaves of both sides; `parabolas` makes those of a scene."""
    whole = given.prepared(entry)
    node: dict[str, Any] = {"split": [*split[:2], split[2].hex()], "low": None, "high": None}
    for side, (_, part) in zip(("high", "low"), split_parts(node, whole.enclosures), strict=True):
        scene = Scene(part, whole.coordinates, whole.ellipsoid, whole.rows)
        bound, node[side] = best_leaf(given, entry, rival, names, parabolas(scene), scene)
        assert bound > 0
    return node


def certificate(
    network: Network, u: Any, label: int, radius: float, proofs: dict[int, Any], **more: Any
) -> dict[str, Any]:
    return {
        "format": "polymargin-certificate-1",
        "model": {"sha256": network.fingerprint},
        "point": [float(x).hex() for x in u],
        "label": label,
        "claim": {"kind": "robust", "radius": float(radius).hex()},
        "rivals": [{"rival": r, "lower": float(radius).hex(), "proof": p} for r, p in proofs.items()],
        "upper": None,
        **more,
    }
