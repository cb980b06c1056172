"""Balls in boxes against linear programs, and against the conditions for lowest and nearest points of convex sets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from polymargin.regions import Norm
from polymargin.relaxation.balls import NormBall

BOXES = ["none", "around", "one sided", "aside"]


def random_ball(norm: Norm, box: str, draw: np.random.Generator, size: int = 6) -> NormBall:
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    if box != "none":
        low, high = -draw.uniform(0.05, 1.0, size), draw.uniform(0.05, 1.0, size)
    if box == "one sided":
        low[:2], high[2:4] = -np.inf, 0.0
    if box == "aside":  # as the part of a box that was cut
        low[0], high[1] = 0.02, -0.03
    return NormBall(norm, low, high)


def least(ball: NormBall, slope: np.ndarray, radius: float | None = None, drop: float | None = None) -> float:
    """min g·δ within the radius, or the least length with g·δ ≤ −drop; δ = p − n, and a bound t for L∞."""
    size = len(slope)
    ends = [(0, max(h, 0.0) if np.isfinite(h) else None) for h in ball.high]
    ends += [(0, max(-low, 0.0) if np.isfinite(low) else None) for low in ball.low]
    rows, limits = [np.r_[np.eye(size)[i], -np.eye(size)[i], 0.0] for i in range(size)], list(ball.high)
    rows += [-row for row in rows]
    limits += list(-ball.low)
    if ball.norm is Norm.L1:
        rows.append(np.r_[np.ones(2 * size), -1.0])
        limits.append(0.0)
    else:
        for i in range(size):
            row = np.eye(size)[i]
            rows.append(np.r_[row, row, -1.0])
            limits.append(0.0)
    if drop is not None:
        rows.append(np.r_[slope, -slope, 0.0])
        limits.append(-drop)
    finite = np.isfinite(limits)
    cost = np.r_[slope, -slope, 0.0] if drop is None else np.eye(2 * size + 1)[-1]
    found = linprog(cost, np.array(rows)[finite], np.array(limits)[finite], bounds=[*ends, (0, radius)])
    return float(found.fun) if found.status == 0 else np.inf


@pytest.mark.parametrize("norm", [Norm.L1, Norm.LINF])
@pytest.mark.parametrize("box", BOXES)
def test_against_linear_programs(norm: Norm, box: str) -> None:
    draw = np.random.default_rng([len(box), norm is Norm.L1])
    for _ in range(10):
        ball = random_ball(norm, box, draw)
        slopes, radii, drops = draw.normal(size=(3, 6)), draw.uniform(0.3, 2.0, 3), draw.uniform(0.1, 1.0, 3)
        lowest, shortest = ball.lowest(slopes, radii), ball.shortest(slopes, drops)
        for k in range(3):
            assert ball.lengths(lowest[k]) <= radii[k] * (1 + 1e-12)
            assert (ball.clipped(lowest[k]) == lowest[k]).all()
            assert (ball.clipped(shortest[k]) == shortest[k]).all()
            assert slopes[k] @ lowest[k] == pytest.approx(least(ball, slopes[k], radius=radii[k]), abs=1e-9)
            expected = least(ball, slopes[k], drop=drops[k])
            if np.isfinite(expected):
                assert slopes[k] @ shortest[k] <= -drops[k] + 1e-9
                assert ball.lengths(shortest[k]) == pytest.approx(expected, abs=1e-9)
            else:  # as far as the box goes
                assert slopes[k] @ shortest[k] == pytest.approx(least(ball, slopes[k], radius=1e6), abs=1e-9)


@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("box", BOXES)
def test_nothing_within_is_lower_or_nearer(norm: Norm, box: str) -> None:
    """P is the projection of x iff (x − P)·(y − P) ≤ 0 for all y; l is lowest iff g·(y − l) ≥ 0 for all y."""
    draw = np.random.default_rng([len(box), len(norm.value)])
    for _ in range(10):
        ball = random_ball(norm, box, draw)
        slopes, steps, radii = draw.normal(size=(4, 6)), 2 * draw.normal(size=(4, 6)), draw.uniform(0.3, 3.0, 4)
        lowest, projected = ball.lowest(slopes, radii), ball.projected(steps, radii)
        assert (ball.lengths(projected) <= radii * (1 + 1e-12)).all()
        assert (ball.clipped(projected) == projected).all()
        others = [ball.lowest(draw.normal(size=(4, 6)), radii) for _ in range(300)]  # extreme points
        for other in [*others, *(projected + 1e-3 * (other - projected) for other in others)]:
            assert (((steps - projected) * (other - projected)).sum(axis=1) <= 1e-9).all()
            assert ((slopes * (other - lowest)).sum(axis=1) >= -1e-9).all()


@pytest.mark.parametrize("box", BOXES)
def test_shortest_steps_of_euclidean_length(box: str) -> None:
    """g·δ = −c, and among extreme points that reach it none is shorter: δ is along −g but where the box stops it."""
    draw = np.random.default_rng(len(box))
    for _ in range(20):
        ball = random_ball(Norm.L2, box, draw)
        slopes, drops = draw.normal(size=(1, 6)), draw.uniform(0.1, 0.6, 1)
        (step,) = ball.shortest(slopes, drops)
        most = float((-slopes * np.where(slopes > 0, ball.low, ball.high)).sum())
        if most <= drops[0]:
            assert -slopes[0] @ step == pytest.approx(most)
            continue
        assert slopes[0] @ step == pytest.approx(-drops[0])
        free = (step > ball.low + 1e-12) & (step < ball.high - 1e-12)
        times = -step[free] / slopes[0][free]
        np.testing.assert_allclose(times, times[0], rtol=1e-9)
        assert times[0] >= 0
        pushed = -times[0] * slopes[0]
        np.testing.assert_allclose(np.clip(pushed, ball.low, ball.high), step)
