"""From the optimum of a relaxation to a bound that survives exact arithmetic.

The optimiser's slopes, curvatures and multiplier are rounded to floats and kept; everything that has to hold exactly is
then recomputed from them with room to spare: the constants e_i and c_j are the least values of the residual
polynomials, lowered by a relative 1e-12, the multiplier is raised a little, and the value of the bound is

    θ = c − μr² − ¼ bᵀ(A + μI)⁻¹ b,

which is what makes [[A + μI, b/2], [bᵀ/2, c − μr² − θ]] singular: the functional exceeds every number below θ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.minorants import best_constants
from polymargin.bounds.relaxation import GramRelaxation
from polymargin.bounds.view import View

Array = NDArray[np.float64]

# The bordered matrix stays this far, relative to its size, from being singular.
MARGIN = 1e-11


@dataclass(frozen=True, eq=False)
class Bound:
    """Lines for the layers l … 2, each (h, 2) with rows (α, e); quadratics (h₁, 3) with rows (p, t, c); μ."""

    slopes: tuple[Array, ...]
    quadratics: Array
    multiplier: float

    def to_proof(self) -> dict[str, Any]:
        """As docs/certificates.md wants it."""
        return {
            "slopes": [hexadecimal(lines) for lines in self.slopes],
            "quadratics": hexadecimal(self.quadratics),
            "multiplier": float(self.multiplier).hex(),
        }


def hexadecimal(values: Array) -> list[Any]:
    """Nested lists of C99 hexadecimal floats."""
    return [float(v).hex() if np.ndim(v) == 0 else hexadecimal(v) for v in values]


def rigorous(
    view: View,
    ranges: Sequence[Array],
    gamma: Array,
    constant: Array,
    radius: Array,
    program: GramRelaxation,
    x: Array,
) -> tuple[Array, list[Bound]]:
    """Safe values (B,) and the bounds that prove them, for the data the program was built from.

    The functional γ₀ + γ·a is larger than value + MARGIN·(its scale) on its leaf. A value is −∞ where rounding has
    left nothing to prove.
    """
    slopes: list[Array] = []
    depth = len(ranges)
    size = np.abs(constant)
    # γ is a row of the next layer, or the difference of two of its rows.
    terms = 2 * np.abs(view.weights(depth + 1)).max(axis=0)
    for index, group in enumerate(program.groups[:-1]):
        layer = depth - index
        lean = group.coefficients(x)[:, :, 1] / group.half
        sigma = view.activation(layer)
        low = best_constants(sigma, gamma, 0.0, np.zeros_like(lean), lean, ranges[layer - 1], terms)
        slopes.append(np.stack([lean, low], axis=-1))
        constant = constant + low.sum(axis=1) + lean @ view.bias(layer)
        size = size + np.abs(low).sum(axis=1) + np.abs(lean) @ np.abs(view.bias(layer))
        gamma, terms = lean @ view.weights(layer), np.abs(lean) @ np.abs(view.weights(layer))
    first = program.groups[-1]
    coefficients = first.coefficients(x)
    p = coefficients[:, :, 2] / first.half**2
    t = coefficients[:, :, 1] / first.half - 2 * p * first.middle
    c = best_constants(view.activation(1), gamma, view.shift, p, t, ranges[0], terms)
    quadratics = np.stack([p, t, c], axis=-1)
    scaled = radius[:, None, None] * view.factor
    A = np.swapaxes(scaled, 1, 2) @ (p[..., None] * scaled)
    b = (t[:, None] @ scaled)[:, 0]
    values, vectors = np.linalg.eigh(A)
    spread = np.abs(values).max(axis=-1)
    multiplier = np.maximum(x[:, -1], -values[:, 0]) + 10 * MARGIN * (spread + np.abs(x[:, -1]))
    with np.errstate(all="ignore"):  # a program that broke down has no value
        square = ((np.swapaxes(vectors, 1, 2) @ b[..., None])[..., 0]) ** 2
        total = constant + c.sum(axis=1) - multiplier - (square / (values + multiplier[:, None])).sum(axis=-1) / 4
    size = size + np.abs(c).sum(axis=1) + multiplier + spread
    value = np.where(np.isfinite(total), total - MARGIN * size, -np.inf)
    mu = multiplier / radius**2
    return value, [Bound(tuple(s[i] for s in slopes), quadratics[i], float(mu[i])) for i in range(len(x))]
