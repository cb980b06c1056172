"""Triangulation from three and four views: problems of GPU-HC's collection whose equations are symmetric, like ours.

The point that measured image points u come from is found at the critical points of Σ |x_i − u_i|² where neighbouring views meet
their epipolar constraints. The unknowns are the x_i and the multipliers, 8 of three views and 11 of four, parameters the
fundamental matrices and u: the systems `3view_triangulation` and `4view_triangulation` of the collection that goes with Chien,
Fan, Abdelfattah, Tsigaridas, Tomov and Kimia, "GPU-Based Homotopy Continuation for Minimal Problems in Computer Vision" (CVPR
2022). Base solutions come from monodromy at generic complex parameters. Targets are generic complex parameters, where all paths
arrive, and scenes: cameras and a point at random, measured with some noise, where some paths have singular ends.

    python benchmarks/triangulation.py [--views 3 4] [--scenes 2000] [--device cpu]
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from time import perf_counter

import common  # before NumPy
import numpy as np

from polymargin.continuation import Tracker, explore
from polymargin.polynomials import Graph, Program, flatten, gradient, hessian

NOISE = 0.01
Start = tuple[common.ComplexArray, common.ComplexArray]  # solutions and the parameters they belong to


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--views", type=int, nargs="*", default=[3, 4])
    parser.add_argument("--scenes", type=int, default=2_000, help="targets of each kind")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, default=None)
    options = parser.parse_args()
    header = ["views", "unknowns", "solutions", "targets", "paths", "steps a path", "converged", "paths per second"]
    common.print_table(header, [row for views in options.views for row in measured(views, options)])


def pairs_of(views: int) -> list[tuple[int, int]]:
    return list(pairwise(range(views)))


def system(views: int) -> Program:
    """The derivatives of Σ |x_i − u_i|² + Σ λ_k (x_i, 1)ᵀ F_k (x_j, 1)."""
    graph = Graph()
    pairs = pairs_of(views)
    x, multipliers = graph.inputs(2 * views), graph.inputs(len(pairs))
    matrices, u = graph.parameters(9 * len(pairs)), graph.parameters(2 * views)
    lagrangian = graph.constant(0)
    for place, measured_place in zip(x, u, strict=True):
        lagrangian = lagrangian + (place - measured_place) ** 2
    for k, (i, j) in enumerate(pairs):
        left, right = [*x[2 * i : 2 * i + 2], graph.constant(1)], [*x[2 * j : 2 * j + 2], graph.constant(1)]
        for a in range(3):
            for b in range(3):
                lagrangian = lagrangian + multipliers[k] * matrices[9 * k + 3 * a + b] * left[a] * right[b]
    unknowns = [*x, *multipliers]
    second = hessian(lagrangian, unknowns)
    return flatten(graph, gradient(lagrangian, unknowns), [entry for row in second for entry in row])


def one_solution(views: int, generator: np.random.Generator) -> Start:
    """Random places and multipliers, with matrices and measurements for which they are a solution."""

    def normal(*shape: int) -> common.ComplexArray:
        return generator.normal(size=shape) + 1j * generator.normal(size=shape)

    pairs = pairs_of(views)
    x, multipliers, matrices = normal(views, 2), normal(len(pairs)), normal(len(pairs), 3, 3)
    u = x.copy()
    for (i, j), matrix, multiplier in zip(pairs, matrices, multipliers, strict=True):
        left, right = np.append(x[i], 1), np.append(x[j], 1)
        matrix[2, 2] -= left @ matrix @ right
        u[i] += multiplier * (matrix @ right)[:2] / 2
        u[j] += multiplier * (left @ matrix)[:2] / 2
    return np.concatenate([x.ravel(), multipliers])[None], np.concatenate([matrices.ravel(), u.ravel()])


def scene(views: int, generator: np.random.Generator) -> common.Array:
    """Fundamental matrices of random cameras, scaled to length one, and the noisy images of a random point."""
    cameras = generator.normal(size=(views, 3, 4))
    images = cameras @ np.append(generator.normal(size=3), 1)
    u = images[:, :2] / images[:, 2:] + NOISE * generator.normal(size=(views, 2))
    matrices = [fundamental(cameras[i], cameras[j]) for i, j in pairs_of(views)]
    return np.concatenate([*(matrix.ravel() for matrix in matrices), u.ravel()])


def fundamental(first: common.Array, second: common.Array) -> common.Array:
    """F with xᵀ F y = 0 for images x and y of one point: entries are minors of both cameras."""
    matrix = np.empty((3, 3))
    for a in range(3):
        for b in range(3):
            rows = [*np.delete(first, a, axis=0), *np.delete(second, b, axis=0)]
            matrix[a, b] = (-1) ** (a + b) * np.linalg.det(rows)
    return matrix / np.linalg.norm(matrix)


def measured(views: int, options: argparse.Namespace) -> list[list[str]]:
    generator = np.random.default_rng(0)
    program = system(views)
    first, base = one_solution(views, generator)

    def sample() -> common.ComplexArray:
        return generator.normal(size=base.shape) + 1j * generator.normal(size=base.shape)

    orbit = explore(program, first, base, sample, quiet_loops=8, most_loops=200, tracker=Tracker(device="cpu"))
    tracker = Tracker(device=options.device, threads=options.threads)
    kinds = {
        "generic": np.array([sample() for _ in range(options.scenes)]),
        "scenes": np.array([scene(views, generator) for _ in range(options.scenes)], dtype=np.complex128),
    }
    rows = []
    for kind, targets in kinds.items():
        tracker.track(program, orbit.solutions, base, targets[:1])  # compiles the kernel
        started = perf_counter()
        paths = tracker.track(program, orbit.solutions, base, targets)
        seconds = perf_counter() - started
        row = [str(views), str(program.input_count), str(len(orbit.solutions)), kind, f"{paths.ends.size:,}"]
        row += [f"{paths.steps.mean():.0f}", f"{paths.converged.mean():.3f}", f"{paths.ends.size / seconds:,.0f}"]
        rows.append(row)
    return rows


if __name__ == "__main__":
    main()
