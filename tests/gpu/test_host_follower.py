"""The generated code and the follower, compiled for the host, against the CPU core: the same path by path."""

from __future__ import annotations

import numpy as np
import pytest
from gpu.follower_cases import BOUNDARIES, agree, base_of, stage_one, targets_for
from gpu.host_follower import host_follow

from polymargin.continuation import PathEnd, Tracker, TrackerSettings
from polymargin.continuation.survey import LARGEST_CONDITION
from polymargin.expected import DeepFamily, ShallowEnsemble, ShallowFamily
from polymargin.expected.counting import MemberCounter
from polymargin.gpu.jobs import NEEDS_EXCHANGES
from polymargin.gpu.source import THREAD, Layout
from polymargin.gpu.tape import Tape
from polymargin.polynomials import Graph, flatten, gradient, hessian, jacobian

CORE = Tracker(threads=1, device="cpu")
# Three rows a lane, with lanes and rows that nothing fills; and lanes that compute what they hold of the matrix themselves.
GROUP, HELD = Layout(2, 3), Layout(2, 2)


CASES = [*((name, THREAD) for name in BOUNDARIES), ("shallow", GROUP), ("attention", GROUP), ("four inputs", HELD)]


@pytest.mark.parametrize(("name", "layout"), CASES, ids=str)
def test_stage_two_ends_where_the_core_ends(name: str, layout: Layout) -> None:
    boundary = BOUNDARIES[name]()
    base, targets = base_of(boundary), targets_for(boundary, 4 if layout == THREAD else 1)
    core = CORE.track(base.program, base.solutions, base.parameters, targets)
    assert core.converged.all()
    mine = host_follow(base.program, base.solutions, base.parameters, targets, layout=layout)
    agree(mine, core)
    assert abs(mine.steps.mean() - core.steps.mean()) < 1


@pytest.mark.parametrize("layout", [THREAD, Layout(4, 1)], ids=["thread", "row per lane"])
def test_stage_one_from_the_start_system(layout: Layout) -> None:
    program, starts, begin, end = stage_one(BOUNDARIES["shallow"]())
    core = CORE.track(program, starts, begin, end)
    assert core.converged.all()
    agree(host_follow(program, starts, begin, end, layout=layout), core)
    bold = CORE.bold().track(program, starts, begin, end)
    mine = host_follow(program, starts, begin, end, layout=layout, settings=CORE.bold().settings)
    agree(mine, bold)
    assert bold.steps.mean() < 0.8 * core.steps.mean()
    assert abs(mine.steps.mean() - bold.steps.mean()) < 1


def test_selected_paths_alone_are_followed() -> None:
    boundary = BOUNDARIES["shallow"]()
    base, targets = base_of(boundary), targets_for(boundary, 2)
    every = host_follow(base.program, base.solutions, base.parameters, targets, layout=THREAD)
    selected = np.zeros(every.ends.shape, dtype=bool)
    selected[1, [3, 7]] = True
    some = host_follow(base.program, base.solutions, base.parameters, targets, layout=THREAD, selected=selected)
    assert np.array_equal(some.points[selected], every.points[selected])
    assert not some.points[~selected].any()


@pytest.mark.parametrize("layout", [THREAD, Layout(2, 1)], ids=["thread", "group"])
def test_ends_that_are_not_regular_have_names(layout: Layout) -> None:
    """x² = a with y² = b: symmetric, and what becomes of a path is known."""
    graph = Graph()
    x, y = graph.inputs(2)
    a, b = graph.parameters(2)
    equations = [x**2 - a, y**2 - b]
    program = flatten(graph, equations, [entry for row in jacobian(equations, [x, y]) for entry in row])

    def end(start: list[complex], target: list[complex]) -> int:
        found = host_follow(program, [start], [1.0, 1.0], target, layout=layout, settings=TrackerSettings(infinity=5))
        return int(found.ends[0, 0])

    assert end([1, 1], [2 + 1j, 3]) == PathEnd.CONVERGED.code
    assert end([3, 1], [2 + 1j, 3]) == PathEnd.START_REJECTED.code
    assert end([1, 1], [100, 1]) == PathEnd.DIVERGED.code
    assert end([1, 1], [0, 1]) in (PathEnd.END_NOT_REGULAR.code, NEEDS_EXCHANGES)
    # On the way to −1 along the real line x passes through 0.
    assert end([1, 1], [-1, 1]) == PathEnd.STEP_TOO_SMALL.code


@pytest.mark.parametrize("layout", [THREAD, Layout(2, 1)], ids=["thread", "group"])
def test_instructions_of_which_some_rows_move(layout: Layout) -> None:
    """One square sees the parameter, the other one does not."""
    graph = Graph()
    x, y = graph.inputs(2)
    (a,) = graph.parameters(1)
    equations = [(x + a) ** 2 + y, x + (y + 1) ** 2]
    program = flatten(graph, equations, [entry for row in jacobian(equations, [x, y]) for entry in row])
    tape = Tape.of(program)
    assert tape is not None
    moved = set(tape.moving)
    rows = [[argument in moved for argument in step.arguments[0]] for step in tape.motion_code if not step.linear]
    assert [False, True] in map(sorted, rows)
    # At a = 2i: x = −(y + 1)², and y a root of a quartic.
    y_start = np.roots(np.polyadd(np.polymul([-1, -2, -1 + 2j], [-1, -2, -1 + 2j]), [1, 0]))
    starts = np.stack([-((y_start + 1) ** 2), y_start], axis=1)
    targets = [[1.0 + 0.5j], [-1.0j]]
    core = CORE.track(program, starts, [2j], targets)
    assert core.converged.all()
    agree(host_follow(program, starts, [2j], targets, layout=layout), core)


