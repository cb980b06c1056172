"""Which device follows the paths, and what is said where there is none."""

from __future__ import annotations

import numpy as np
import pytest

import polymargin as pm
from polymargin import gpu
from polymargin.continuation import Job, Tracker, TrackerSettings
from polymargin.gpu import bundles, kernels
from polymargin.polynomials import Graph, Program, flatten, jacobian

without_gpu = pytest.mark.skipif(not isinstance(kernels.cupy_or_reason(), str), reason="a GPU is there")
ELLIPSE = "x**3 + 4*y**2 - 4"


def _program(symmetric: bool) -> Program:
    graph = Graph()
    x, y = graph.inputs(2)
    (a,) = graph.parameters(1)
    equations = [x**2 + y - a, x + y**2 - 1] if symmetric else [x**2 + 2 * y - a, x + y**2 - 1]
    return flatten(graph, equations, [entry for row in jacobian(equations, [x, y]) for entry in row])


@without_gpu
def test_asking_for_a_gpu_that_is_not_there_gives_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    boundary = pm.Boundary.from_expression(ELLIPSE)
    with pytest.raises(pm.PolymarginError, match="device 'cuda': "):
        pm.margin(boundary, [0.1, 0.2], proof=False, device="cuda")
    monkeypatch.setenv(gpu.DEVICE, "cuda")
    with pytest.raises(pm.PolymarginError, match="device 'cuda': "):
        pm.critical_points(boundary, [0.1, 0.2])


def test_unknown_devices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pm.InputError, match="device 'abacus': expected one of auto, cpu, cuda"):
        pm.critical_points(pm.Boundary.from_expression(ELLIPSE), [0.1, 0.2], device="abacus")


@without_gpu
def test_without_a_gpu_many_paths_stay_on_the_cpu() -> None:
    assert gpu.device_for(None, 10**9) == "cpu"
    assert Tracker().settled_for(10**9).device == "cpu"


def test_few_paths_stay_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(gpu.DEVICE, raising=False)
    assert gpu.device_for(None, bundles.WORTH_IT - 1) == "cpu"


def test_a_system_without_symmetry_has_no_kernel() -> None:
    assert gpu.tape_for(_program(symmetric=False)) is None
    assert gpu.tape_for(_program(symmetric=True)) is not None


def test_what_the_gpu_leaves_is_settled_by_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that loses every third path and calls it by the name only it knows, and a job it cannot take."""
    program, other = _program(symmetric=True), _program(symmetric=False)
    core = Tracker(device="cpu", threads=1)
    generator = np.random.default_rng(0)
    starts, targets = np.array([[1.0, 0.0], [0.0, 1.0]]), generator.normal(size=(5, 1)) + 1j
    jobs = [
        Job(program, starts[:1], [1.0], targets),
        Job(other, starts[:1], [1.0], targets),
        Job(program, starts, [1.0], targets),
    ]
    truth = core.run(jobs)

    def lossy(given: list[gpu.Bundle], settings: TrackerSettings) -> list[dict[str, np.ndarray]]:
        found = [vars(paths) for paths in core.run([Job(program, b.starts, b.begin, b.targets) for b in given])]
        for arrays in found:
            arrays["ends"].reshape(-1)[::3] = 100
            arrays["points"].reshape(-1, 2)[::3] = np.nan
        return found

    monkeypatch.setattr(gpu, "device_for", lambda device, count: "cpu" if device == "cpu" else "cuda")
    monkeypatch.setattr(gpu, "follow", lossy)
    for mine, known in zip(Tracker(threads=1).run(jobs), truth, strict=True):
        assert np.array_equal(mine.ends, known.ends)
        assert np.array_equal(mine.points, known.points)
