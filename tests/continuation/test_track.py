"""The C++ tracker: agreement with the readable one, with every instruction set, whatever the threads."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from oracle import follow_path
from problems import PROBLEMS, SMALL, Problem

import polymargin as pm
from polymargin import Boundary, _core
from polymargin.boundary import critical_system
from polymargin.continuation import (
    Job,
    PathEnd,
    Tracker,
    TrackerSettings,
    contains,
    critical_start,
    duplicates,
    random_phase,
)
from polymargin.continuation.tracker import job_again
from polymargin.polynomials import Graph, Program, flatten


@dataclasses.dataclass(frozen=True)
class Blend:
    """The first stage of a problem, ready to track."""

    program: Program
    starts: np.ndarray
    p0: np.ndarray
    p1: np.ndarray


def blend(problem: Problem, seed: int = 0) -> Blend:
    boundary = Boundary.from_network(problem.network(seed), 0, 1)
    m = boundary.reduction.dimension
    generator = np.random.default_rng([seed, 7])
    start = critical_start(m, boundary.degree, generator)
    phase = random_phase(generator)
    u = generator.normal(size=m + 1) + 1j * generator.normal(size=m + 1)
    starts = start.points.copy()
    starts[:, -1] /= phase
    fixed = [*start.slopes, start.level]
    start_parameters = np.array([*np.zeros(m), u[-1], phase, 0, *fixed])
    return Blend(critical_system(boundary).blend, starts, start_parameters, np.array([*u, 0, 1, *fixed]))


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_every_path_converges_to_a_point_of_its_own(problem: Problem) -> None:
    case = blend(problem)
    paths = Tracker().track(case.program, case.starts, case.p0, case.p1)
    assert paths.counts() == {PathEnd.CONVERGED: problem.critical_points}
    assert not duplicates(paths.points[0]).any()
    values, _ = _core.evaluate(case.program.compiled, paths.points[0], case.p1, double_double=True)
    assert np.abs(values).max() < 1e-9 * (1 + np.abs(paths.points).max()) ** 3


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_agreement_with_the_readable_tracker_path_by_path(problem: Problem) -> None:
    case = blend(problem)
    fast = Tracker().track(case.program, case.starts, case.p0, case.p1).points[0]
    few = 6 if problem in SMALL else 1  # it is readable, not fast
    chosen = np.linspace(0, len(fast) - 1, few + 2).astype(int)[1:-1]
    for index in np.unique(chosen):
        slow = follow_path(case.program, case.starts[index], case.p0, case.p1)
        assert np.abs(slow - fast[index]).max() < 1e-8 * (1 + np.abs(slow).max()), index


@pytest.mark.parametrize("problem", PROBLEMS[:2], ids=lambda p: p.name)
def test_instruction_sets_and_double_doubles_agree(problem: Problem) -> None:
    case = blend(problem)
    reference = Tracker().track(case.program, case.starts, case.p0, case.p1).points
    for name in _core.instruction_sets():
        for double_double in (False, True):
            tracker = Tracker(instruction_set=name)
            paths = tracker.track(case.program, case.starts, case.p0, case.p1, double_double=double_double)
            assert paths.converged.all(), (name, double_double)
            assert np.abs(paths.points - reference).max() < 1e-9 * np.abs(reference).max()


def test_the_same_bits_for_any_number_of_threads() -> None:
    case = blend(PROBLEMS[2])
    one = Tracker(threads=1).track(case.program, case.starts, case.p0, case.p1)
    for threads in (2, 3, 8):
        many = Tracker(threads=threads).track(case.program, case.starts, case.p0, case.p1)
        for item in dataclasses.fields(one):
            assert np.array_equal(getattr(one, item.name), getattr(many, item.name)), item.name


def test_a_path_does_not_depend_on_its_neighbours() -> None:
    case = blend(PROBLEMS[1])
    together = Tracker().track(case.program, case.starts, case.p0, case.p1)
    for index in (0, 7, 44):
        alone = Tracker().track(case.program, case.starts[index : index + 1], case.p0, case.p1)
        assert np.array_equal(alone.points[0, 0], together.points[0, index])
        selected = np.zeros((1, len(case.starts)), dtype=bool)
        selected[0, index] = True
        only = Tracker().track(case.program, case.starts, case.p0, case.p1, selected=selected)
        assert np.array_equal(only.points[0, index], together.points[0, index])


def test_several_targets_in_one_call() -> None:
    boundary = Boundary.from_network(PROBLEMS[0].network(), 0, 1)
    program = critical_system(boundary).target
    case = blend(PROBLEMS[0])
    base = Tracker().track(case.program, case.starts, case.p0, case.p1).points[0]
    u = case.p1[:4]
    targets = np.random.default_rng(1).normal(size=(4, 4)) + 0j
    together = Tracker().track(program, base, u, targets)
    assert together.points.shape == (4, 21, 4)
    for row, target in enumerate(targets):
        assert np.array_equal(Tracker().track(program, base, u, target).points[0], together.points[row])


def saddle() -> Program:
    """y + x² = p, x + y² = q: the gradient of a saddle. The Jacobian [[2x, 1], [1, 2y]] is symmetric; its first pivot is 2x."""
    graph = Graph()
    x, y = graph.inputs(2)
    p, q = graph.parameters(2)
    one = graph.constant(1)
    return flatten(graph, [y + x**2 - p, x + y**2 - q], [2 * x, one, one, 2 * y])


SADDLE_STARTS = np.array([[0, 0], *([np.conj(y), y] for y in -np.exp(2j * np.pi * np.arange(3) / 3))])


@pytest.mark.parametrize("double_double", [False, True])
def test_a_pivot_of_zero_is_no_obstacle(double_double: bool) -> None:
    """One of the four paths begins where symmetric elimination would divide by zero."""
    target = np.array([2 + 1j, 3 - 1j])
    paths = Tracker().track(saddle(), SADDLE_STARTS, [0, 0], target, double_double=double_double)
    assert paths.converged.all()
    for start, end in zip(SADDLE_STARTS, paths.points[0], strict=True):
        slow = follow_path(saddle(), start, np.zeros(2), target)
        assert np.abs(slow - end).max() < 1e-10


def test_small_pivots_in_one_lane_leave_the_others_alone() -> None:
    targets = np.array([[2 + 1j, 3 - 1j]])
    together = Tracker().track(saddle(), SADDLE_STARTS, [0, 0], targets)
    for index, start in enumerate(SADDLE_STARTS):
        alone = Tracker().track(saddle(), start[None, :], [0, 0], targets)
        assert np.array_equal(alone.points[0, 0], together.points[0, index])
        assert alone.steps[0, 0] == together.steps[0, index]


@pytest.mark.parametrize("problem", PROBLEMS[:3], ids=lambda p: p.name)
def test_symmetric_elimination_and_lu_agree(problem: Problem) -> None:
    """The same equations in another order have no symmetric Jacobian and go through LU with exchanges."""
    case = blend(problem)
    n = case.program.input_count
    turned = dataclasses.replace(
        case.program,
        values=(*case.program.values[1:], case.program.values[0]),
        derivatives=(*case.program.derivatives[n:], *case.program.derivatives[:n]),
    )
    symmetric = Tracker().track(case.program, case.starts, case.p0, case.p1)
    general = Tracker().track(turned, case.starts, case.p0, case.p1)
    assert symmetric.converged.all()
    assert general.converged.all()
    assert np.abs(general.points - symmetric.points).max() < 1e-9 * np.abs(symmetric.points).max()


# -- paths whose ends are known ------------------------------------------------------------------


def parabola() -> Program:
    """x² = p."""
    graph = Graph()
    (x,) = graph.inputs(1)
    (p,) = graph.parameters(1)
    return flatten(graph, [x**2 - p], [2 * x])


def test_square_roots() -> None:
    paths = Tracker().track(parabola(), [[1.0], [-1.0]], [1.0], [[3 + 4j], [-4 + 1e-9j], [1e-12], [1e12]])
    assert paths.converged.all()
    assert np.allclose(paths.points[..., 0].T[0], [2 + 1j, 2j, 1e-6, 1e6], rtol=1e-12, atol=1e-9)
    assert np.allclose(paths.points[:, 1], -paths.points[:, 0])


def test_named_ends() -> None:
    (wrong_start,) = Tracker().track(parabola(), [[5.0]], [1.0], [2.0]).counts()
    assert wrong_start is PathEnd.START_REJECTED
    (double_root,) = Tracker().track(parabola(), [[1.0]], [1.0], [0.0]).counts()
    assert double_root in (PathEnd.END_NOT_REGULAR, PathEnd.STEP_TOO_SMALL)
    (crossing,) = Tracker().track(parabola(), [[1.0]], [1.0], [-1.0]).counts()
    assert crossing is PathEnd.STEP_TOO_SMALL
    few = TrackerSettings(most_steps=2)
    (short,) = Tracker(few).track(parabola(), [[1.0]], [1.0], [1e12]).counts()
    assert short is PathEnd.TOO_MANY_STEPS
    graph = Graph()
    (x,) = graph.inputs(1)
    (p,) = graph.parameters(1)
    hyperbola = flatten(graph, [p * x - 1], [p])
    (to_infinity,) = Tracker().track(hyperbola, [[1.0]], [1.0], [0.0]).counts()
    assert to_infinity is PathEnd.DIVERGED


def test_one_singular_path_does_not_disturb_the_others() -> None:
    """x² = p meets its branch point, y is free: seven healthy paths beside a stuck one."""
    graph = Graph()
    x, y = graph.inputs(2)
    p, q = graph.parameters(2)
    program = flatten(
        graph,
        [(x - 10) * (x**2 - p), y**3 - q],
        [3 * x**2 - 20 * x - p, graph.constant(0), graph.constant(0), 3 * y**2],
    )
    turns = np.exp(2j * np.pi * np.arange(3) / 3)
    starts = [[root, turn] for root in (1.0, -1.0, 10.0) for turn in turns]
    paths = Tracker().track(program, starts, [1.0, 1.0], [-1.0, 8.0])
    assert paths.converged[0].tolist() == [False] * 6 + [True] * 3
    assert np.allclose(paths.points[0, 6:], [[10, 2 * turn] for turn in turns])


def test_double_doubles_rescue_an_ill_conditioned_path() -> None:
    """(x − p)(x − p − ε) for ε = 1e-9: doubles cannot separate the roots to the asked accuracy."""
    gap = 1e-9
    graph = Graph()
    (x,) = graph.inputs(1)
    (p,) = graph.parameters(1)
    shifted = x - p
    program = flatten(graph, [shifted**2 - gap * shifted], [2 * shifted - gap])
    starts = [[1.0], [1.0 + gap]]
    paths = Tracker(TrackerSettings(accuracy=1e-13)).follow(program, starts, [1.0], [2.0])
    assert paths.points[0, 1, 0].real - paths.points[0, 0, 0].real == pytest.approx(gap, rel=1e-6)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_queue_of_jobs_gives_each_what_it_gets_alone(threads: int) -> None:
    """Programs of different sizes, with and without a selection, in one queue."""
    cases = [blend(problem) for problem in PROBLEMS[:4]]
    jobs = [Job(case.program, case.starts, case.p0, case.p1) for case in cases]
    jobs.append(Job(parabola(), [[1.0], [-1.0]], [1.0], [[2.0], [3.0]], np.array([[True, False], [False, True]])))
    together = Tracker(threads=threads).run(jobs)
    for job, paths in zip(jobs, together, strict=True):
        (alone,) = Tracker(threads=1).run([job])
        assert np.array_equal(paths.points, alone.points)
        assert np.array_equal(paths.ends, alone.ends)
    assert Tracker().run([]) == []


@pytest.mark.parametrize("problem", PROBLEMS[:4], ids=lambda p: p.name)
def test_bold_paths_lose_nothing(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reckless ones jump and fail by the dozen; what is followed again puts that right."""
    case = blend(problem)
    known = Tracker().track(case.program, case.starts, case.p0, case.p1).points[0]
    reckless = TrackerSettings(contraction=0.9, correction=0.9, change=1e3, accuracy=1e-2, most_steps=30)
    for bold in (TrackerSettings.bold, lambda _: reckless):
        monkeypatch.setattr(TrackerSettings, "bold", bold)
        paths, regular = Tracker().follow_boldly(case.program, case.starts, case.p0, case.p1)
        assert regular.all()
        assert not duplicates(paths.points[0]).any()
        assert contains(known, paths.points[0]).all()
    first = Tracker(reckless).track(case.program, case.starts, case.p0, case.p1)
    assert duplicates(first.points[0]).any() or not first.converged.all(), "nothing was put right"


