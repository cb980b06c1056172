"""Dimensions of sets of boundary polynomials, against theorems on ranks and sums of powers."""

from __future__ import annotations

from math import comb

import pytest

from polymargin.boundary import AttentionArchitecture, NetworkArchitecture
from polymargin.errors import InputError
from polymargin.geometry import parameterisation


@pytest.mark.parametrize(("n", "h"), [(2, 1), (3, 2), (4, 2), (4, 3), (5, 3)])
def test_shallow_squares_are_quadrics_of_bounded_rank(n: int, h: int) -> None:
    """Σ a_j (w_j·x + b_j)² + c: symmetric (n+1)-matrices of rank ≤ h, plus the constant, which completes the square or is new."""
    rank_locus = h * (n + 1) - h * (h - 1) // 2
    assert parameterisation(NetworkArchitecture((n, h, 2), 2)).dimension == rank_locus + 1


@pytest.mark.parametrize(("n", "degree"), [(1, 3), (2, 3), (2, 4), (3, 3)])
def test_enough_neurons_fill_the_space(n: int, degree: int) -> None:
    ambient = comb(n + degree, n)
    found = parameterisation(NetworkArchitecture((n, ambient, 2), degree))
    assert found.fills
    assert found.dimension == ambient == found.expected


def test_the_defective_sum_of_powers() -> None:
    """Sums of five fourth powers of forms in three variables fill a hypersurface only (Alexander–Hirschowitz); the constant
    term of B is one of the coefficients, so it does not add a dimension to what is inhomogeneous here."""
    found = parameterisation(NetworkArchitecture((2, 5, 2), 4))
    assert found.dimension <= 15
    homogeneous = 14  # of 15: the defective secant variety
    assert found.dimension == homogeneous + 1  # the free constant leaves the hypersurface


def test_a_last_layer_of_squares_can_be_rotated() -> None:
    for widths in [(3, 3, 2, 2), (4, 4, 3, 2)]:
        found = parameterisation(NetworkArchitecture(widths, 2))
        rotations = widths[-2] * (widths[-2] - 1) // 2
        assert found.dimension == found.weights - found.scalings - rotations
        assert found.defective
        assert not found.identifiable


def test_cubic_activations_are_identifiable() -> None:
    found = parameterisation(NetworkArchitecture((3, 3, 2, 2), 3))
    assert found.identifiable
    assert not found.defective


def test_attention_has_the_symmetries_of_its_factors() -> None:
    for sizes in [(2, 2, 1, 1), (2, 2, 2, 2), (3, 3, 2, 2)]:
        assert parameterisation(AttentionArchitecture(*sizes)).identifiable


def test_the_rank_does_not_depend_on_the_seed() -> None:
    architecture = NetworkArchitecture((3, 3, 2, 2), 2)
    assert len({parameterisation(architecture, seed=seed).dimension for seed in range(3)}) == 1


def test_too_many_weights_are_refused() -> None:
    with pytest.raises(InputError, match="at most"):
        parameterisation(NetworkArchitecture((60, 60, 2), 2))
