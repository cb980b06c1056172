"""The survey kernel, compiled for the host and as the core runs it, against NumPy; and margins with every path by the kernels."""

from __future__ import annotations

import numpy as np
import pytest
from continuation.survey_in_numpy import survey_in_numpy
from gpu.follower_cases import BOUNDARIES, base_of, network, targets_for
from gpu.host_follower import host_launch, host_survey

import polymargin as pm
from polymargin import gpu
from polymargin.continuation import Paths, Survey, Tracker
from polymargin.continuation.same_points import SAME, SAME_CONJUGATE
from polymargin.continuation.survey import rules, survey_from, survey_of
from polymargin.enumeration.base_solutions import base_solutions
from polymargin.enumeration.cache import Cache
from polymargin.gpu import bundles
from polymargin.gpu.surveys import MOST_POINTS, slots_for

CORE = Tracker(threads=1, device="cpu")


def _by_kernel(paths: Paths, targets: np.ndarray, threads: int = 4) -> Survey:
    arrays = (np.ascontiguousarray(array) for array in (paths.points, paths.ends, paths.condition, targets))
    return survey_from(host_survey(*arrays, rules(paths.points.shape[2]), threads))


def _agree(mine: Survey, known: Survey) -> None:
    assert np.array_equal(mine.rows, known.rows)
    assert np.array_equal(mine.real_counts, known.real_counts)
    assert np.array_equal(mine.unclear, known.unclear)
    some = known.real_counts > 0
    assert np.array_equal(mine.nearest[some], known.nearest[some])
    for name in ("conjugates", "reals"):
        one, other = getattr(mine, name), getattr(known, name)
        assert np.allclose(one.gaps, other.gaps, rtol=1e-12)
        there = np.isfinite(other.gaps)
        ends = [np.stack([closest.first, closest.second])[:, there] for closest in (one, other)]
        # Either of two partners may be told, each the end of a path of its own.
        apart = [np.abs(ends[0] - told).max(axis=2, initial=0.0) for told in (ends[1], ends[1][::-1])]
        assert (np.minimum(*apart) < 1e-9).all()


def _paths(name: str, count: int) -> tuple[Paths, np.ndarray]:
    boundary = BOUNDARIES[name]()
    base, targets = base_of(boundary), targets_for(boundary, count)
    return CORE.track(base.program, base.solutions, base.parameters, targets), targets


def _lists(count: int, half: int, reals: int, unknowns: int) -> tuple[Paths, np.ndarray]:
    """Lists of distinct points that are closed under conjugation, each in an order of its own."""
    generator = np.random.default_rng([count, half, reals, unknowns])
    upper = generator.normal(size=(count, half, unknowns)) + 1j * generator.normal(size=(count, half, unknowns))
    points = np.concatenate([upper, upper.conj(), generator.normal(size=(count, reals, unknowns))], axis=1)
    points = generator.permuted(points.view(np.dtype((np.void, 16 * unknowns))), axis=1).view(np.complex128)
    shape = points.shape[:2]
    numbers = [np.zeros(shape, dtype=np.int32) for _ in range(3)] + [np.ones(shape) for _ in range(3)]
    targets = generator.normal(size=(count, unknowns)).astype(np.complex128)
    return Paths(np.ascontiguousarray(points.reshape(*shape, unknowns)), *numbers), targets


@pytest.mark.parametrize("name", BOUNDARIES)
def test_the_same_of_critical_points(name: str) -> None:
    paths, targets = _paths(name, 30)
    known = survey_in_numpy(paths, targets)
    assert len(known.rows) > 20
    _agree(_by_kernel(paths, targets), known)
    _agree(survey_of(paths, targets), known)


