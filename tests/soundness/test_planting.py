"""Settings, data, and what counts as planted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polymargin as pm
from polymargin.soundness import Plan, Setting, paper_settings
from polymargin.soundness.planting import PlantedData, draw_data, is_planted


def test_the_settings_of_the_paper() -> None:
    settings = paper_settings()
    assert {(s.hidden, s.degree, s.epsilon) for s in settings} == {
        ((h,), d, e) for h in (6, 10) for d in (2, 3) for e in (0.2, 0.5)
    }
    assert {(s.inputs, s.classes, s.unverifiable, s.clean) for s in settings} == {(8, 2, 10, 10)}
    assert (Plan().epochs, Plan().rate, Plan().hinge) == (5000, 0.001, 0.01)


@pytest.mark.parametrize(
    "bad",
    [{"hidden": ()}, {"hidden": (0,)}, {"degree": 0}, {"epsilon": 0.0}, {"epsilon": float("nan")}, {"classes": 1}],
)
def test_settings_without_sense_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(pm.InputError):
        Setting(**bad)  # type: ignore[arg-type]


def test_a_setting_survives_json_and_refuses_unknown_keys() -> None:
    setting = Setting((4, 3), 3, 0.25, inputs=5, classes=3)
    assert Setting.from_dict(setting.to_dict()) == setting
    with pytest.raises(pm.InputError, match="radius"):
        Setting.from_dict({**setting.to_dict(), "radius": 1})


@given(
    inputs=st.integers(1, 12),
    classes=st.integers(2, 5),
    epsilon=st.floats(0.01, 2.0),
    seed=st.integers(0, 2**32),
    attempt=st.integers(0, 100),
)
def test_data_are_as_the_paper_says(inputs: int, classes: int, epsilon: float, seed: int, attempt: int) -> None:
    setting = Setting((2,), 2, epsilon, inputs=inputs, classes=classes, unverifiable=4, clean=3)
    data = draw_data(setting, seed, attempt)
    assert data.points.shape == (7, inputs)
    assert np.abs(data.points).max() <= 1
    assert ((data.labels >= 0) & (data.labels < classes)).all()
    assert ((data.targets >= 0) & (data.targets < classes)).all()
    assert (data.targets != data.labels[:4]).all()
    lengths = np.linalg.norm(data.counterexamples - data.points[:4], axis=1)
    rounding = 1e-6  # coordinates are float32
    assert (lengths >= 0.98 * epsilon - rounding).all()
    assert (lengths <= epsilon + rounding).all()
    assert np.array_equal(data.points.astype(np.float32), data.points)


def test_attempts_and_settings_have_data_of_their_own() -> None:
    first = draw_data(Setting(), 0, 0)
    assert np.array_equal(first.points, draw_data(Setting(), 0, 0).points)
    for other in (draw_data(Setting(), 0, 1), draw_data(Setting(), 1, 0), draw_data(Setting(degree=3), 0, 0)):
        assert not np.array_equal(first.points, other.points)


def test_directions_are_uniform_on_the_sphere() -> None:
    setting = Setting(inputs=3, unverifiable=20_000, clean=0)
    data = draw_data(setting, 0, 0)
    steps = (data.counterexamples - data.points) / setting.epsilon
    directions = steps / np.linalg.norm(steps, axis=1, keepdims=True)
    # On the sphere in three dimensions every coordinate is uniform in [−1, 1]: mean 0 and variance 1/3.
    assert np.abs(directions.mean(axis=0)).max() < 5 * np.sqrt(1 / 3 / 20_000)
    assert np.abs((directions**2).mean(axis=0) - 1 / 3).max() < 5 * np.sqrt(4 / 45 / 20_000)
    # The magnitude is uniform in [0.98, 1].
    assert np.linalg.norm(steps, axis=1).mean() == pytest.approx(0.99, abs=5 * 0.02 / np.sqrt(12 * 20_000))


def half_line(threshold: float) -> pm.Network:
    """Class 1 where x² > threshold, class 0 where x² < threshold, a tie between."""
    return pm.PolynomialNetwork([([[1.0]], [0.0]), ([[0.0], [1.0]], [threshold, 0.0])], degree=2)


def data_on_the_line(counterexample: float, epsilon: float = 0.5) -> PlantedData:
    setting = Setting((1,), 2, epsilon, inputs=1, unverifiable=1, clean=1)
    points, labels = np.array([[0.5], [2.0]]), np.array([0, 1])
    return PlantedData(setting, points, labels, np.array([[counterexample]]), np.array([1]))


@pytest.mark.parametrize(
    ("threshold", "counterexample", "planted"),
    [
        (0.9, 1.0, True),  # on the sphere, and it wins
        (1.0, 1.0, False),  # a tie is no win
        (0.9, float(np.nextafter(1.0, 2.0)), False),  # one ulp outside the ball
        (0.25, 1.0, False),  # the point itself ties
        (4.5, 1.0, False),  # the clean point has another class
    ],
)
def test_planted_is_decided_exactly(threshold: float, counterexample: float, planted: bool) -> None:
    assert is_planted(half_line(threshold), data_on_the_line(counterexample)) is planted


def test_the_radius_is_the_float_itself() -> None:
    # 0.1 as a double is a little above one tenth: a step of exactly that double is inside, the next one is not.
    network = pm.PolynomialNetwork([([[1.0]], [0.0]), ([[0.0], [1.0]], [2.0**-10, 0.0])], degree=2)
    setting = Setting((1,), 2, 0.1, inputs=1, unverifiable=1, clean=0)
    for step, inside in ((0.1, True), (float(np.nextafter(0.1, 1)), False)):
        data = PlantedData(setting, np.zeros((1, 1)), np.array([0]), np.array([[step]]), np.array([1]))
        assert Fraction(step) ** 2 > Fraction(1, 100)
        assert is_planted(network, data) is inside
