"""A plane through the space of conics: x₁² + 2s x₁x₂ + t x₂² + b·x + c = 0 over the plane of (s, t).

Δ_par = t − s² and Δ_sing = det M are curves in it, Δ_circ = (1 − t)² + 4s² vanishes at one point. On the curve t = s²,
det M = −(b₂ − s b₁)²/4: the two curves touch where b₂ = s b₁ (parallel lines) and never cross. Around the plane stand
examples: a conic, a point u and the real critical points of the distance from u, with the ED degree of the stratum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.enumeration import critical_points
from polymargin.errors import InputError
from polymargin.geometry import parameter_discriminant
from polymargin.plots.figure_file import from_matplotlib, new_figure

INK, PAPER, PARABOLAS, SINGULAR, CIRCLE = "#2b2b33", "#ffffff", "#2f6db5", "#c8363c", "#2a9d57"
CURVE, POINT, FOOT = "#8b3fa0", "#f28e1c", "#0f9aa8"
ELLIPSES, HYPERBOLAS, OTHER_HYPERBOLAS, EMPTY = "#e3edf9", "#fdf3d6", "#fbe6d8", "#f0f0f2"
SLICE = (-2.0, 2.0, -1.5, 3.0)


@dataclass(frozen=True)
class StrataExample:
    """The conic at (s, t), seen from `point`; `centre` and `half_width` frame its little picture."""

    s: Fraction
    t: Fraction
    point: tuple[float, float]
    centre: tuple[float, float] = (0.0, 0.0)
    half_width: float = 3.0


# The slice of the examples, which are read down the left side of the picture, then down the right side.
LINEAR, CONSTANT = (2.0, 1.0), -1.0
EXAMPLES = (
    StrataExample(Fraction(-3, 5), Fraction(12, 5), (-0.95, -0.6), (-1.32, -0.54), 2.2),
    StrataExample(Fraction(-3, 2), Fraction(6, 5), (-0.53, -0.47), (1.86, 1.9), 3.4),
    StrataExample(Fraction(-1), Fraction(-1, 8), (1.9, 0.4), (0.33, 1.33), 2.8),
    StrataExample(Fraction(-4, 5), Fraction(-1), (-0.75, -0.9), (-0.37, 0.79), 2.8),
    StrataExample(Fraction(0), Fraction(1), (-0.6, -0.1), (-1.0, -0.5), 2.0),
    StrataExample(Fraction(13, 10), Fraction(169, 100), (0.4, 2.4), (-1.0, 1.2), 2.7),
    StrataExample(Fraction(1, 2), Fraction(1, 4), (-0.5, -0.9), (-1.0, -0.5), 2.4),
    StrataExample(Fraction(4, 5), Fraction(-4, 5), (-0.2, -2.0), (-0.83, -0.21), 2.8),
)


def conic_strata(
    path: str | Path,
    *,
    linear: tuple[float, float] = LINEAR,
    constant: float = CONSTANT,
    examples: Sequence[StrataExample] = EXAMPLES,
    title: str = "",
) -> Path:
    """Draw the slice with b = `linear` and c = `constant`, and up to eight examples, into a .png or .svg file."""
    if not 1 <= len(examples) <= 8:
        raise InputError(f"{len(examples)} examples; the picture has room for 1 to 8")
    connection_class = from_matplotlib("patches.ConnectionPatch")
    colormap_class = from_matplotlib("colors.ListedColormap")
    figure = new_figure(figsize=(11.5, 8.2), layout="constrained")
    grid = figure.add_gridspec(4, 4, width_ratios=[1.15, 1.5, 1.5, 1.15])
    plane = figure.add_subplot(grid[:, 1:3])
    _draw_slice(plane, np.array(linear), constant, colormap_class)
    for number, example in enumerate(examples):
        left = number < 4
        axes = figure.add_subplot(grid[number % 4, 0 if left else 3])
        _draw_example(axes, example, linear, constant)
        place = (float(example.s), float(example.t))
        plane.plot(*place, "o", color="white", markeredgecolor=INK, markersize=6, zorder=5)
        plane.add_artist(
            connection_class(
                xyA=(1.0, 0.5) if left else (0.0, 0.5),
                coordsA=axes.transAxes,
                xyB=place,
                coordsB=plane.transData,
                color=INK,
                linewidth=0.8,
                alpha=0.7,
                shrinkB=4,
                clip_on=False,
                zorder=2.2,  # below the numbers of the axis
            )
        )
    figure.suptitle(title or "Strata of plane conics: x₁² + 2s x₁x₂ + t x₂² + b·x + c = 0", color=INK)
    figure.savefig(path, dpi=160)
    return Path(path)


def slice_discriminants(s: Any, t: Any, linear: NDArray[np.float64], constant: float) -> tuple[Any, Any, Any]:
    """Return (Δ_sing, Δ_par, Δ_circ) on the slice A = [[1, s], [s, t]]."""
    first, second = linear / 2
    parabolic = t - s**2
    singular = constant * parabolic - (second**2 - 2 * s * first * second + t * first**2)
    return singular, parabolic, (1 - t) ** 2 + 4 * s**2


def _draw_slice(axes: Any, linear: NDArray[np.float64], constant: float, colormap_class: Any) -> None:
    low, high, bottom, top = SLICE
    s, t = np.meshgrid(np.linspace(low, high, 801), np.linspace(bottom, top, 901))
    singular, parabolic, _ = slice_discriminants(s, t, linear, constant)
    kinds = np.where(parabolic > 0, np.where(singular > 0, 3, 0), np.where(singular > 0, 1, 2))
    colours = [ELLIPSES, HYPERBOLAS, OTHER_HYPERBOLAS, EMPTY]
    # Antialiasing would leave a hairline of the wrong colour along the curves.
    axes.pcolormesh(s, t, kinds, cmap=colormap_class(colours), vmin=0, vmax=3, shading="nearest", rasterized=True)
    _name_regions(axes, s, t, kinds)
    axes.contour(s, t, singular, levels=[0.0], colors=SINGULAR, linewidths=2.2)
    axes.contour(s, t, parabolic, levels=[0.0], colors=PARABOLAS, linewidths=2.2)
    axes.plot(0.0, 1.0, "o", color=CIRCLE, markersize=13, zorder=4)
    for colour, label in (
        (PARABOLAS, r"$\Delta_{\mathrm{par}} = 0$   parabolas"),
        (SINGULAR, r"$\Delta_{\mathrm{sing}} = 0$   singular conics"),
    ):
        axes.plot([], [], color=colour, linewidth=2.2, label=label)
    axes.plot([], [], "o", color=CIRCLE, markersize=9, label=r"$\Delta_{\mathrm{circ}} = 0$   circles")
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.07), ncols=3, frameon=False, fontsize=9.5, columnspacing=1.4
    )
    axes.set(xlim=(low, high), ylim=(bottom, top), xlabel="s", ylabel="t")
    axes.set_title(f"b = ({linear[0]:g}, {linear[1]:g}),  c = {constant:g}", fontsize=10, color=INK)
    axes.tick_params(colors=INK, labelsize=9)
    axes.set_axisbelow(False)
    for label in axes.get_yticklabels():
        label.set_bbox({"facecolor": PAPER, "edgecolor": "none", "pad": 1.0})


def _name_regions(axes: Any, s: NDArray[np.float64], t: NDArray[np.float64], kinds: NDArray[np.int64]) -> None:
    """Return the name of each open region near its top or bottom edge, where there is room."""
    for kind, text, top in (
        (0, "ellipses", True),
        (1, "hyperbolas", False),
        (2, "hyperbolas", False),
        (3, "no real point", True),
    ):
        line = -60 if top else 60
        inside = kinds[line] == kind
        if inside.sum() > 150:
            place = (s[line][inside].mean(), t[line, 0])
            axes.text(*place, f"{text}: ED degree 4", ha="center", va="center", color=INK, fontsize=10, alpha=0.75)


def _draw_example(axes: Any, example: StrataExample, linear: tuple[float, float], constant: float) -> None:
    boundary = example_boundary(example, linear, constant)
    found = critical_points(boundary, example.point)
    stratum = parameter_discriminant(boundary)
    regular = found.real & np.isfinite(found.multipliers)
    feet = found.points[regular].real
    x, y = (np.linspace(middle - example.half_width, middle + example.half_width, 400) for middle in example.centre)
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    axes.contour(
        x, y, np.asarray(boundary(grid.reshape(-1, 2))).reshape(400, 400), levels=[0.0], colors=CURVE, linewidths=1.8
    )
    for foot in feet:
        axes.plot(*np.stack([example.point, foot]).T, color=FOOT, linewidth=1.1, zorder=3)
    axes.plot(*feet.T, "o", color=FOOT, markersize=4.5, zorder=4)
    axes.plot(*example.point, "o", color=POINT, markersize=6.5, markeredgecolor="white", zorder=5)
    axes.set_title(f"{stratum.name}\nED degree {stratum.ed_degree}, {len(feet)} real", fontsize=9, color=INK)
    axes.set(aspect="equal", xticks=[], yticks=[], xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    for side in axes.spines.values():
        side.set(color=INK, alpha=0.35)


def example_boundary(
    example: StrataExample, linear: tuple[float, float] = LINEAR, constant: float = CONSTANT
) -> Boundary:
    """Return the conic of an example, with exact coefficients."""
    first, second = (Fraction(entry) for entry in linear)
    text = f"x**2 + 2*({example.s})*x*y + ({example.t})*y**2 + ({first})*x + ({second})*y + ({Fraction(constant)})"
    return Boundary.from_expression(text, variables="x y")
