"""The follower on a GPU; nothing here runs without one. `make test-gpu` runs these, and tracking and margins there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu.follower_cases import BOUNDARIES, agree, base_of, network, stage_one, targets_for

from polymargin import Boundary, PolynomialNetwork, gpu, margin
from polymargin.continuation import Job, Paths, Tracker, duplicates
from polymargin.continuation.survey import survey_of
from polymargin.enumeration.base_solutions import base_solutions
from polymargin.enumeration.cache import Cache
from polymargin.gpu import bundles, device, kernels, tape_for
from polymargin.gpu.source import THREAD, Layout
from polymargin.polynomials import Program

pytestmark = pytest.mark.skipif(isinstance(kernels.cupy_or_reason(), str), reason="no GPU")


CORE = Tracker(device="cpu")


def _on_device(program: Program, starts: Any, begin: Any, targets: Any, layout: Layout | None = None) -> Paths:
    tape = tape_for(program)
    assert tape is not None
    starts, begin, targets = (
        np.asarray(array, dtype=np.complex128) for array in (starts, begin, np.atleast_2d(targets))
    )
    if layout is None:
        return Paths(**bundles.follow([bundles.Bundle(tape, starts, begin, targets)], CORE.settings)[0])
    return Paths(**device.launch(gpu.Kernels(), tape, layout, starts, begin, targets, CORE.settings).wait())


@pytest.mark.parametrize("layout", [THREAD, Layout(2, 2), Layout(4, 3), Layout(8, 2), Layout(16, 2)], ids=str)
@pytest.mark.parametrize("name", BOUNDARIES)
def test_ends_where_the_core_ends(name: str, layout: Layout) -> None:
    boundary = BOUNDARIES[name]()
    base, targets = base_of(boundary), targets_for(boundary, 50)
    core = CORE.track(base.program, base.solutions, base.parameters, targets)
    agree(_on_device(base.program, base.solutions, base.parameters, targets, layout), core)


@pytest.mark.parametrize("layout", [THREAD, Layout(4, 1), Layout(8, 2)], ids=str)
def test_stage_one_from_the_start_system(layout: Layout) -> None:
    program, starts, begin, end = stage_one(BOUNDARIES["shallow"]())
    agree(_on_device(program, starts, begin, end, layout), CORE.track(program, starts, begin, end))


@pytest.mark.parametrize("inputs", [12, 16, 20])
def test_sizes_that_take_a_group(inputs: int) -> None:
    """Some paths of a system with many unknowns, in the layout that is chosen for it."""
    boundary = Boundary.from_network(network(inputs, [inputs + 2], 3), 0, 1)
    program, starts, begin, end = stage_one(boundary)
    some = starts[:: len(starts) // 2000]
    agree(_on_device(program, some, begin, end), CORE.track(program, some, begin, end))


def test_parts_make_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    boundary = BOUNDARIES["shallow"]()
    base, targets = base_of(boundary), targets_for(boundary, 40)
    whole = _on_device(base.program, base.solutions, base.parameters, targets)
    for most in (10_000, 1_000):  # blocks of targets, and blocks of starts
        monkeypatch.setattr(bundles, "MOST_BYTES", most)
        parts = _on_device(base.program, base.solutions, base.parameters, targets)
        assert np.array_equal(parts.points, whole.points)
        assert np.array_equal(parts.ends, whole.ends)


@pytest.mark.parametrize("name", BOUNDARIES)
def test_surveys_are_those_of_the_core(name: str) -> None:
    boundary = BOUNDARIES[name]()
    base = base_of(boundary)
    jobs = [Job(base.program, base.solutions, base.parameters, targets_for(boundary, count)) for count in (500, 3)]
    for mine, core in zip(Tracker(device="cuda").survey(jobs), CORE.survey(jobs), strict=True):
        assert np.array_equal(mine.rows, core.rows)
        assert np.array_equal(mine.real_counts, core.real_counts)
        some = core.real_counts > 0
        assert np.allclose(mine.nearest[some], core.nearest[some], rtol=1e-9, atol=1e-9)
        for name in ("conjugates", "reals"):
            gaps = [getattr(survey, name).gaps for survey in (mine, core)]
            assert np.allclose(*gaps, rtol=1e-6, atol=1e-9)


def test_long_lists_are_surveyed() -> None:
    """12,285 critical points: nearly as many as the memory of a block holds."""
    boundary = Boundary.from_network(network(12, [14], 3), 0, 1)
    base = base_solutions(boundary, Tracker(device="cuda"), seed=0, cache=Cache.from_option(False))
    job = Job(base.program, base.solutions, base.parameters, targets_for(boundary, 5))
    tracker = Tracker(device="cuda")
    (mine,) = tracker.survey([job])
    core = survey_of(tracker.run([job])[0], job.arrays()[2])
    assert mine.rows.tolist() == core.rows.tolist() == [0, 1, 2, 3, 4]
    assert np.array_equal(mine.real_counts, core.real_counts)
    assert np.allclose(mine.nearest, core.nearest, rtol=1e-9, atol=1e-9)


def test_margins_of_a_batch_are_those_of_the_cpu() -> None:
    generator = np.random.default_rng(4)
    layers = [(generator.normal(size=(7, 5)), generator.normal(size=7)), generator.normal(size=(4, 7))]
    net = PolynomialNetwork(layers, degree=3)
    points = generator.normal(size=(60, 5))
    found, known = (margin(net, points, proof=False, device=device) for device in ("cuda", "cpu"))
    for one, other in zip(found, known, strict=True):
        assert (one.standing, one.label, one.rival) == (other.standing, other.label, other.rival)
        assert [pair.real_count for pair in one.pairs] == [pair.real_count for pair in other.pairs]
        assert np.isclose(one.radius, other.radius, rtol=1e-10)


def test_an_interrupt_stops_the_gpu_and_leaves_it_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    boundary = BOUNDARIES["shallow"]()
    base, targets = base_of(boundary), targets_for(boundary, 100_000)

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(device.time, "sleep", interrupt)
        with pytest.raises(KeyboardInterrupt):
            _on_device(base.program, base.solutions, base.parameters, targets)
    assert _on_device(base.program, base.solutions, base.parameters, targets[:3]).converged.all()


@pytest.mark.slow
def test_ten_million_paths_none_lost_none_doubled() -> None:
    """Random shallow networks; what needs exchanges of rows is handed back by name, is rare, and is settled by the core."""
    followed = handed_back = 0
    for seed in range(14):
        boundary = Boundary.from_network(network(8, [10], 3, seed), 0, 1)
        base, targets = base_of(boundary), targets_for(boundary, 1000)
        alone = _on_device(base.program, base.solutions, base.parameters, targets)
        handed_back += int((~alone.converged).sum())
        paths = Tracker(device="cuda").track(base.program, base.solutions, base.parameters, targets)
        followed += paths.ends.size
        assert paths.converged.all()
        for points in paths.points:
            assert not duplicates(points).any()
        core = CORE.track(base.program, base.solutions, base.parameters, targets[:4])
        agree(Paths(*(getattr(paths, name)[:4] for name in paths.__dataclass_fields__)), core)
    assert followed >= 10_000_000
    assert handed_back < 0.01 * followed
