"""Pictures of expected numbers of real critical points: where they lie, how they grow, architectures beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from polymargin.errors import InputError
from polymargin.expected import (
    Growth,
    ShallowKernel,
    expected_real_critical_points,
    joint_density,
    leading_constant,
    location_density,
)
from polymargin.plots.figure_file import legend_below, new_figure

BLUE, RED, GREEN, GREY = "#4c78a8", "#e45756", "#54a24b", "#8c8c8c"


@dataclass(frozen=True, eq=False)
class Bar:
    """One architecture in `architecture_counts`: mean and interval of its real critical points, and the complex number."""

    name: str
    kind: str
    mean: float
    interval: tuple[float, float]
    complex_count: int


def critical_point_densities(degree: int, point: ArrayLike, path: str | Path) -> Path:
    """Draw the density over (x, λ) in one variable, and over the plane in two with λ integrated out.

    `point` has two coordinates; the left picture uses the first one. Both are of the normalised field.
    """
    u = np.asarray(point, dtype=np.float64)
    if u.shape != (2,):
        raise InputError(f"point {point!r}: expected two coordinates")
    figure = new_figure(figsize=(9.6, 4.2), layout="constrained")
    from matplotlib.colors import PowerNorm

    line, plane = figure.subplots(1, 2)
    # Even numbers of nodes keep the grids off x = u and λ = 0, where nothing is defined.
    x, multiplier = np.meshgrid(u[0] + np.linspace(-4, 4, 240), np.linspace(-4, 4, 240))
    joint = joint_density(ShallowKernel(1, degree), x.reshape(-1, 1), multiplier.ravel(), u[:1]).reshape(x.shape)
    shades = PowerNorm(0.5, vmin=0.0, vmax=float(np.quantile(joint, 0.995)))  # the square root, to see the flanks
    shown = line.pcolormesh(x, multiplier, joint, norm=shades, rasterized=True)
    line.set(xlabel="x", ylabel="λ", title=f"one input, degree {degree}: density of (x, λ)")
    figure.colorbar(shown, ax=line, fraction=0.046, pad=0.03)
    x, y = np.meshgrid(u[0] + np.linspace(-4, 4, 200), u[1] + np.linspace(-4, 4, 200))
    density = location_density(ShallowKernel(2, degree), np.column_stack([x.ravel(), y.ravel()]), u).reshape(x.shape)
    shades = PowerNorm(0.5, vmin=0.0, vmax=float(np.quantile(density, 0.999)))
    shown = plane.pcolormesh(x, y, density, norm=shades, rasterized=True)
    plane.plot(*u, "x", color="white", markersize=7)
    total = expected_real_critical_points(2, degree, u)
    plane.set(xlabel="x₁", ylabel="x₂", aspect="equal", title=f"two inputs: density of x, total {total.value:.3f}")
    figure.colorbar(shown, ax=plane, fraction=0.046, pad=0.03)
    figure.savefig(path, dpi=140)
    return Path(path)


def growth_with_degree(growths: Sequence[Growth], path: str | Path) -> Path:
    """Draw expected and complex numbers against the degree, and E/√(complex number) with its limit."""
    if not growths:
        raise InputError("no growth to draw; give at least one")
    figure = new_figure(figsize=(9.6, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for found, colour in zip(growths, (BLUE, RED, GREEN), strict=False):
        n = found.dimension
        left.loglog(found.degrees, found.values, "o-", color=colour, markersize=3.5, label=f"n = {n}: real")
        left.loglog(found.degrees, found.complex_counts, ":", color=colour, label=f"n = {n}: complex")
        right.semilogx(found.degrees, found.ratios, "o-", color=colour, markersize=3.5, label=f"n = {n}")
        right.axhline(leading_constant(n), color=colour, linestyle="--", linewidth=1)
    for axes in (left, right):
        shown = found.degrees[:: max(1, len(found.degrees) // 8)]
        axes.set_xticks(shown, [f"{degree:g}" for degree in shown])
        axes.minorticks_off()
    left.set(xlabel="degree d", ylabel="critical points", title="real: the expected number")
    legend_below(left, 3)
    right.set(xlabel="degree d", ylabel="E(real) / √complex", ylim=(0, None), title="dashed: limits for d → ∞")
    legend_below(right, 3)
    figure.savefig(path, dpi=140)
    return Path(path)


def architecture_counts(bars: Sequence[Bar], path: str | Path) -> Path:
    """Draw mean real counts with 95 % intervals, one row per architecture, beside their complex counts."""
    if not bars:
        raise InputError("no architectures to draw; give at least one")
    kinds = list(dict.fromkeys(bar.kind for bar in bars))
    colours = dict(zip(kinds, (BLUE, RED, GREEN, GREY), strict=False))
    figure = new_figure(figsize=(8.6, 0.8 + 0.3 * len(bars)), layout="constrained")
    axes = figure.add_subplot()
    for row, bar in enumerate(bars):
        low, high = bar.interval
        colour = colours[bar.kind]
        axes.errorbar(bar.mean, row, xerr=[[bar.mean - low], [high - bar.mean]], fmt="o", color=colour, capsize=3)
        axes.plot(bar.complex_count, row, "|", color=colour, markersize=11, markeredgewidth=2)
        axes.plot(np.sqrt(bar.complex_count), row, "x", color=GREY, markersize=5)
    for kind in kinds:
        axes.plot([], [], "o", color=colours[kind], label=kind)
    axes.plot([], [], "|", color="black", markersize=11, markeredgewidth=2, label="complex")
    axes.plot([], [], "x", color=GREY, label="√complex")
    axes.set_xscale("log")
    ticks = [tick for tick in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500) if tick <= 2 * max(b.complex_count for b in bars)]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlim(1, None)
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("critical points: mean real number with 95 % interval, and complex number")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=140)
    return Path(path)
