"""Counting critical points of random polynomials: against elimination, against the solver one by one, against the integral."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
import sympy

import polymargin as pm
from polymargin.continuation import Job, Paths, Tracker
from polymargin.expected import (
    AttentionFamily,
    DeepFamily,
    Family,
    ShallowEnsemble,
    ShallowFamily,
    SimulatedCounts,
    expected_real_critical_points,
    simulate_real_counts,
)
from polymargin.expected.counting import MemberCounter
from polymargin.polynomials import Graph, evaluate, flatten


def shallow(dimension: int, degree: int, width: int | None = None) -> ShallowFamily:
    return ShallowFamily(ShallowEnsemble(dimension, degree, width))


def by_elimination(family: ShallowFamily, coefficients: np.ndarray, u: tuple[int, int]) -> int:
    """Critical points in the plane are common zeros of B and (x−u)×∇B; real zeros of their resultant, by Sturm sequences."""
    x, y = sympy.symbols("x y")
    terms = zip(coefficients.tolist(), family.ensemble.exponents, strict=True)
    B = sum(round(c * 10**6) * x**i * y**j for c, (i, j) in terms)
    cross = (x - u[0]) * sympy.diff(B, y) - (y - u[1]) * sympy.diff(B, x)
    eliminant = sympy.Poly(sympy.resultant(B, sympy.expand(cross), y), x)
    assert eliminant.degree() == MemberCounter(family, 0).complex_count
    return int(eliminant.count_roots())


@pytest.mark.parametrize("degree", [2, 3])
def test_counts_against_elimination(degree: int) -> None:
    family = shallow(2, degree)
    members = family.sample(12, np.random.default_rng(degree))
    counts, missing = MemberCounter(family, 0).count(members, np.array([1.0, 2.0]), Tracker(threads=1))
    assert not missing.any()
    assert counts.tolist() == [by_elimination(family, row, (1, 2)) for row in members]


ARCHITECTURES: list[tuple[DeepFamily | AttentionFamily, int]] = [
    (DeepFamily((3, 3, 2), 2), 36),
    (DeepFamily((2, 3), 3), 9),
    (AttentionFamily(2, 2, 1, 1), 17),
    (AttentionFamily(1, 4, 1, 1), 12),
]


@pytest.mark.parametrize(("family", "complex_count"), ARCHITECTURES, ids=str)
def test_architectures_against_the_solver(family: DeepFamily | AttentionFamily, complex_count: int) -> None:
    """The complex numbers are those of the paper's tables; the real ones come from `critical_points`, network by network."""
    u = np.linspace(1.0, 0.3, family.dimension)
    members = family.sample(4, np.random.default_rng(8))
    counter = MemberCounter(family, 0)
    counts, missing = counter.count(members, u, Tracker(threads=1))
    assert not missing.any()
    assert counter.complex_count == complex_count
    for member, count in zip(members, counts, strict=True):
        found = pm.critical_points(family.boundary(member), u, cache=False)
        assert found.audit.complete
        assert int(found.real.sum()) == count


@pytest.mark.parametrize("family", [DeepFamily((2, 3, 4), 2), AttentionFamily(3, 2, 2, 1)], ids=str)
def test_the_polynomial_is_the_boundary(family: DeepFamily | AttentionFamily) -> None:
    graph = Graph()
    x, theta = graph.inputs(family.dimension), graph.parameters(family.parameter_count)
    program = flatten(graph, [family.polynomial(x, theta)])
    generator = np.random.default_rng(4)
    member, point = family.sample(1, generator)[0], generator.normal(size=family.dimension)
    ours = evaluate(program, point.tolist(), member.tolist())[0]
    assert ours == pytest.approx(float(family.boundary(member)(point)), rel=1e-11)
    assert family.boundary(member).degree == family.degree


@pytest.mark.parametrize(
    ("dimension", "degree", "point"),
    [(1, 9, [0.0]), (2, 2, [0.0, 0.0]), (2, 4, [1.0, 0.5]), (3, 2, [1.0, 0.5, 0.25]), (3, 3, [0.0, 0.0, 0.0])],
)
def test_the_mean_agrees_with_the_integral(dimension: int, degree: int, point: list[float]) -> None:
    found = expected_real_critical_points(dimension, degree, point, simulate=1500, seed=1)
    simulation = found.simulation
    assert simulation is not None
    assert simulation.doubtful == 0
    assert simulation.complex_count == found.complex_count
    assert abs(simulation.mean - found.value) <= 4.5 * simulation.standard_error
    # Nonreal points come in pairs.
    assert ((simulation.counts - simulation.complex_count) % 2 == 0).all()


def test_the_same_seed_gives_the_same_networks() -> None:
    first, again = (simulate_real_counts(shallow(2, 3), 300, seed=5) for _ in range(2))
    assert np.array_equal(first.counts, again.counts)
    moved = simulate_real_counts(shallow(1, 5), 50, [3.0], seed=5)
    assert np.array_equal(moved.counts, simulate_real_counts(shallow(1, 5), 50, seed=5).counts)
    assert not np.array_equal(first.counts, simulate_real_counts(shallow(2, 3), 300, seed=6).counts)


def test_counts_do_not_depend_on_the_generic_member() -> None:
    family = shallow(2, 4)
    members = family.sample(40, np.random.default_rng(0))
    counts = [
        MemberCounter(family, seed).count(members, np.zeros(2), Tracker(threads=1))[0].tolist() for seed in (1, 2)
    ]
    assert counts[0] == counts[1]


