"""Exclusion proofs for deep networks with activation x², by hand: tangents, chords and exact first-layer parabolas."""

from __future__ import annotations

from typing import Any

import numpy as np
from checker.certificate_makers import Json, ball_value, hexes

import polymargin as pm


def deep_bound(
    net: pm.Network, u: Any, r: float, ranges: list[Any], gamma: Any, constant: float, layer: int
) -> tuple[float, Json]:
    """γ₀ + Σ γ_i aˡ_i > value on the ball; `ranges` are (low, high) of layers 2, 3, …"""
    slopes = []
    for deep in range(layer, 1, -1):
        low, high = ranges[deep - 2]
        middle = (low + high) / 2
        slope = np.where(gamma > 0, 2 * gamma * middle, gamma * (low + high))
        offset = np.where(gamma > 0, -gamma * middle**2, -gamma * low * high)
        offset = offset - 1e-10 * (1 + np.abs(gamma) * np.maximum(low**2, high**2))
        slopes.append([hexes(pair) for pair in zip(slope, offset, strict=True)])
        affine = net.chain.layers[deep - 1]
        constant = constant + float(offset.sum() + slope @ affine.bias)
        gamma = slope @ affine.weights
    first = net.chain.layers[0]
    s = first.weights @ u + first.bias
    c = gamma * s**2 - 1e-10 * (1 + np.abs(gamma) * s**2)
    value, multiplier = ball_value(first.weights, gamma, 2 * gamma * s, constant + float(c.sum()), r)
    quadratics = [hexes(row) for row in zip(gamma, 2 * gamma * s, c, strict=True)]
    return value, {"slopes": slopes, "quadratics": quadratics, "multiplier": multiplier.hex()}


def deep_leaf(net: pm.Network, u: Any, r: float, label: int, rival: int, intervals_only: bool = False) -> Json:
    """One leaf for the whole ball; ranges by bounds where they beat interval arithmetic."""
    u = np.asarray(u)
    first = net.chain.layers[0]
    reach = r * np.linalg.norm(first.weights, axis=1)
    centre = first.weights @ u + first.bias
    below = (centre - reach, centre + reach)
    ranges: list[Any] = []
    entries = []
    for layer in range(2, len(net.chain.layers)):
        affine = net.chain.layers[layer - 1]
        low, high = below
        top = np.maximum(low**2, high**2)
        bottom = np.where((low < 0) & (high > 0), 0.0, np.minimum(low**2, high**2))
        positive, negative = np.maximum(affine.weights, 0), np.minimum(affine.weights, 0)
        slack = 1e-9
        lows = positive @ bottom + negative @ top + affine.bias - slack
        highs = positive @ top + negative @ bottom + affine.bias + slack
        rows = []
        for i in range(len(lows)):
            parts: list[Any] = [None, None]
            if not intervals_only:
                row, bias = affine.weights[i], float(affine.bias[i])
                value, _ = deep_bound(net, u, r, ranges, row, bias, layer - 1)
                if value - 1e-6 > lows[i]:
                    lows[i] = value - 1e-6
                    parts[0] = deep_bound(net, u, r, ranges, row, bias - lows[i], layer - 1)[1]
                value, _ = deep_bound(net, u, r, ranges, -row, -bias, layer - 1)
                if -value + 1e-6 < highs[i]:
                    highs[i] = -value + 1e-6
                    parts[1] = deep_bound(net, u, r, ranges, -row, highs[i] - bias, layer - 1)[1]
            rows.append([float(lows[i]).hex(), float(highs[i]).hex(), *parts])
        entries.append(rows)
        ranges.append((lows, highs))
        below = (lows, highs)
    last = net.chain.layers[-1]
    gamma, constant = last.weights[label] - last.weights[rival], float(last.bias[label] - last.bias[rival])
    value, bound = deep_bound(net, u, r, ranges, gamma, constant, len(net.chain.layers) - 1)
    assert value > 0, f"these bounds do not reach the radius {r}: {value}"
    return {"ranges": entries, "bound": bound}
