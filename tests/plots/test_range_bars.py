"""Bars of ranges show the numbers they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from polymargin.plots.figure_file import new_figure
from polymargin.plots.range_bars import range_bars
from polymargin.value_ranges import ranges
from tests.relaxation.test_search import network_of

pytest.importorskip("matplotlib")


def test_bars_are_the_ranges() -> None:
    network = network_of("square-square", 3, n=2, h=3)
    found = ranges(network, np.random.default_rng(0).uniform(size=(20, 2)), domain=(0, 1))
    axes = range_bars(new_figure().subplots(), found)
    proved, seen, observed = axes.containers
    assert len(proved) == len(seen) == len(observed) == 3
    for bar, layer in zip(proved, found.layers, strict=True):
        assert (bar.get_x(), bar.get_x() + bar.get_width()) == pytest.approx(layer.interval)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["layer 0", "layer 1", "logits"]
    neurons = range_bars(new_figure().subplots(), found, layer="layer 1").containers[0]
    ends = sorted(bar.get_x() for bar in neurons)
    assert ends == pytest.approx(sorted(found["layer 1"].lower))
