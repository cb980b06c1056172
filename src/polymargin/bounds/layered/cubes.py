"""An attention boundary as a sum of cubes, without rounding.

For the read-out difference D (t × d') write M = D V = L W and A = K Qᵀ, with inner dimensions r and s. Then

    B = β + Σ_ij p_ij(X) Σ_σ (w_i·x_σ)(k_j·x_σ),      p_ij(X) = Σ_τ L_τi q_j·x_τ,

and every product of three linear forms is four cubes,

    24 f g h = (f + g + h)³ − (f + g − h)³ − (f − g + h)³ − (−f + g + h)³.

The polynomial stays the same for any invertible R and T in M = L R⁻¹ · R W, A = K T⁻¹ · T Qᵀ, and for any multiples of the three
forms whose product is taken out again. Bounds are the tighter the less the cubes cancel: singular vectors of M and A, and
forms of equal length, are as good as the best choice in experiments. So R, T and the scales are computed in floating point,
rounded to few bits and from then on exact; the weights of the cubes are rationals, rounded once.
"""

from __future__ import annotations

from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.networks.constructors import PolynomialNetwork
from polymargin.networks.layers import Chain
from polymargin.networks.structures import Attention

Array = NDArray[np.float64]

SIGNS = ((1, 1, 1, 1), (1, 1, -1, -1), (1, -1, 1, -1), (-1, 1, 1, -1))  # of f, g, h and of their cube
# Bases and scales are rounded to this many bits; a factor that is worse conditioned than this keeps its basis.
BITS = 26
LARGEST_CONDITION = 1e4
# Forms are not stretched beyond the range of doubles.
SHORTEST = 1e-150


def sum_of_cubes(attention: Attention, label: int, rival: int) -> tuple[Chain, dict[str, Array]]:
    """f_label − f_rival as a network with one hidden layer of cubes; logits of other classes mean nothing."""
    lowering = choose_lowering(attention, label, rival)
    weights, factors = exact_cubes(attention, label, rival, lowering)
    top = np.zeros((attention.class_count, len(factors)))
    top[label] = _rounded(factors)
    first = np.array([_rounded(row) for row in weights])
    return PolynomialNetwork([first, (top, attention.bias)], degree=3).expect_chain(), lowering


def choose_lowering(attention: Attention, label: int, rival: int) -> dict[str, Array]:
    """R as 'values', T as 'keys', and 'scales' (r, s, 3): of w_i, k_j and p_ij, zeros where one of them vanishes."""
    outer, values, keys, queries = _factors(attention, label, rival)
    R, T = _singular_basis(outer, values), _singular_basis(keys, queries)
    outer, values, keys, queries = (*_in_basis(outer, values, R), *_in_basis(keys, queries, T))
    p, w, k, q = (_lengths(rows) for rows in (outer.transpose(), values, keys.transpose(), queries))
    ones = np.ones((len(w), len(k)))
    lengths = np.stack([w[:, None] * ones, k * ones, p[:, None] * q], axis=-1)
    present = (lengths > 0).all(axis=-1, keepdims=True)
    scales = np.where(present, _few_bits(1 / np.clip(lengths, SHORTEST, 1 / SHORTEST)), 0.0)
    return {"values": R, "keys": T, "scales": scales}


def exact_cubes(
    attention: Attention, label: int, rival: int, lowering: dict[str, Array]
) -> tuple[list[list[Any]], list[Any]]:
    """Weights (h, t·d) and factors (h) with B = β + Σ factor·(weights·x)³, as rationals: four for every i, j and σ."""
    outer, values, keys, queries = _factors(attention, label, rival)
    outer, values = _in_basis(outer, values, lowering["values"])
    keys, queries = _in_basis(keys, queries, lowering["keys"])
    t, d = attention.t, attention.d
    weights: list[list[Any]] = []
    factors: list[Any] = []
    for i, j in np.ndindex(lowering["scales"].shape[:2]):
        if not lowering["scales"][i, j].any():
            continue
        alpha, beta, gamma = (_rational(scale) for scale in lowering["scales"][i, j].tolist())
        f = [alpha * values[i, n] for n in range(d)]
        g = [beta * keys[n, j] for n in range(d)]
        h = [gamma * outer[tau, i] * queries[j, n] for tau in range(t) for n in range(d)]
        share = 1 / (24 * alpha * beta * gamma)
        for sigma in range(t):
            for sign_f, sign_g, sign_h, sign in SIGNS:
                row = [sign_h * entry for entry in h]
                for n in range(d):
                    row[sigma * d + n] += sign_f * f[n] + sign_g * g[n]
                weights.append(row)
                factors.append(sign * share)
    if not weights:  # B is constant, and a layer is not empty
        return [[flint.fmpq(0)] * (t * d)], [flint.fmpq(0)]
    return weights, factors


def _factors(attention: Attention, label: int, rival: int) -> tuple[Any, Any, Any, Any]:
    """L (t, r), W (r, d) and K (d, s), Qᵀ (s, d)."""
    shape = (attention.t, attention.d_prime)
    difference = _exact(attention.readout[label].reshape(shape)) - _exact(attention.readout[rival].reshape(shape))
    return *_shorter(difference, _exact(attention.V)), *_shorter(_exact(attention.K), _exact(attention.Q.T))


def _shorter(left: Any, right: Any) -> tuple[Any, Any]:
    """The same product with the least inner dimension that its shape allows."""
    rows, inner, columns = left.nrows(), left.ncols(), right.ncols()
    if inner <= min(rows, columns):
        return left, right
    product = left * right
    return (_exact(np.eye(rows)), product) if rows <= columns else (product, _exact(np.eye(columns)))


def _in_basis(left: Any, right: Any, basis: Array) -> tuple[Any, Any]:
    matrix = _exact(basis)
    return left * matrix.inv(), matrix * right


def _singular_basis(left: Any, right: Any) -> Array:
    """R such that left R⁻¹ and R right are nearly orthogonal columns and orthonormal rows."""
    triangle = np.linalg.qr(_floats(right).T)[1].T
    sizes = np.linalg.svd(triangle, compute_uv=False)
    if not sizes[0] or sizes[-1] * LARGEST_CONDITION < sizes[0]:
        return np.eye(len(triangle))
    turn = np.linalg.svd(_floats(left) @ triangle)[2]
    return _few_bits(np.linalg.solve(triangle.T, turn.T).T)


def _few_bits(values: Array) -> Array:
    mantissas, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissas, BITS)), exponents - BITS))


def _lengths(matrix: Any) -> Array:
    return np.asarray(np.linalg.norm(_floats(matrix), axis=1))


def _rational(value: float) -> Any:
    return flint.fmpq(*value.as_integer_ratio())


def _exact(matrix: Array) -> Any:
    return flint.fmpq_mat([[_rational(entry) for entry in row] for row in matrix.tolist()])


def _floats(matrix: Any) -> Array:
    return np.array([_rounded(row) for row in matrix.tolist()])


def _rounded(values: list[Any]) -> Array:
    """Rationals as the nearest doubles."""
    try:
        return np.array([int(value.p) / int(value.q) for value in values])
    except OverflowError:
        raise InputError("products of the attention weights leave the range of doubles; rescale the weights") from None
