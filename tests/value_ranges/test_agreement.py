"""Agreement of two networks against grids and Fractions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from polymargin.errors import InputError
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.side_by_side import difference
from polymargin.networks.stages import RELU, Piecewise, Polynomial
from polymargin.standing import Standing
from polymargin.value_ranges import agree
from polymargin_checker import check
from tests.checker.stage_files import model_file
from tests.relaxation.test_search import network_of


@pytest.mark.parametrize(
    ("first", "second"), [("square-square", "relu"), ("product", "cubic"), ("relu-relu", "square")]
)
def test_the_difference_is_exact(first: str, second: str) -> None:
    f, g = network_of(first, 1), network_of(second, 2)
    both = difference(f, g)
    for x in np.random.default_rng(0).normal(size=(5, 3)):
        expected = [a - b for a, b in zip(f.exact_logits(x), g.exact_logits(x), strict=True)]
        assert both.exact_logits(x) == expected


def relu_and_polynomial() -> tuple[Network, Network]:
    """A ReLU network, and the same with 0.1 + 0.5 z + 0.3 z² in place of ReLU."""
    draw = np.random.default_rng(3)
    forms = Forms.of(draw.normal(size=(4, 2)), draw.normal(size=4))
    readout = Forms((2, 4), ((1, draw.normal(size=(3, 4))),), np.zeros(3))
    return Network([Piecewise(forms, *RELU)], readout), Network([Polynomial(forms, (0.1, 0.5, 0.3))], readout)


def test_radius_and_difference_against_a_grid() -> None:
    f, g = relu_and_polynomial()
    points = np.random.default_rng(0).uniform(-1, 1, size=(4, 2))
    rows = agree(f, g, points, timeout=30)
    agreed = 0
    for u, row in zip(points, rows, strict=True):
        assert row.labels == (f.predict(u), g.predict(u))
        if row.labels[0] != row.labels[1]:
            assert row.lower == row.upper == 0
            continue
        agreed += 1
        assert row.standing is Standing.CERTIFIED
        steps = np.array(list(product(np.linspace(-1, 1, 61), repeat=2)))
        inside = u + 0.9999 * row.radius * steps[np.linalg.norm(steps, axis=1) <= 1]
        assert (f.predict(inside) == row.labels[0]).all()
        assert (g.predict(inside) == row.labels[0]).all()
        gaps = f(inside) - g(inside)
        assert row.difference is not None
        assert (row.difference.lower <= gaps.min(axis=0)).all()
        assert (row.difference.upper >= gaps.max(axis=0)).all()
        for network, certificate in zip((f, g), row.certificates, strict=True):
            assert certificate is not None
            assert float.fromhex(certificate.claim["lower"]) >= row.lower
            assert check(model_file(network), certificate.to_bytes()).accepted
        assert row.disagreement is not None
        classes = [
            exact.index(max(exact)) for exact in (f.exact_logits(row.disagreement), g.exact_logits(row.disagreement))
        ]
        assert classes[0] != classes[1]
        assert row.lower <= row.distance == pytest.approx(np.linalg.norm(row.disagreement - u))
        assert row.distance <= 1.3 * max(row.upper, 1e-9)
        assert row.largest_difference <= 1.5 * np.abs(gaps).max() + 1e-6
    assert agreed


def test_other_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="same inputs and classes"):
        agree(network_of("square", 1), network_of("square", 1, n=2), [[0.0, 0.0, 0.0]])
    with pytest.raises(InputError, match="expected a network"):
        agree(network_of("square", 1), "model.onnx", [[0.0, 0.0, 0.0]])  # type: ignore[arg-type]
