"""Every public function answers a wrong argument with one sentence that names the value."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin import boundary, continuation, enumeration, expected, geometry, piecewise
from polymargin.expected import ShallowKernel

POLYNOMIAL = random_network([2, 3, 2], 3, seed=0)
QUADRATIC = random_network([2, 3, 2], 2, seed=0)
RELU = pm.ReLUNetwork([np.eye(2), np.eye(2)])
ELLIPSE = pm.Boundary.from_expression("x**2 + 4*y**2 - 4")
PLANE = geometry.Plane.of_two_inputs((-1.0, 1.0, -1.0, 1.0))
U = [0.3, 0.1]

# A call of every public function that would succeed, by parameters; files and other frameworks have tests of their own.
CALLS: dict[str, dict[str, Any]] = {
    "attack": {"model": POLYNOMIAL, "points": U},
    "chambers": {"boundary": ELLIPSE, "plane": PLANE, "samples": 4},
    "critical_points": {"boundary": ELLIPSE, "point": U},
    "critical_points_with_multiplicity": {"boundary": ELLIPSE, "point": U},
    "discriminant_crossings": {"boundary": ELLIPSE, "start": U, "end": [1.0, 1.0]},
    "ed_degree": {"source": POLYNOMIAL},
    "ed_discriminant": {"boundary": ELLIPSE},
    "expected_for_field": {"field": ShallowKernel(2, 2), "point": U},
    "expected_real_critical_points": {"dimension": 2, "degree": 2, "point": U},
    "linear_regions": {"network": RELU},
    "margin": {"model": POLYNOMIAL, "points": U},
    "nearest_tie": {"network": QUADRATIC, "point": U},
    "parameter_discriminant": {"source": QUADRATIC},
    "polar_degrees": {"source": ELLIPSE},
    "ranges": {"model": POLYNOMIAL, "points": U, "radius": 0.1},
    "report": {"model": POLYNOMIAL, "points": [U]},
    "solve": {"system": ["x**2 - 1"]},
    "to_onnx": {"network": POLYNOMIAL, "path": "never-written.onnx"},
    "to_torch": {"network": POLYNOMIAL},
    "verify": {"model": POLYNOMIAL, "points": U, "radius": 0.1},
}
ELSEWHERE = {
    "L1",
    "L2",
    "Linf",
    "LightningAttention",
    "PolynomialNetwork",
    "ReLUNetwork",
    "SplineNetwork",
    "explore",
    "from_arrays",
    "from_sklearn",
    "from_torch",
    "load",
    "pi_net",
}
# These read models from paths and other frameworks.
READING = {"margin", "verify", "attack"}

NUMBERS: dict[str, tuple[Any, ...]] = {
    "seed": (-1, 1.5, "zero", True),
    "threads": (-4, 0, 1.5, "all"),
    "workers": (-4, 0, 1.5, "all"),
    "limit": (-1, 0, "many"),
    "timeout": (-1.0, 0, "soon", float("nan")),
}
POINTS = (["a", "b"], [float("nan"), 0.0], [1.0, 2.0, 3.0], 0.5, [[1.0, 2.0], [3.0]], None, "points.csv", [1j, 0.0])
MODELS = (Path("model.npz"), "model.npz", None, [[1.0, 2.0]], 3)


def public(name: str) -> Callable[..., Any]:
    """Return a public function of the package, or of one of its packages."""
    homes = (pm, boundary, continuation, enumeration, expected, geometry, piecewise)
    return next(getattr(home, name) for home in homes if hasattr(home, name))


def wrong_models(name: str) -> tuple[Any, ...]:
    return tuple(value for value in MODELS if name not in READING or not isinstance(value, (str, Path)))


def cases() -> list[Any]:
    found = []
    for name, good in CALLS.items():
        parameters = inspect.signature(public(name)).parameters
        wrong = {key: values for key, values in NUMBERS.items() if key in parameters}
        wrong |= {key: POINTS for key in ("point", "points", "start", "end") if key in parameters}
        if name.startswith("expected"):
            wrong["point"] = tuple(value for value in POINTS if value is not None)  # None is the origin
        wrong |= {key: wrong_models(name) for key in ("network", "boundary", "source", "model", "field") if key in good}
        for key, values in wrong.items():
            found += [pytest.param(name, key, value, id=f"{name}-{key}-{index}") for index, value in enumerate(values)]
    return found


def test_every_public_function_is_here() -> None:
    functions = {name for name in pm.__all__ if inspect.isfunction(getattr(pm, name))}
    assert functions <= set(CALLS) | ELSEWHERE


@pytest.mark.parametrize(("name", "parameter", "value"), cases())
def test_a_wrong_argument_gets_one_sentence(name: str, parameter: str, value: Any) -> None:
    function = public(name)
    with pytest.raises(pm.InputError) as caught:
        function(**{**CALLS[name], parameter: value})
    sentence = str(caught.value)
    assert sentence.startswith(parameter.rstrip("s"))
    assert "\n" not in sentence
    assert len(sentence) < 300


OF_POLYNOMIALS = ("ed_degree", "nearest_tie", "to_torch")


@pytest.mark.parametrize(
    ("name", "model"),
    [
        *((name, RELU) for name in OF_POLYNOMIALS),
        *((name, POLYNOMIAL) for name in ("linear_regions",)),
    ],
)
def test_networks_of_the_other_kind_are_refused(name: str, model: Any) -> None:
    first = next(iter(CALLS[name]))
    with pytest.raises(
        pm.InputError, match=r"is piecewise|piecewise polynomial is not|expected (fully connected )?layers"
    ):
        public(name)(**{**CALLS[name], first: model})