@pytest.mark.parametrize(("half", "reals", "threads"), [(0, 1, 2), (1, 0, 4), (13, 5, 8), (40, 48, 64)])
def test_lists_of_any_length(half: int, reals: int, threads: int) -> None:
    paths, targets = _lists(6, half, reals, 3)
    known = survey_in_numpy(paths, targets)
    assert np.array_equal(known.rows, np.arange(6))
    assert (known.real_counts == reals).all()
    distances = np.linalg.norm(paths.points.real[..., :-1] - targets.real[:, None, :-1], axis=2)
    distances[np.abs(paths.points.imag).max(axis=2) > 0] = np.inf
    if reals:
        assert np.allclose(np.linalg.norm(known.nearest - targets.real[:, :-1], axis=1), distances.min(axis=1))
    _agree(_by_kernel(paths, targets, threads), known)
    _agree(survey_of(paths, targets), known)


def test_what_speaks_against_a_list_is_seen() -> None:
    paths, targets = _lists(9, 10, 5, 3)
    points = paths.points
    points[0, 3] = points[0, 7] + 0.1 * SAME  # two ends at one point
    points[1, 3] += 10 * SAME_CONJUGATE * (1 + np.abs(points[1, 3]).max()) * 1j  # no partner any more
    paths.ends[2, 4] = 4
    paths.condition[3, 5] = 1e11
    paths.condition[4, 5] = np.nan
    points[5, 6, 1] = np.nan
    points[6, 2, 0] = np.inf
    real = np.flatnonzero(np.abs(points[7].imag).max(axis=1) == 0)[0]
    points[7, real] += 5e-9j * (1 + np.abs(points[7, real]).max())  # neither real nor clearly complex, and alone
    with np.errstate(invalid="ignore"):
        assert survey_in_numpy(paths, targets).rows.tolist() == [8]
    assert survey_of(paths, targets).rows.tolist() == [8]
    assert _by_kernel(paths, targets).rows.tolist() == [8]


def test_points_side_by_side_are_told_apart() -> None:
    """Where the projection that points are sorted by cannot tell them apart, they are compared themselves."""
    paths, targets = _lists(2, 10, 5, 3)
    direction = rules(3).directions[:6]
    aside = np.array([direction[2], -direction[0], 0.0])  # changes no projection
    for points, step in zip(paths.points, (1e-10, 0.1), strict=True):
        one, other = np.flatnonzero(np.abs(points.imag).max(axis=1) == 0)[:2]
        points[other] = points[one] + step * aside
    known = survey_in_numpy(paths, targets)
    for mine in (_by_kernel(paths, targets), survey_of(paths, targets)):
        assert known.rows.tolist() == mine.rows.tolist() == [1]
        assert np.allclose(mine.reals.gaps, known.reals.gaps)


def test_a_list_of_nothing_is_not_clear() -> None:
    paths, targets = _lists(3, 0, 0, 2)
    assert not len(survey_of(paths, targets).rows)


def test_a_survey_refuses_arrays_that_do_not_fit() -> None:
    paths, targets = _lists(3, 2, 1, 2)
    with pytest.raises(ValueError, match=r"survey: expected points \(T, N, n\)"):
        survey_of(paths, targets[:2])


def test_the_memory_of_a_block_holds_the_longest_list() -> None:
    assert slots_for(MOST_POINTS) == MOST_POINTS
    assert [slots_for(count) for count in (1, 2, 3, 4, 765)] == [2, 2, 4, 4, 1024]


