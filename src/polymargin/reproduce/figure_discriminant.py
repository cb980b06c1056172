"""The discriminant figure: a hyperbola from a network (2, 2, 2), its ED discriminant, and the regions with two and four.

Two methods that share nothing meet in it: the curve is the exact polynomial D, the regions are counts of real critical points by
continuation, and the printed D is compared coefficient by coefficient.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from polymargin.boundary import Boundary
from polymargin.enumeration import CriticalPoints, critical_points
from polymargin.geometry import Chambers, Plane, chambers
from polymargin.geometry.discriminants.ed_discriminant import ed_discriminant
from polymargin.geometry.discriminants.result import EDDiscriminant
from polymargin.networks import Network, PolynomialNetwork
from polymargin.plots.evolute import draw_evolute
from polymargin.reproduce.report_items import Comparison, Reproduced

WINDOW = (-5.0, 5.0, -5.0, 5.0)
# Coefficients of the printed D by the exponents of u₁ and u₂.
PRINTED = {
    (6, 0): 27, (5, 1): 54, (4, 2): -180, (3, 3): -280, (2, 4): 480, (1, 5): 384, (0, 6): -512, (5, 0): 54,
    (4, 1): 180, (3, 2): -120, (2, 3): -720, (0, 5): 768, (4, 0): -126, (3, 1): 582, (2, 2): -2409, (1, 3): -402,
    (0, 4): -1371, (3, 0): -334, (2, 1): 1566, (1, 2): -1878, (0, 3): 808, (2, 0): -132, (1, 1): 1152, (0, 2): -1218,
    (1, 0): -12, (0, 1): 516, (0, 0): -152,
}  # fmt: skip
# Data points that the text speaks of, with the number of distinct real critical points it gives them.
PLACES = {(0, 0): 2, (10, 0): 4, (-10, 0): 4, (-2, 0): 3}
LABELS = {(-4.0, 0.0): "4", (0.0, 2.6): "2", (4.0, 0.0): "4"}
MARKED = (-2, 0)


def figure_discriminant(directory: Path, *, samples: int = 15_000, threads: int | None = None) -> Reproduced:
    """Compute D, count around it, compare with the text, draw."""
    network = example_network()
    boundary = Boundary.from_network(network, 0, 1)
    discriminant = ed_discriminant(boundary)
    regions = chambers(boundary, Plane.of_two_inputs(WINDOW), samples, threads=threads)
    directory.mkdir(parents=True, exist_ok=True)
    files = [
        draw_evolute(
            boundary,
            discriminant,
            regions,
            directory / f"figure-discriminant.{kind}",
            labels=LABELS,
            marked=MARKED,
        )
        for kind in ("png", "svg")
    ]
    terms = directory / "figure-discriminant.csv"
    ours = coefficients(discriminant)
    lines = [f"{i},{j},{PRINTED.get((i, j), 0)},{ours.get((i, j), 0)}" for i, j in sorted(PRINTED.keys() | ours.keys())]
    terms.write_text("\n".join(["power of u1,power of u2,printed,ours", *lines]) + "\n", encoding="utf-8")
    found = {place: critical_points(boundary, place) for place in PLACES}
    rows = [
        Comparison.of("ED degree", 4, regions.total),
        Comparison.of("degree of D", 6, discriminant.degree),
        polynomial_row(ours),
        *(
            Comparison.of(f"distinct real critical points from {place}", number, int(found[place].real.sum()))
            for place, number in PLACES.items()
        ),
        _double_point_row(found[MARKED]),
        Comparison.of("D at (−2, 0)", 0, discriminant.at(MARKED)[0]),
        _sign_row(discriminant, regions),
    ]
    shares = ", ".join(f"{number} on {100 * share:.1f} %" for number, share in regions.shares().items())
    note = (
        f"Real critical points over [−5, 5]² by continuation: {shares} of the area; the sign of D is taken without rounding. "
        f"{int((regions.counts < 0).sum())} samples lie too near the curve to count."
    )
    return Reproduced((*files, terms), tuple(rows), (note,))


def example_network() -> Network:
    """Return W₁, b₁, W₂, b₂ of the example."""
    return PolynomialNetwork([([[1, 2], [3, 1]], [0, 1]), ([[2, 1], [1, 2]], [2, 1])], degree=2)


def coefficients(discriminant: EDDiscriminant) -> dict[tuple[int, int], int]:
    """Return the coefficients of D, with the sign of its first term as printed."""
    terms = {(int(i), int(j)): int(c) for (i, j), c in discriminant.polynomial.to_dict().items()}
    sign = 1 if terms.get((6, 0), 1) > 0 else -1
    return {exponents: sign * number for exponents, number in terms.items()}


def polynomial_row(ours: dict[tuple[int, int], int]) -> Comparison:
    """Compare the coefficients of D with the printed ones."""
    different = sorted((e for e in PRINTED.keys() | ours.keys() if PRINTED.get(e, 0) != ours.get(e, 0)), reverse=True)
    text = (
        "the same 27 coefficients"
        if not different
        else f"different at {len(different)} terms: "
        + ", ".join(
            f"u₁^{i} u₂^{j}: printed {PRINTED.get((i, j), 0)}, ours {ours.get((i, j), 0)}" for i, j in different
        )
    )
    return Comparison("D(u₁, u₂)", "27 u₁⁶ + 54 u₁⁵u₂ − … − 152", text, not different)


def _double_point_row(found: CriticalPoints) -> Comparison:
    double = found.points[found.multiplicities == 2]
    ours = "; ".join(f"({p[0].real:.6f}, {p[1].real:.6f})" for p in double) or "none"
    agrees = len(double) == 1 and bool(np.allclose(double[0], [-0.8, 0.4], atol=1e-6))
    return Comparison("double critical point from (−2, 0)", "(−4/5, 2/5)", ours, agrees)


def _sign_row(discriminant: EDDiscriminant, regions: Chambers) -> Comparison:
    """Compare the sign of D by algebra with the numbers of real critical points by continuation."""
    known = regions.counts >= 0
    right = sum(
        (discriminant.sign(place) > 0) == (count == 4)
        for place, count in zip(regions.places[known].tolist(), regions.counts[known].tolist(), strict=True)
    )
    total = int(known.sum())
    return Comparison("samples with D > 0 if and only if four are real", "all", f"{right} of {total}", right == total)
