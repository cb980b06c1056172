"""One solver over several array libraries: torch's tensors everywhere, CuPy's arrays where there is a GPU."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import polymargin as pm
from polymargin import gpu
from polymargin.gpu import kernels
from polymargin.regions import L2
from polymargin.relaxation import algebra
from polymargin.relaxation.algebra import NUMPY, WORTH_IT, Algebra, algebra_for
from polymargin.relaxation.guess import guessed, made_definite
from polymargin.relaxation.interior_point import SMALL, maximise
from polymargin.relaxation.program import SemidefiniteProgram
from polymargin.relaxation.relaxation import Relaxation
from polymargin.relaxation.search import TOLERANCE, RegionSearch

with_gpu = pytest.mark.skipif(isinstance(kernels.cupy_or_reason(), str), reason="no GPU")


def _algebra(name: str) -> Algebra:
    if name == "numpy":
        return NUMPY
    if name == "cupy":
        found = gpu.dense_algebra()
        assert found is not None
        return found
    pytest.importorskip("torch")
    from relaxation.torch_algebra import TorchAlgebra

    return TorchAlgebra()


def squares(widths: list[int], seed: int) -> pm.Network:
    draw = np.random.default_rng(seed).normal
    layers = [(draw(size=(high, low)) / np.sqrt(low), 0.3 * draw(size=high)) for low, high in pairwise(widths)]
    return pm.PolynomialNetwork(layers, degree=2)


def relaxed(widths: list[int], seed: int, radius: float) -> tuple[Relaxation, np.ndarray, float]:
    """A relaxation at the origin, multipliers that are strictly feasible, and the size of the functional."""
    network, origin = squares(widths, seed), np.zeros(widths[0])
    label = int(network.predict(origin))
    rival = (label + 1) % network.class_count
    search = RegionSearch(network, origin, label, [rival], L2().in_dimension(widths[0]))
    here, worst = search.prepared(radius), np.full(widths[0], 0.5 * radius / np.sqrt(widths[0]))
    relaxation = here.relaxation(label, rival, 0.0, worst)
    scale = abs(relaxation.value)
    y = guessed(relaxation, here.space.place(worst), scale, 1.0).y.copy()
    y[relaxation.program.signed] += 0.02 * scale
    y = made_definite(relaxation, y, scale)
    y[0] -= 0.1 * scale
    return relaxation, y, scale


algebras = pytest.mark.parametrize("name", ["torch", pytest.param("cupy", marks=with_gpu)])


@pytest.mark.parametrize("name", ["numpy", "torch", pytest.param("cupy", marks=with_gpu)])
def test_what_an_algebra_computes(name: str) -> None:
    library, generator = _algebra(name), np.random.default_rng(0)
    square = generator.normal(size=(9, 9))
    positive = square @ square.T + np.eye(9)
    matrix = library.put(positive.copy())
    assert library.definite(library.put(np.stack([positive, 2 * positive])))
    root = library.inverse_root(matrix)
    assert root is not None
    assert np.allclose(library.get(root) @ positive @ library.get(root).T, np.eye(9), atol=1e-12)
    assert np.allclose(np.triu(library.get(root), 1), 0.0)
    assert np.allclose(library.get(library.gram(root)), np.linalg.inv(positive), atol=1e-12)
    solve, right = library.solver(matrix), generator.normal(size=9)
    assert solve is not None
    assert np.allclose(positive @ library.get(solve(library.put(right))), right, atol=1e-12)
    other = library.put(square.copy())
    assert library.inner(matrix, other) == pytest.approx((positive * square).sum(), rel=1e-13)
    assert np.allclose(library.get(library.row_sums(matrix, other)), (positive * square).sum(axis=1), rtol=1e-12)
    places = library.diagonal(matrix)
    places += library.put(np.arange(9.0))
    assert np.allclose(library.get(matrix), positive + np.diag(np.arange(9.0)))


@pytest.mark.parametrize("name", ["numpy", "torch", pytest.param("cupy", marks=with_gpu)])
def test_what_is_not_positive_definite_or_finite_is_said(name: str) -> None:
    library = _algebra(name)
    indefinite, spoilt = np.diag([1.0, -1e-3, 2.0]), np.eye(3)
    spoilt[2, 2] = np.nan
    assert not library.definite(library.put(np.stack([np.eye(3), indefinite])))
    assert library.inverse_root(library.put(indefinite)) is None
    assert library.solver(library.put(indefinite)) is None
    assert library.finite(library.put(indefinite))
    assert not library.finite(library.put(spoilt))


@algebras
@pytest.mark.parametrize("widths", [[6, 5, 4, 3], [40, 36, 30, 3], [12, 9, 8, 7, 3]])
def test_the_same_optimum_as_with_numpy(name: str, widths: list[int]) -> None:
    """With all eigenvalues and with Lanczos (more than SMALL rows)."""
    relaxation, start, scale = relaxed(widths, 0, 0.3)
    program = relaxation.program
    assert (program.side > SMALL) == (widths[0] == 40)
    known = maximise(program, start, scale, tolerance=1e-9)
    found = maximise(program.on(_algebra(name)), start, scale, tolerance=1e-9)
    assert known is not None
    assert found is not None
    assert found.gap < 1e-8 * scale
    assert found.value == pytest.approx(known.value, rel=1e-9, abs=2e-9 * scale)


@algebras
def test_the_same_matrices_as_with_numpy(name: str) -> None:
    relaxation, _, _ = relaxed([12, 9, 8, 3], 3, 0.4)
    program, other = relaxation.program, relaxation.program.on(_algebra(name))
    library, generator = other.algebra, np.random.default_rng(2)
    y = generator.normal(size=program.unknowns)
    X, S = (square @ square.T for square in generator.normal(size=(2, program.side, program.side)))
    there = [library.put(matrix) for matrix in (X, S)]
    assert np.allclose(library.get(other.matrix(y)), program.matrix(y), rtol=1e-12, atol=1e-12)
    assert np.allclose(other.adjoint(there[0]), program.adjoint(X), rtol=1e-11)
    assert other.lagrangian(y, there[0]) == pytest.approx(np.vdot(program.matrix(y), X), rel=1e-11)
    images = [program.forms @ matrix for matrix in (X, S)]
    normal = program.normal_matrix(X, S, *images)
    found = other.normal_matrix(*there, *(other.forms @ matrix for matrix in there))
    assert np.allclose(library.get(found), normal, rtol=1e-10, atol=1e-10 * np.abs(normal).max())


@algebras
def test_a_program_without_forms(name: str) -> None:
    """The largest y₀ with diag(1 − y₀, 2 + y₁/2) ⪰ 0 is 1."""
    diagonal = np.array([[-1.0, 0.0], [0.0, 0.5]])
    program = SemidefiniteProgram.build(
        np.diag([1.0, 2.0]), np.zeros((0, 2)), np.zeros((2, 0)), np.zeros((2, 2)), diagonal, np.array([1])
    )
    found = maximise(program.on(_algebra(name)), np.array([0.0, 1.0]), 1.0, tolerance=1e-9)
    assert found is not None
    assert found.value == pytest.approx(1.0, abs=1e-8)


def test_small_programs_stay_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    sentinel = _algebra("torch")
    monkeypatch.setattr(gpu, "dense_algebra", lambda: sentinel)
    assert algebra_for(WORTH_IT - 1) is NUMPY
    assert algebra_for(WORTH_IT) is sentinel
    monkeypatch.setattr(gpu, "dense_algebra", lambda: None)
    assert algebra_for(10**6) is NUMPY


@algebras
def test_the_same_radius_as_with_numpy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    widths, origin = [12, 10, 8, 6, 3], np.zeros(12)

    def proved() -> float:
        network = squares(widths, 0)
        label = int(network.predict(origin))
        rivals = [rival for rival in range(3) if rival != label]
        return RegionSearch(network, origin, label, rivals, L2().in_dimension(12)).largest(1.0).radius

    known, there = proved(), _algebra(name)
    monkeypatch.setattr(gpu, "dense_algebra", lambda: there)
    monkeypatch.setattr(algebra, "WORTH_IT", 1)
    assert known > 0
    assert proved() == pytest.approx(known, rel=TOLERANCE)