def test_a_larger_change_takes_fewer_steps() -> None:
    case = blend(PROBLEMS[0])
    steps = [
        Tracker(TrackerSettings(change=change)).track(case.program, case.starts, case.p0, case.p1).steps.sum()
        for change in (0.05, 0.25, 1.0)
    ]
    assert steps[0] > steps[1] > steps[2]


@pytest.mark.parametrize(
    "change", [{"correction": 1.5}, {"contraction": -1}, {"most_steps": 0}, {"accuracy": float("nan")}]
)
def test_settings_are_checked(change: dict) -> None:
    with pytest.raises(pm.InputError, match=next(iter(change))):
        TrackerSettings(**change)
    with pytest.raises(TypeError):
        TrackerSettings(acuracy=1e-6)  # a misspelt setting is not ignored


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match="start points"):
        Tracker().track(parabola(), [[1.0, 2.0]], [1.0], [2.0])
    with pytest.raises(ValueError, match="start parameters"):
        Tracker().track(parabola(), [[1.0]], [1.0, 1.0], [2.0])
    with pytest.raises(ValueError, match="not available"):
        Tracker(instruction_set="quantum").track(parabola(), [[1.0]], [1.0], [2.0])


@pytest.mark.parametrize("double_double", [False, True])
def test_paths_that_stopped_go_on_where_they_are(double_double: bool) -> None:
    case = blend(PROBLEMS[2])
    whole = Tracker().track(case.program, case.starts, case.p0, case.p1)
    targets = np.stack([case.p1, case.p1])
    short = Tracker(TrackerSettings(most_steps=int(whole.steps.max()) // 2))
    stopped = short.track(case.program, case.starts, case.p0, targets)
    stuck = ~stopped.converged
    assert 0 < stuck.sum() < stuck.size
    assert (stopped.ends[stuck] == PathEnd.TOO_MANY_STEPS.code).all()
    job = Job(case.program, case.starts, case.p0, targets, stuck, stopped)
    (on,) = Tracker().run([job], double_double=double_double)
    assert on.converged[stuck].all()
    assert (on.steps[stuck] < np.broadcast_to(whole.steps, stuck.shape)[stuck]).all()
    stopped.put(np.flatnonzero(stuck), on, stuck)
    assert np.abs(stopped.points - whole.points).max() < 1e-9 * np.abs(whole.points).max()


def test_stopped_paths_have_to_fit() -> None:
    case = blend(PROBLEMS[0])
    paths = Tracker().track(case.program, case.starts, case.p0, case.p1)
    with pytest.raises(ValueError, match="stopped paths: expected points"):
        Tracker().run([Job(case.program, case.starts, case.p0, np.stack([case.p1, case.p1]), None, paths)])


def test_some_paths_again_are_those_paths() -> None:
    case = blend(PROBLEMS[2])
    targets = case.p1 + np.arange(4)[:, None] * np.r_[0.1, np.zeros(len(case.p1) - 1)]
    job = Job(case.program, case.starts, case.p0, targets)
    (paths,) = Tracker().run([job])
    count = len(case.starts)
    numbers = np.array([1, count - 1, 2 * count, 2 * count + 1, 4 * count - 2])
    again = job_again(job, numbers)
    assert np.shape(again.targets) == (3, len(case.p1))
    assert again.selected is not None
    (found,) = Tracker().run([again])
    assert np.array_equal(found.points[again.selected], paths.points.reshape(4 * count, -1)[numbers])