@pytest.mark.parametrize("layout", [THREAD, Layout(2, 2)], ids=["thread", "group"])
def test_a_lagrangian_with_two_multipliers(layout: Layout) -> None:
    """The distance to the intersection of two quadrics: symmetric, with two zeros on the diagonal."""
    graph = Graph()
    x, multipliers = graph.inputs(3), graph.inputs(2)
    u, levels = graph.parameters(3), graph.parameters(2)
    quadrics = [x[0] ** 2 + 2 * x[1] ** 2 - x[2] * x[0], x[0] * x[1] + 3 * x[2] ** 2]
    lagrangian = graph.constant(0)
    for place, measured in zip(x, u, strict=True):
        lagrangian = lagrangian + (place - measured) ** 2 * 0.5
    for multiplier, quadric, level in zip(multipliers, quadrics, levels, strict=True):
        lagrangian = lagrangian + multiplier * (quadric - level)
    unknowns = [*x, *multipliers]
    entries = [entry for row in hessian(lagrangian, unknowns) for entry in row]
    program = flatten(graph, gradient(lagrangian, unknowns), entries)
    generator = np.random.default_rng(0)
    a, b, c, first, second = generator.normal(size=5) + 1j * generator.normal(size=5)
    slopes = np.array([[2 * a - c, 4 * b, -a], [b, a, 6 * c]])
    begin = [*(np.array([a, b, c]) + [first, second] @ slopes), a**2 + 2 * b**2 - a * c, a * b + 3 * c**2]
    targets = generator.normal(size=(6, 5)) + 1j * generator.normal(size=(6, 5))
    core = CORE.track(program, [[a, b, c, first, second]], begin, targets)
    assert core.converged.all()
    agree(host_follow(program, [[a, b, c, first, second]], begin, targets, layout=layout), core)


def test_a_pivot_that_vanishes_is_not_trusted() -> None:
    """[[0, 1], [1, 0]] is regular, but elimination without exchanges cannot solve with it."""
    graph = Graph()
    x, y = graph.inputs(2)
    (a,) = graph.parameters(1)
    equations = [y - 1, x - a]
    program = flatten(graph, equations, [graph.constant(entry) for entry in (0, 1, 1, 0)])
    found = host_follow(program, [[0.0, 1.0]], [0.0], [1.0], layout=THREAD)
    assert found.ends[0, 0] == NEEDS_EXCHANGES
    assert CORE.track(program, [[0.0, 1.0]], [0.0], [[1.0]]).converged.all()


@pytest.mark.parametrize("layout", [THREAD, Layout(2, 1)], ids=["thread", "group"])
@pytest.mark.parametrize("size", [1e-7, 1.0, 1e7])
def test_the_size_of_the_boundary_does_not_matter(size: float, layout: Layout) -> None:
    """The same points are critical for B and for any multiple of it; only the multiplier and the pivots change."""
    family = ShallowFamily(ShallowEnsemble(2, 3))
    counter = MemberCounter(family, seed=0)
    start = counter.generic_member(0)
    units = np.append(np.full(family.parameter_count, size), [1.0, 1.0, size])  # of the coefficients, u and the level
    members = np.concatenate([family.sample(20, np.random.default_rng(0)), np.tile([1.0, 0.5, 0.0], (20, 1))], axis=1)
    begin, targets = start.parameters * units, members * units
    starts = start.solutions * [1.0, 1.0, 1 / size]
    core = CORE.track(counter.program, start.solutions, start.parameters, members)
    assert core.converged.all()
    mine = host_follow(counter.program, starts, begin, targets, layout=layout)
    assert mine.converged.all()
    assert np.abs(mine.points[..., :2] - core.points[..., :2]).max() < 1e-9


@pytest.mark.parametrize("widths", [(2, 8, 8), (2, 3, 3)], ids=str)
def test_large_gradients_need_no_exchanges(widths: tuple[int, ...]) -> None:
    """Of degree nine B is so steep that pivots are ten orders apart; what the core calls nearly singular the kernel does too."""
    family = DeepFamily(widths, 3)
    counter = MemberCounter(family, seed=0)
    start = counter.generic_member(0)
    fixed = np.tile([1.0, 0.5, 0.0], (40, 1))
    targets = np.concatenate([family.sample(40, np.random.default_rng(0)), fixed], axis=1)
    core = CORE.track(counter.program, start.solutions, start.parameters, targets)
    mine = host_follow(counter.program, start.solutions, start.parameters, targets, layout=THREAD)
    assert (mine.ends == core.ends).mean() > 0.9999
    both = mine.converged & core.converged
    apart = np.abs(mine.points - core.points).max(axis=2) / (1 + np.abs(core.points).max(axis=2))
    assert (apart[both] < 1e-10).all()
    nearly_singular = core.condition >= LARGEST_CONDITION
    assert (nearly_singular & both).any()
    assert (mine.condition[nearly_singular & both] >= LARGEST_CONDITION).all()
