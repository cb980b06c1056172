"""Products of matrices of doubles enclose the exact ones, whatever the exponents; truth: rational arithmetic."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polymargin as pm
from polymargin_checker.checker import check
from polymargin_checker.floats import Floats


def drawn(generator: np.random.Generator, shape: tuple[int, int], low: int, high: int) -> Any:
    return np.ldexp(generator.uniform(-1, 1, size=shape), generator.integers(low, high, size=shape))


def distances(left: Any, right: Any, found: Floats) -> list[tuple[Fraction, Fraction]]:
    """How far the exact entries are from the middles, and how far they may be."""
    result = []
    for i in range(left.shape[0]):
        for j in range(right.shape[1]):
            exact = sum(
                (Fraction(a) * Fraction(b) for a, b in zip(left[i].tolist(), right[:, j].tolist(), strict=True)),
                Fraction(0),
            )
            result.append((abs(exact - Fraction(found.middle[i, j])), Fraction(found.radius[i, j])))
    return result


@pytest.mark.parametrize(("low", "high"), [(900, 1000), (-1074, -960), (-60, 60), (-1074, 0)])
def test_factors_of_any_size(low: int, high: int) -> None:
    """A rounding error of 2⁻⁵³ of a small factor vanishes; the other factor may be as large as a double can be."""
    generator = np.random.default_rng([low % 5000, high % 5000])
    for _ in range(60):
        base = int(generator.integers(-1074, min(0, 1000 - high)))
        left, right = drawn(generator, (2, 5), low, high), drawn(generator, (5, 2), base, base + 4)
        for one, other in ((left, right), (right.T, left.T)):
            found = Floats(one, np.zeros_like(one)) @ Floats(other, np.zeros_like(other))
            assert all(distance <= radius for distance, radius in distances(one, other, found))


def test_a_sum_that_overflows_says_nothing() -> None:
    with np.errstate(all="ignore"):
        found = Floats(np.full((1, 3), 2.0**1000), np.zeros((1, 3))) @ Floats(
            np.array([[2.0**23], [2.0**23], [-(2.0**24)]]), np.zeros((3, 1))
        )
    assert found.radius[0, 0] == np.inf


def test_a_network_of_huge_weights_at_a_tiny_point(tmp_path: Path) -> None:
    """2¹⁰⁰⁰ (x_0 + 0.9·2⁻⁵³ x_1 − x_63) at x of 2⁻¹⁰⁴⁰: doubles lose the second term, which decides at 3/4 of the radius."""
    size, small = 64, 2.0**-1040
    first = np.zeros((1, size))
    first[0, [0, 1, 63]] = 2.0**1000, 2.0**1000 * 0.9 * 2.0**-53, -(2.0**1000)
    shift = 2.0**-40 * 0.9 * 2.0**-53 * 0.75
    model, certificate = tmp_path / "model.npz", tmp_path / "certificate.json"
    network = pm.PolynomialNetwork([first, ([[-1.0], [0.0]], [shift, 0.0])], activations=[0.0, 1.0])
    network.save(model)
    point = [small if i in (0, 63) else 0.0 for i in range(size)]

    def document(radius: float) -> dict[str, Any]:
        proof = {"kind": "region", "radius": radius.hex(), "tree": {"linear": "middle"}}
        return {
            "format": "polymargin-certificate-1",
            "model": {"sha256": network.fingerprint},
            "point": [value.hex() for value in point],
            "label": 0,
            "claim": {"kind": "robust", "radius": radius.hex()},
            "neighbourhood": {
                "norm": "linf",
                "weights": None,
                "low": [(0.0).hex()] * size,
                "high": [(1.0).hex()] * size,
                "movable": [1],
                "rivals": None,
                "abstain": (0.0).hex(),
            },
            "rivals": [{"rival": 1, "lower": radius.hex(), "proof": proof}],
            "upper": None,
        }

    certificate.write_text(json.dumps(document(small)))
    assert "ranges do not prove" in check(str(model), str(certificate)).reason
    certificate.write_text(json.dumps(document(small / 2)))
    assert check(str(model), str(certificate), exact=True).accepted
