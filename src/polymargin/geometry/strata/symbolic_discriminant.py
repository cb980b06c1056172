"""The parameter discriminant of a shallow x² network as polynomials in its weights.

The forward pass runs on SymPy symbols and the coefficients of the boundary are read off: nothing is transcribed. For as many
hidden neurons as inputs, h = n, the factors can be read at a glance: with v = w²_label − w²_rival and β = b²_label − b²_rival,

    A = W₁ᵀ diag(v) W₁,   M = [[W₁, b₁], [0, 1]]ᵀ diag(v, β) [[W₁, b₁], [0, 1]],   det A = det(W₁)² Π v_j,   det M = β det A:

the boundary becomes singular where the two output biases agree. For h < n both determinants vanish identically.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polymargin.errors import InputError, MissingExtraError
from polymargin.networks import Network

# Discriminants of larger symmetric matrices have too many terms to be read or computed.
LARGEST_DIMENSION = 3


@dataclass(frozen=True, eq=False)
class SymbolicParameterDiscriminant:
    """SymPy expressions in the symbols w1_ij, b1_i (hidden layer), w2_ij, b2_i (output layer), counted from 1.

    matrix, linear, constant   A (n × n), b (n × 1) and c of B(x) = xᵀAx + bᵀx + c
    rank_factor                det A                     (Δ_par for two inputs)
    singular_factor            det M                     (Δ_sing)
    eigenvalue_factor          Disc_λ det(λI − A)        (Δ_circ)
    parameters                 all symbols, layer by layer: weights row by row, then biases
    """

    widths: tuple[int, int, int]
    label: int
    rival: int
    matrix: Any
    linear: Any
    constant: Any
    rank_factor: Any
    singular_factor: Any
    eigenvalue_factor: Any
    parameters: tuple[Any, ...]

    @property
    def value(self) -> Any:
        """Δ, the product of the three factors."""
        return self.rank_factor * self.singular_factor * self.eigenvalue_factor

    def at(self, network: Network) -> tuple[Any, Any, Any]:
        """The three factors at the weights of a network, as exact rationals of SymPy."""
        sympy = _sympy()
        chain = network.expect_chain()
        if chain.widths != self.widths or chain.activations != ((0.0, 0.0, 1.0),):
            raise InputError(f"{network!r}: expected widths {self.widths} and the activation x²")
        symbols = self._all_symbols()
        if len(self.parameters) < len(symbols) and any(layer.bias.any() for layer in chain.layers):
            raise InputError(f"{network!r} has biases, but the discriminant was derived with biases=False")
        numbers = [entry for layer in chain.layers for part in (layer.weights, layer.bias) for entry in part.ravel()]
        values = {s: sympy.Rational(*float(x).as_integer_ratio()) for s, x in zip(symbols, numbers, strict=True)}
        factors = (self.rank_factor, self.singular_factor, self.eigenvalue_factor)
        first, second, third = (factor.subs(values) for factor in factors)
        return first, second, third

    def _all_symbols(self) -> list[Any]:
        (w1, b1), (w2, b2) = _symbols(_sympy(), self.widths)
        return [*w1, *b1, *w2, *b2]


def symbolic_parameter_discriminant(
    widths: Sequence[int], label: int = 0, rival: int = 1, *, biases: bool = True, factored: bool = True
) -> SymbolicParameterDiscriminant:
    """The three factors of Δ for the shallow x² network with `widths` (n, h, k), for up to three inputs.

    biases     False leaves all biases out
    factored   write the factors as products of irreducible polynomials; False leaves them as determinants of
               unexpanded entries, which is much faster for large h

    >>> delta = symbolic_parameter_discriminant((1, 1, 2))
    >>> delta.singular_factor
    w1_11**2*(b2_1 - b2_2)*(w2_11 - w2_21)
    """
    sympy = _sympy()
    n, h, k = shape = _checked(widths, label, rival)
    (w1, b1), (w2, b2) = _symbols(sympy, shape)
    parameters = (*w1, *b1, *w2, *b2) if biases else (*w1, *w2)
    if not biases:
        b1, b2 = sympy.zeros(h, 1), sympy.zeros(k, 1)
    x = sympy.Matrix(sympy.symbols(f"x1:{n + 1}"))
    logits = w2 * (w1 * x + b1).applyfunc(lambda value: value**2) + b2
    boundary = sympy.expand(logits[label] - logits[rival])
    at_zero = dict.fromkeys(x, 0)
    gradient = sympy.Matrix([boundary.diff(variable) for variable in x])
    matrix = (gradient.jacobian(x) / 2).applyfunc(sympy.expand)
    linear, constant = gradient.subs(at_zero).applyfunc(sympy.expand), boundary.subs(at_zero)
    factors = _factors(sympy, matrix, linear, constant)
    if factored:
        factors = [sympy.factor(sympy.expand(factor)) for factor in factors]
    rank_factor, singular_factor, eigenvalue_factor = factors
    return SymbolicParameterDiscriminant(
        shape, label, rival, matrix, linear, constant, rank_factor, singular_factor, eigenvalue_factor, parameters
    )


def _factors(sympy: Any, matrix: Any, linear: Any, constant: Any) -> list[Any]:
    """det A, det M and Disc for a matrix of plain symbols, then with the entries put in."""
    n = matrix.shape[0]
    entries: dict[Any, Any] = {}

    def entry(i: int, j: int) -> Any:
        name = sympy.Symbol(f"m_{min(i, j)}_{max(i, j)}")
        i, j = min(i, j), max(i, j)
        entries[name] = matrix[i, j] if j < n else linear[i] / 2 if i < n else constant
        return name

    augmented = sympy.Matrix(n + 1, n + 1, entry)
    plain = augmented[:n, :n]
    eigenvalue = sympy.Symbol("eigenvalue")
    characteristic = plain.charpoly(eigenvalue).as_expr()
    discriminant = sympy.discriminant(characteristic, eigenvalue) if n > 1 else sympy.Integer(1)
    determinants = (plain.det(method="berkowitz"), augmented.det(method="berkowitz"), discriminant)
    return [sympy.expand(polynomial).subs(entries) for polynomial in determinants]


def _symbols(sympy: Any, widths: tuple[int, int, int]) -> list[tuple[Any, Any]]:
    def layer(number: int, outputs: int, inputs: int) -> tuple[Any, Any]:
        separator = "_" if max(widths) > 9 else ""
        weights = sympy.Matrix(outputs, inputs, lambda i, j: sympy.Symbol(f"w{number}_{i + 1}{separator}{j + 1}"))
        return weights, sympy.Matrix(outputs, 1, lambda i, _: sympy.Symbol(f"b{number}_{i + 1}"))

    n, h, k = widths
    return [layer(1, h, n), layer(2, k, h)]


def _checked(widths: Sequence[int], label: int, rival: int) -> tuple[int, int, int]:
    shape = tuple(int(width) for width in np.asarray(widths).ravel())
    if len(shape) != 3 or min(shape) < 1 or shape[2] < 2:
        raise InputError(
            f"widths {tuple(widths)}: expected inputs, hidden neurons and at least two classes, such as (2, 2, 2)"
        )
    n, h, k = shape
    if n > LARGEST_DIMENSION:
        raise InputError(
            f"{n} inputs: the discriminant is written out for at most {LARGEST_DIMENSION}; use numbers instead"
        )
    if not (0 <= label < k and 0 <= rival < k and label != rival):
        raise InputError(f"label {label} and rival {rival}: expected two different classes from 0 to {k - 1}")
    return n, h, k


def _sympy() -> Any:
    try:
        import sympy
    except ImportError:
        raise MissingExtraError("symbolic discriminants need SymPy; install it with: pip install sympy") from None
    return sympy