def test_points_far_out_are_found_from_any_generic_member(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tenth of these members has points that doubles lose from some generic member, some from all of them."""
    family = AttentionFamily(2, 2, 2, 1)
    members, u = family.sample(80, np.random.default_rng(0)), 1 / np.arange(1.0, 5.0)
    in_double_doubles: list[int] = []
    run = Tracker.run

    def counted(tracker: Tracker, jobs: list[Job], *, double_double: bool = False) -> list[Paths]:
        if double_double:
            in_double_doubles.extend(int(job.selected.sum()) for job in jobs if job.selected is not None)
        return run(tracker, jobs, double_double=double_double)

    monkeypatch.setattr(Tracker, "run", counted)
    found = [MemberCounter(family, seed).count(members, u, Tracker(threads=1)) for seed in (0, 7)]
    assert 0 < sum(in_double_doubles) < 80
    assert not any(missing.any() for _, missing in found)
    assert found[0][0].tolist() == found[1][0].tolist()


def test_full_rank_is_a_parameter_and_the_network_stays_the_same() -> None:
    """(2, 2, 2, 2) has matrices M and A, (2, 2, 1, 1) factors of them; both draw the weights of the same networks."""
    whole, factors = AttentionFamily(2, 2, 2, 2), AttentionFamily(2, 2, 1, 1)
    assert (whole.parameter_count, factors.parameter_count) == (4 + 4 + 1, 2 + 2 + 2 + 2 + 1)
    drawn = np.random.default_rng(3).standard_normal(17)
    C, V = drawn[:4].reshape(2, 2) / (2 * 2**0.5), drawn[4:8].reshape(2, 2) / 2**0.5
    K, Q = drawn[8:12].reshape(2, 2) / 2**0.5, drawn[12:16].reshape(2, 2) / 2
    member = whole.sample(1, np.random.default_rng(3))[0]
    assert np.allclose(member, [*(C.T @ V).ravel(), *(K @ Q.T).ravel(), drawn[16]])
    X = np.random.default_rng(4).normal(size=(2, 2))
    value = np.trace(C.T @ V @ X @ X.T @ K @ Q.T @ X) + drawn[16]
    assert float(whole.boundary(member)(X.T.ravel())) == pytest.approx(value)


def test_worker_processes_and_progress() -> None:
    done: list[int] = []
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        shared = simulate_real_counts(shallow(2, 3), 600, [1.0, 0.5], executor=pool, progress=done.append)
    assert sorted(done) == [100, 250, 250]
    assert np.array_equal(shared.counts, simulate_real_counts(shallow(2, 3), 600, [1.0, 0.5], threads=1).counts)


def test_doubt_is_reported() -> None:
    # A circle seen from its centre, and a double line: neither has isolated regular critical points.
    family = shallow(2, 2)
    circle, line = [-1.0, 0, 0, 1, 0, 1], [0.0, 0, 0, 1, 0, 0]
    members = np.array([circle, line, family.sample(1, np.random.default_rng(0))[0]])
    _, missing = MemberCounter(family, 0).count(members, np.zeros(2), Tracker(threads=1))
    assert missing[0] > 0
    assert missing[1] > 0
    assert missing[2] == 0
    found = SimulatedCounts(np.array([2, 2, 4]), np.array([1, 0, 0]), 4, "continuation", 0)
    assert found.doubtful == 1
    assert found.interval[1] - found.mean == pytest.approx(found.mean - found.interval[0] + 1 / 3)
    assert "1 doubtful" in repr(found)
    assert found.to_dict()["doubtful"] == 1


def test_hyperplanes_and_finite_width() -> None:
    planes = simulate_real_counts(shallow(3, 1), 20)
    assert planes.counts.tolist() == [1] * 20
    assert (planes.method, planes.complex_count) == ("hyperplane", 1)
    narrow = simulate_real_counts(shallow(2, 3, width=3), 200)
    assert narrow.doubtful == 0
    assert narrow.complex_count == 9


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "degree"), [(2, 2), (2, 3), (2, 4), (3, 2), (3, 3)])
@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_the_mean_agrees_closely(dimension: int, degree: int, scale: float) -> None:
    point = scale * np.array([1.0, 0.5, 0.25])[:dimension]
    found = expected_real_critical_points(dimension, degree, point, simulate=20_000, seed=2)
    assert found.simulation is not None
    assert found.simulation.doubtful == 0
    assert abs(found.simulation.mean - found.value) <= 3 * found.simulation.standard_error


@pytest.mark.parametrize(
    ("family", "samples", "message"),
    [(shallow(2, 3), 0, "samples 0"), (shallow(2, 3), 1.5, "samples 1.5")],
)
def test_bad_numbers(family: Family, samples: int, message: str) -> None:
    with pytest.raises(pm.InputError, match=message):
        simulate_real_counts(family, samples)


def test_bad_families() -> None:
    with pytest.raises(pm.InputError, match="seed -1"):
        simulate_real_counts(shallow(2, 3), 10, seed=-1)
    with pytest.raises(pm.InputError, match="expected inputs and hidden layers"):
        DeepFamily((2,), 2)
    with pytest.raises(pm.InputError, match="expected numbers >= 1"):
        AttentionFamily(2, 0, 1, 1)
