"""Certified accuracy against a count by hand, and the figures on a given axis."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.class_names import class_numbers
from polymargin.plots.counterexamples import most_vulnerable
from polymargin.plots.thumbnails import checked_shape, difference_png, guessed_shape, image_png, image_range, pixels
from polymargin.standing import Standing


def row(lower: float, upper: float, status: Standing, label: int | None = 0, point: bool = True) -> pm.Margin:
    nearest = np.array([upper, 0.0]) if point and math.isfinite(upper) else None
    error = "why" if status is Standing.FAILED else None
    return pm.Margin(upper, lower, upper, nearest, label, 1, status, "test", 0.01, error=error)


ROWS = (
    row(0.2, 0.2, Standing.NUMERICAL),
    row(0.5, 0.5, Standing.CERTIFIED),
    row(0.3, 0.9, Standing.BRACKETED),
    row(math.inf, math.inf, Standing.CERTIFIED),
    row(0.4, 0.4, Standing.NUMERICAL, label=1),  # wrong
    row(0.0, 0.0, Standing.CERTIFIED),  # an exact tie at the point
    row(math.nan, math.nan, Standing.FAILED, label=None),
    row(0.1, math.inf, Standing.BRACKETED),
)
LABELS = [0] * 8


def by_hand(radius: float, side: str, statuses: tuple[Standing, ...]) -> float:
    kept = [m for m in ROWS if m.label == 0 and m.standing in statuses and getattr(m, side) > radius]
    return len(kept) / len(ROWS)


@pytest.mark.parametrize("radius", [0.0, 0.1, 0.15, 0.2, 0.3, 0.45, 0.5, 0.89, 0.9, 7.0])
def test_the_curve_counts_rows(radius: float) -> None:
    found = pm.plots.RobustAccuracy.of(ROWS, LABELS)
    every = (Standing.CERTIFIED, Standing.NUMERICAL, Standing.BRACKETED)
    assert found.at(radius) == pytest.approx(by_hand(radius, "lower", every))
    assert found.possible(radius) == pytest.approx(by_hand(radius, "upper", every))
    assert float(found.open(radius)) == pytest.approx(found.possible(radius) - found.at(radius))
    for standing in every:
        assert float(found.part(standing, radius)) == pytest.approx(by_hand(radius, "lower", (standing,)))


def test_clean_accuracy_counts_ties_and_not_failures() -> None:
    assert pm.plots.RobustAccuracy.of(ROWS, LABELS).clean == 6 / 8
    assert pm.plots.RobustAccuracy.of(ROWS).clean == 7 / 8
    with pytest.raises(pm.InputError, match="at least one row"):
        pm.plots.RobustAccuracy.of([])


@pytest.mark.parametrize(
    ("labels", "words"),
    [([0, 1], "one class per point"), ([0.5] * 3, "row 0 is 0.5"), ([0, math.nan, 1], "row 1 is nan")],
)
def test_wrong_labels(labels: list[float], words: str) -> None:
    with pytest.raises(pm.InputError, match=words):
        class_numbers(labels, 3)


def test_figures_on_a_given_axis() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    net = random_network([2, 4, 3], 3, seed=1)
    points = np.random.default_rng(0).normal(size=(12, 2))
    margins, labels = pm.margin(net, points, proof=False), net.predict(points)
    first, second, third, fourth = Figure().subplots(1, 4)
    assert pm.plots.robust_accuracy(first, margins, labels) is first
    curve = next(line for line in first.lines if len(line.get_xdata()) > 2)
    expected = [np.mean([m.lower > r for m in margins]) for r in curve.get_xdata()]
    assert np.allclose(curve.get_ydata(), expected)
    pm.plots.margin_histogram(second, margins, labels)
    assert sum(patch.get_height() for patch in second.patches) == pytest.approx(12)
    pm.plots.nearest_counterexamples(third, points, margins, count=3)
    for place in most_vulnerable(margins)[:3]:
        joined = np.stack([points[place], margins[place].point])
        assert any(np.allclose(line.get_xydata(), joined) for line in third.lines if len(line.get_xydata()) == 2)
    pm.plots.margin_histogram(fourth, ROWS, LABELS)
    assert "1 never change class" in fourth.get_xlabel()


def test_every_kind_of_standing_is_drawn() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    axes = pm.plots.robust_accuracy(Figure().add_subplot(), ROWS, LABELS)
    names = axes.get_legend_handles_labels()[1]
    assert names == ["proved", "numerical", "bracketed, lower bound", "open", "clean accuracy 75.0%"]


def test_counterexamples_of_images_and_of_tables() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    rng = np.random.default_rng(0)
    for size, shape in ((64, None), (12, (3, 2, 2)), (5, None)):
        points = rng.random((3, size))
        margins = [pm.Margin(1.0, 1.0, 1.0, points[i] + 0.1, 0, 1, Standing.NUMERICAL, "test", 0.0) for i in range(3)]
        axes = pm.plots.nearest_counterexamples(Figure().add_subplot(), points, margins, image_shape=shape)
        assert len(axes.images) == (1 if size == 5 else 9)
    empty = pm.plots.nearest_counterexamples(Figure().add_subplot(), points, [ROWS[6]] * 3)
    assert empty.texts[0].get_text() == "no counterexample is known"


def test_thumbnails_hold_the_pixels() -> None:
    image = pytest.importorskip("PIL.Image")
    from io import BytesIO

    values = np.linspace(0.0, 1.0, 12)
    grey = np.asarray(image.open(BytesIO(image_png(values, (3, 4), (0.0, 1.0)))))
    assert np.array_equal(grey, np.rint(255 * values.reshape(3, 4)))
    colour = np.asarray(image.open(BytesIO(image_png(values, (3, 2, 2), (0.0, 1.0)))))
    assert np.array_equal(colour[1, 0], np.rint(255 * values.reshape(3, 2, 2)[:, 1, 0]))
    change = np.asarray(image.open(BytesIO(difference_png([0.0, 0.5, -1.0, 0.0], (2, 2)))))
    assert change[..., 3].tolist() == [[0, 128], [255, 0]]
    assert change[0, 1, 0] > change[0, 1, 2]  # more is red
    assert change[1, 0, 0] < change[1, 0, 2]  # less is blue


def test_shapes_of_images() -> None:
    assert guessed_shape(64) == (8, 8)
    assert guessed_shape(49) is None
    assert pixels(np.arange(12.0), (2, 2, 3)).shape == (2, 2, 3)
    assert image_range([[0.0, 0.9]]) == (0.0, 1.0)
    assert image_range([[0.0, 250.0]]) == (0.0, 255.0)
    assert image_range([[-1.0, 2.0]]) == (-1.0, 2.0)
    for wrong in ((28, 27), (4, 7, 28), "28x28", (784,), (-28, -28)):
        with pytest.raises(pm.InputError, match="image shape"):
            checked_shape(wrong, 784)
