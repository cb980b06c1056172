"""polymargin beside what a user would pick instead, on instances whose truth is proved.

    python benchmarks/side_by_side.py [FOLDER] [--solvers polymargin,scip] [--timeout 30] [--points 2] [--seed 0]

FOLDER is a benchmark of `polymargin soundness`; without one a small exactly labelled edition is made: radii at 0.9 to 1.1
times certified margins, shallow, deep and attention networks, each spelled with Pow and with Mul. A solver that is not
installed is left out and said so. An answer against the proved truth is a soundness error. Times are CPU seconds, one thread.

polymargin   `verify`, with a certificate
SCIP         global minimum of ‖x − u‖² on the boundary (pip install pyscipopt); its tolerance 1e-6 is its own
PHCpack      all critical points by `phc -b` (Debian package phcpack); shallow networks with two classes only
CROWN        L2 bounds of auto_LiRPA; proves, never refutes; built in torch with the spelling of the ONNX file
attack       `pm.attack`, a multistart local search; refutes, never proves
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import shutil
import subprocess
import tempfile
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import process_time
from typing import Any

import common  # before NumPy, which it keeps to one thread
import numpy as np
from against_phc import critical_system, distinct, regular_solutions

import polymargin as pm
from polymargin.soundness import ExactPlan, Instance, Score, generate_exact_edition, read_instances, score

SAT, UNSAT, UNKNOWN = "sat", "unsat", "unknown"


@dataclass(frozen=True)
class Question:
    """An instance with its network."""

    network: Any
    instance: Instance
    timeout: float

    @property
    def rivals(self) -> list[int]:
        return [rival for rival in range(self.network.class_count) if rival != self.instance.label]


class Solver(ABC):
    """Something that answers sat, unsat or unknown."""

    name: str

    def missing(self) -> str | None:
        """What has to be installed first."""
        return None

    @abstractmethod
    def answer(self, question: Question) -> str: ...


class Polymargin(Solver):
    name = "polymargin"

    @cached_property
    def cache(self) -> tempfile.TemporaryDirectory[str]:
        """New for every run: stage 1 is paid once per network, and counted."""
        return tempfile.TemporaryDirectory()

    def answer(self, question: Question) -> str:
        instance = question.instance
        options: dict[str, Any] = {"timeout": question.timeout, "threads": 1, "cache": self.cache.name}
        verdict = pm.verify(question.network, instance.point, instance.radius, **options)
        return {"ROBUST": UNSAT, "VULNERABLE": SAT, "UNKNOWN": UNKNOWN}[verdict.answer.name]


class MultistartAttack(Solver):
    name = "attack"

    def answer(self, question: Question) -> str:
        found = pm.attack(question.network, question.instance.point)
        return SAT if found is not None and found.distance <= question.instance.radius else UNKNOWN


class Phc(Solver):
    name = "phc"

    def missing(self) -> str | None:
        return None if shutil.which("phc") else "the Debian package phcpack"

    def answer(self, question: Question) -> str:
        network, instance = question.network, question.instance
        if network.structure is not None or len(network.stages) != 1 or network.class_count != 2:
            return UNKNOWN
        with tempfile.TemporaryDirectory() as folder:
            source, output = Path(folder, "input"), Path(folder, "output")
            source.write_text(critical_system(network, instance.point, network.degree))
            command = [shutil.which("phc") or "phc", "-b", str(source), str(output)]
            try:
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=question.timeout)
            except subprocess.TimeoutExpired:
                return UNKNOWN
            points = distinct(regular_solutions(output.read_text(), network.dimension))
        real = points[np.abs(points.imag).max(axis=1) <= 1e-9 * (1 + np.abs(points).max(axis=1))].real
        nearest = np.linalg.norm(real - instance.point, axis=1).min(initial=np.inf)
        return SAT if nearest <= instance.radius else UNSAT


class Scip(Solver):
    name = "scip"

    def missing(self) -> str | None:
        return None if importlib.util.find_spec("pyscipopt") else "pip install pyscipopt"

    def answer(self, question: Question) -> str:
        answers = [self._against(question, rival) for rival in question.rivals]
        return SAT if SAT in answers else UNKNOWN if UNKNOWN in answers else UNSAT

    def _against(self, question: Question, rival: int) -> str:
        from pyscipopt import Model, quicksum

        network, instance = question.network, question.instance
        model = Model()
        model.hideOutput()
        model.setParam("timing/clocktype", 1)  # CPU
        model.setParam("limits/time", question.timeout)
        model.setParam("parallel/maxnthreads", 1)
        free = {"lb": None, "ub": None}
        x = [model.addVar(f"x{i}", **free) for i in range(network.dimension)]

        def named(expressions: list[Any]) -> list[Any]:
            """Variables for intermediate values, which is what spatial branching needs."""
            variables = [model.addVar(**free) for _ in expressions]
            for variable, expression in zip(variables, expressions, strict=True):
                model.addCons(variable == expression)
            return variables

        logits = _scip_logits(network, x, named, quicksum)
        model.addCons(logits[instance.label] - logits[rival] == 0)
        square = model.addVar(lb=0.0)
        model.addCons(
            square >= quicksum((v - float(u)) * (v - float(u)) for v, u in zip(x, instance.point, strict=True))
        )
        model.setObjective(square)
        model.optimize()
        limit = instance.radius**2
        if model.getStatus() == "infeasible" or model.getDualbound() > limit:
            return UNSAT
        return SAT if model.getNSols() and model.getObjVal() <= limit else UNKNOWN


def _scip_logits(network: Any, x: list[Any], named: Any, quicksum: Any) -> list[Any]:
    def affine(weights: Any, bias: Any, values: list[Any]) -> list[Any]:
        rows = zip(np.asarray(weights).tolist(), np.asarray(bias).tolist(), strict=True)
        return [quicksum(w * v for w, v in zip(row, values, strict=True)) + b for row, b in rows]

    if network.structure is not None:
        tokens = [x[i : i + network.structure.d] for i in range(0, len(x), network.structure.d)]
        values, keys, queries = (
            [named(affine(matrix, np.zeros(len(matrix)), token)) for token in tokens]
            for matrix in (network.structure.V, network.structure.K.T, network.structure.Q.T)
        )
        count, width = network.structure.d_prime, network.structure.a
        sums = [
            named([quicksum(v[i] * k[j] for v, k in zip(values, keys, strict=True)) for j in range(width)])
            for i in range(count)
        ]
        flat = [quicksum(sums[i][j] * query[j] for j in range(width)) for query in queries for i in range(count)]
        return affine(network.structure.readout, network.structure.bias, named(flat))
    values = x
    for layer, coefficients in zip(network.chain.layers[:-1], network.chain.activations, strict=True):
        z = named(affine(layer.weights, layer.bias, values))
        values = named([quicksum(c * v**k for k, c in enumerate(coefficients) if c) for v in z])
    return affine(network.chain.layers[-1].weights, network.chain.layers[-1].bias, values)


class Crown(Solver):
    name = "crown"

    def missing(self) -> str | None:
        try:
            import auto_LiRPA  # noqa: F401
        except ImportError as error:
            return f"auto_LiRPA, from its repository, with torch ({error})"
        return None

    def answer(self, question: Question) -> str:
        import torch
        from auto_LiRPA import BoundedModule, BoundedTensor
        from auto_LiRPA.perturbations import PerturbationLpNorm

        network, instance = question.network, question.instance
        if network.structure is not None or not _plain_powers(network):
            return UNKNOWN
        point = torch.tensor(instance.point[None], dtype=torch.float32)
        model = _torch_module(network, spelled_with_pow=Path(instance.onnx).stem.endswith("Pow"))
        bounded = BoundedModule(model, point, verbose=False)
        ball = BoundedTensor(point, PerturbationLpNorm(norm=2, eps=instance.radius))
        comparison = torch.zeros(1, len(question.rivals), network.class_count)
        for row, rival in enumerate(question.rivals):
            comparison[0, row, instance.label], comparison[0, row, rival] = 1.0, -1.0
        lower, _ = bounded.compute_bounds(x=(ball,), C=comparison, method="CROWN")
        return UNSAT if bool((lower > 0).all()) else UNKNOWN


def _plain_powers(network: Any) -> bool:
    return all(set(row[:-1]) == {0.0} and row[-1] == 1.0 for row in network.chain.activations)


def _torch_module(network: Any, *, spelled_with_pow: bool) -> Any:
    import torch

    class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.ModuleList(
                torch.nn.Linear(*layer.weights.shape[::-1]) for layer in network.chain.layers
            )
            with torch.no_grad():
                for linear, layer in zip(self.linear, network.chain.layers, strict=True):
                    linear.weight.copy_(torch.tensor(layer.weights))
                    linear.bias.copy_(torch.tensor(layer.bias))

        def forward(self, x: Any) -> Any:
            for linear, coefficients in zip(self.linear[:-1], network.chain.activations, strict=True):
                z = linear(x)
                x = z ** (len(coefficients) - 1) if spelled_with_pow else z
                if not spelled_with_pow:
                    for _ in range(len(coefficients) - 2):
                        x = x * z
            return self.linear[-1](x)

    return Network().eval()


SOLVERS: tuple[Solver, ...] = (Polymargin(), Scip(), Phc(), Crown(), MultistartAttack())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--solvers", default=",".join(solver.name for solver in SOLVERS))
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds per instance and solver")
    parser.add_argument("--points", type=int, default=2, help="points per network, where no folder is given")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    wanted = options.solvers.split(",")
    if unknown := set(wanted) - {solver.name for solver in SOLVERS}:
        raise SystemExit(f"unknown solver {', '.join(sorted(unknown))}; known: {', '.join(s.name for s in SOLVERS)}")

    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or small_edition(Path(scratch) / "exact", options.points, options.seed)
        instances = read_instances(folder)
        networks = {name: pm.load(folder / name) for name in {instance.model for instance in instances}}
        rows = []
        for solver in (solver for solver in SOLVERS if solver.name in wanted):
            if (package := solver.missing()) is not None:
                print(f"{solver.name} is left out; it needs {package}")
                continue
            rows.append(row(solver.name, run(solver, instances, networks, options.timeout)))
    print(f"{len(instances)} instances, {options.timeout:g} s each at most, seed {options.seed}")
    common.print_table(["solver", "soundness errors", "verified", "falsified", "undecided", "CPU seconds"], rows)


def small_edition(folder: Path, points: int, seed: int) -> Path:
    """Small enough for every solver to have a chance."""
    layered = (((5, 6, 2), 2), ((4, 5, 2), 3), ((3, 3, 2, 2), 2))
    generate_exact_edition(folder, ExactPlan(layered=layered, attention=((2, 2, 1, 1),), points=points, seed=seed))
    return folder


def run(solver: Solver, instances: list[Instance], networks: dict[str, Any], timeout: float) -> Score:
    results = {}
    for instance in instances:
        started = cpu_seconds()
        answer = solver.answer(Question(networks[instance.model], instance, timeout))
        results[instance.key] = (answer, cpu_seconds() - started)
        if answer in (SAT, UNSAT) and instance.truth not in ("", answer):
            print(
                f"  {solver.name}: {Path(instance.onnx).stem}, {instance.name}: {answer}, but {instance.truth} is proved"
            )
    return score(instances, results)


def cpu_seconds() -> float:
    """Of this process and of the programs it started; waiting for a busy machine does not count."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def row(name: str, found: Score) -> list[str]:
    counts = (found.soundness_errors, found.verified, found.falsified, found.undecided)
    return [name, *map(str, counts), f"{found.seconds:.2f}"]


if __name__ == "__main__":
    main()
