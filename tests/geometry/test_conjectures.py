"""The conjectured formula against theorems, the printed table and Gröbner bases."""

from __future__ import annotations

import pytest
from geometry.algebra.engines_here import needs_msolve

from polymargin.boundary import NetworkArchitecture
from polymargin.geometry import formula
from polymargin.geometry.algebra.counting import exact_ed_degree
from polymargin.geometry.ed_degrees.conjectures import conjectured_ed_degree
from polymargin.reproduce.ed_degree_tables import table1_rows


def test_it_contains_the_theorems() -> None:
    for widths, degree in [
        ((3, 5, 2), 4),
        ((5, 2, 2), 3),
        ((3, 4, 3, 2), 2),
        ((9, 2, 3, 2, 2), 3),
        ((4, 4, 1, 1, 2), 2),
        ((2, 3, 1, 2), 5),
    ]:
        architecture = NetworkArchitecture(widths, degree)
        assert conjectured_ed_degree(architecture) == int(formula(architecture))


def test_it_gives_every_printed_value() -> None:
    for architecture, printed in table1_rows():
        assert conjectured_ed_degree(architecture) == printed


@pytest.mark.parametrize(
    ("widths", "degree"),
    [((4, 3, 2, 2), 2), ((4, 4, 2, 3, 2), 2), ((3, 3, 2, 1, 2, 2), 2), ((6, 6, 2, 2), 2), ((2, 2, 1, 2, 2), 3)],
)
@needs_msolve
def test_gröbner_bases_agree(widths: tuple[int, ...], degree: int) -> None:
    architecture = NetworkArchitecture(widths, degree)
    assert conjectured_ed_degree(architecture) == exact_ed_degree(architecture).value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("widths", "degree"), [((3, 3, 2, 2), 4), ((4, 4, 2, 2), 3), ((4, 4, 3, 2, 2), 2), ((3, 3, 2, 2, 2, 2), 2)]
)
def test_larger_ones_agree(widths: tuple[int, ...], degree: int) -> None:
    architecture = NetworkArchitecture(widths, degree)
    assert conjectured_ed_degree(architecture) == exact_ed_degree(architecture).value