@pytest.fixture
def on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose GPU is the host."""
    monkeypatch.setattr(bundles, "launch", host_launch)
    monkeypatch.setattr(gpu, "device_for", lambda device, count: "cpu" if device == "cpu" else "cuda")


@pytest.mark.parametrize("most_bytes", [1 << 32, 4_000])
def test_what_is_not_settled_is_settled_first(
    on_the_host: None, monkeypatch: pytest.MonkeyPatch, most_bytes: int
) -> None:
    """A GPU that gives back every fifth path, in parts of any size."""
    monkeypatch.setattr(bundles, "MOST_BYTES", most_bytes)

    def lossy(*arguments: object) -> object:
        pending = host_launch(*arguments)  # type: ignore[arg-type]
        count = pending.arrays["ends"].size
        some = np.arange(0, count, 5, dtype=np.uint32)
        pending.arrays["left"][: len(some)], pending.arrays["left_count"][:] = some[::-1], len(some)
        pending.arrays["ends"].reshape(-1)[some] = 100
        pending.arrays["points"].reshape(-1, pending.arrays["points"].shape[2])[some] = 0
        return pending

    monkeypatch.setattr(bundles, "launch", lossy)
    boundary = BOUNDARIES["shallow"]()
    base = base_of(boundary)
    jobs = [
        pm.continuation.Job(base.program, base.solutions, base.parameters, targets_for(boundary, k)) for k in (3, 8)
    ]
    for mine, known in zip(Tracker(threads=1).survey(jobs), CORE.survey(jobs), strict=True):
        assert np.array_equal(mine.rows, known.rows)
        assert np.array_equal(mine.real_counts, known.real_counts)
        assert np.allclose(mine.nearest, known.nearest, rtol=0, atol=1e-10)


def test_stage_one_in_parts_tells_how_far_it_is(
    on_the_host: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Parts of ten paths at a time."""
    monkeypatch.setattr(bundles, "MOST_BYTES", 1_000)
    boundary = BOUNDARIES["shallow"]()
    with caplog.at_level("INFO", "polymargin"):
        base = base_solutions(boundary, Tracker(threads=1), seed=0, cache=Cache.from_option(False))
    known = base_of(boundary)
    assert np.array_equal(base.parameters, known.parameters)
    assert np.abs(base.solutions - known.solutions).max() < 1e-10
    told = [record.getMessage() for record in caplog.records]
    assert told[0] == "21 start points"
    assert [line.split(" ", 1)[0] for line in told if "are back" in line] == ["10", "10", "1"]


def test_lost_paths_stay_lost_for_those_who_give_up(on_the_host: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends that need exchanges of rows are for the core in any case; others only if somebody takes a second look."""

    def lossy(*arguments: object) -> object:
        pending = host_launch(*arguments)  # type: ignore[arg-type]
        ends = pending.arrays["ends"].reshape(-1)
        ends[::5], ends[1::5] = 100, 3
        return pending

    monkeypatch.setattr(bundles, "launch", lossy)
    boundary = BOUNDARIES["shallow"]()
    base = base_of(boundary)
    job = pm.continuation.Job(base.program, base.solutions, base.parameters, targets_for(boundary, 4))
    (known,), (mine,) = CORE.run([job]), Tracker(threads=1).run([job])
    assert np.array_equal(mine.ends, known.ends)
    (mine,) = Tracker(threads=1).giving_up().run([job])
    lost = np.arange(mine.ends.size).reshape(mine.ends.shape) % 5 == 1
    assert (mine.ends[lost] == 3).all()
    assert np.array_equal(mine.ends[~lost], known.ends[~lost])
    assert np.allclose(mine.points[~lost], known.points[~lost])


def test_margins_and_standings_are_those_of_the_cpu(on_the_host: None) -> None:
    first, second = network(2, [4], 3).chain.layers[0], np.random.default_rng(8).normal(size=(3, 4))
    net = pm.PolynomialNetwork([(first.weights, first.bias), second], degree=3)
    points = np.random.default_rng(9).normal(size=(40, 2))
    points[7] = np.nan
    mine = pm.margin(net, points, proof=False, workers=1)
    known = pm.margin(net, points, proof=False, workers=1, device="cpu")
    for one, other in zip(mine, known, strict=True):
        assert (one.standing, one.label, one.rival, one.method) == (
            other.standing,
            other.label,
            other.rival,
            other.method,
        )
        assert (one.complex_count, one.real_count, one.notes) == (other.complex_count, other.real_count, other.notes)
        assert np.allclose(one.radius, other.radius, rtol=1e-11, equal_nan=True)
        assert [pair.real_count for pair in one.pairs] == [pair.real_count for pair in other.pairs]
