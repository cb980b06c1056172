"""Families of boundary polynomials with their coefficients or weights as parameters, and how their members are drawn.

One program serves a whole family: it takes the parameters as inputs of its own, so thousands of random members are solved by
moving one generic member's critical points to all of them in a single batch (see `counting`). A family also knows one member
whose critical points can be computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.errors import InputError
from polymargin.expected.random_polynomials import ShallowEnsemble
from polymargin.expected.starts import Start, start_at_boundary, start_at_powers
from polymargin.expected.tangent import Array
from polymargin.networks import PolynomialNetwork
from polymargin.polynomials import Expression


class Family(Protocol):
    """Polynomials B(x; θ). Families are hashable and small, so that worker processes can rebuild everything from them."""

    def __hash__(self) -> int: ...

    @property
    def dimension(self) -> int:
        """Return the number of inputs."""
        ...

    @property
    def degree(self) -> int:
        """Return the degree of a generic member."""
        ...

    @property
    def parameter_count(self) -> int:
        """Return the number of parameters of a member."""
        ...

    def polynomial(self, variables: list[Expression], parameters: list[Expression]) -> Expression:
        """Return B on symbolic scalars."""
        ...

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        """Return parameters (count, P) of independent random members."""
        ...

    def start(self, seed: int) -> Start:
        """Return all critical points of one member, as many as a generic member has."""
        ...


class ConditionalFamily(Family, Protocol):
    """A family with B = Σ_j c_j F_j(x; hidden weights) + β whose c and β are normal and independent of the hidden weights.

    So given the hidden weights B is a Gaussian field (`conditional`).
    """

    @property
    def hidden_deviations(self) -> Array:
        """Return the standard deviations of the hidden weights (independent, normal), one per parameter of `features`."""
        ...

    @property
    def outer_deviation(self) -> float:
        """Return the standard deviation of every c_j; β has 1."""
        ...

    def features(self, variables: list[Expression], hidden: list[Expression]) -> list[Expression]:
        """Return F on symbolic scalars."""
        ...


@dataclass(frozen=True)
class ShallowFamily:
    """Shallow networks as polynomials with all their coefficients as parameters; width None is the limit."""

    ensemble: ShallowEnsemble

    @property
    def dimension(self) -> int:
        """Return the number of inputs."""
        return self.ensemble.dimension

    @property
    def degree(self) -> int:
        """Return the degree of a generic member."""
        return self.ensemble.degree

    @property
    def parameter_count(self) -> int:
        """Return the number of parameters of a member."""
        return len(self.ensemble.exponents)

    def polynomial(self, variables: list[Expression], parameters: list[Expression]) -> Expression:
        """Return B on symbolic scalars."""
        graph = variables[0].graph
        terms = []
        for coefficient, exponents in zip(parameters, self.ensemble.exponents, strict=True):
            term = coefficient
            for variable, exponent in zip(variables, exponents, strict=True):
                if exponent:
                    term = term * variable**exponent
            terms.append(term)
        return graph.linear([1] * len(terms), terms)

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        """Return parameters (count, P) of independent random members."""
        coefficients = self.ensemble.sample(count, generator)
        # The size of B moves no critical point; members of equal size are easier to move to.
        return np.asarray(coefficients / np.linalg.norm(coefficients, axis=1, keepdims=True))

    def start(self, seed: int) -> Start:
        """Return a generic member with all its critical points."""
        return start_at_powers(self.dimension, self.degree, self.ensemble.exponents, seed)


@dataclass(frozen=True)
class DeepFamily:
    """Fully connected networks with one output and activation z^activation after every hidden layer.

    Weights are normal with variance 1/inputs, biases standard normal: in the hidden layers, and at the output, where B is
    the difference of two logits up to a factor.
    """

    widths: tuple[int, ...]  # inputs, hidden layers
    activation: int

    def __post_init__(self) -> None:
        if len(self.widths) < 2 or min(self.widths) < 1 or self.activation < 2:
            raise InputError(
                f"widths {self.widths}, activation {self.activation}: expected inputs and hidden layers, power >= 2"
            )

    @property
    def dimension(self) -> int:
        """Return the number of inputs."""
        return self.widths[0]

    @property
    def degree(self) -> int:
        """Return the degree of a generic member."""
        return int(self.activation ** (len(self.widths) - 1))

    @property
    def _shapes(self) -> list[tuple[int, int]]:
        """Return (outputs, inputs + 1) of every layer; the last column is the bias."""
        return [(after, before + 1) for before, after in pairwise((*self.widths, 1))]

    @property
    def parameter_count(self) -> int:
        """Return the number of parameters of a member."""
        return sum(rows * columns for rows, columns in self._shapes)

    @property
    def _deviations(self) -> list[Array]:
        """Return the standard deviations of the parameters of each layer."""
        return [
            np.tile(np.append(np.full(columns - 1, 1 / math.sqrt(columns - 1)), 1.0), rows)
            for rows, columns in self._shapes
        ]

    @property
    def hidden_deviations(self) -> Array:
        """Return the standard deviations of the hidden weights."""
        return np.concatenate(self._deviations[:-1])

    @property
    def outer_deviation(self) -> float:
        """Return the standard deviation of the outer weights."""
        return 1 / math.sqrt(self.widths[-1])

    def features(self, variables: list[Expression], hidden: list[Expression]) -> list[Expression]:
        """Return the values of the last hidden layer."""
        values = list(variables)
        for matrix in _blocks(hidden, self._shapes[:-1]):
            sums = [_sum([*(w * v for w, v in zip(row[:-1], values, strict=True)), row[-1]]) for row in matrix]
            values = [value**self.activation for value in sums]
        return values

    def polynomial(self, variables: list[Expression], parameters: list[Expression]) -> Expression:
        """Return B on symbolic scalars."""
        outer = parameters[-self.widths[-1] - 1 :]
        values = self.features(variables, parameters[: -len(outer)])
        return _sum([*(w * v for w, v in zip(outer[:-1], values, strict=True)), outer[-1]])

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        """Return parameters (count, P) of independent random members."""
        return np.asarray(generator.standard_normal((count, self.parameter_count)) * np.concatenate(self._deviations))

    def start(self, seed: int) -> Start:
        """Return a generic member with all its critical points."""
        return start_at_boundary(self.boundary, self.sample(1, np.random.default_rng([20267, seed]))[0], seed)

    def boundary(self, parameters: Array) -> Boundary:
        """Return a member as the boundary of a network with two classes, one of which always says 0."""
        layers = [(matrix[:, :-1], matrix[:, -1]) for matrix in _blocks(parameters, self._shapes)]
        weights, bias = layers.pop()
        layers.append((np.vstack([weights, np.zeros_like(weights)]), np.append(bias, 0.0)))
        return Boundary.from_network(PolynomialNetwork(layers, degree=self.activation), 0, 1)


@dataclass(frozen=True)
class AttentionFamily:
    """Two classes of lightning attention: B(X) = tr(M X Xᵀ A X) + β for X of shape (d, t), t tokens of d numbers.

    M = CᵀV with C of shape (d', t) and A = KQᵀ with K, Q of shape (d, a). All entries are independent and normal, with deviation
    1/√d in V and K, 1/√(da) in Q, 1/(t√d') in C and 1 for β. The variables go token by token.

    A product of full rank is any matrix, and is a parameter itself. Segments between weights would make their product
    quadratic: paths are then longer, and far more of them pass so far out that doubles lose them.
    """

    t: int
    d: int
    d_prime: int
    a: int

    def __post_init__(self) -> None:
        if min(self.t, self.d, self.d_prime, self.a) < 1:
            raise InputError(f"t={self.t}, d={self.d}, d_prime={self.d_prime}, a={self.a}: expected numbers >= 1")

    @property
    def dimension(self) -> int:
        """Return the number of inputs."""
        return self.t * self.d

    @property
    def degree(self) -> int:
        """Return the degree of a generic member."""
        return 3

    @property
    def _any_m(self) -> bool:
        return self.d_prime >= min(self.t, self.d)

    @property
    def _any_a(self) -> bool:
        return self.a >= self.d

    @property
    def _shapes(self) -> list[tuple[int, int]]:
        """Return the shapes of M or of C and V, of A or of K and Q, and of β."""
        of_m = [(self.t, self.d)] if self._any_m else [(self.d_prime, self.t), (self.d_prime, self.d)]
        return [*of_m, *([(self.d, self.d)] if self._any_a else [(self.d, self.a)] * 2), (1, 1)]

    @property
    def parameter_count(self) -> int:
        """Return the number of parameters of a member."""
        return sum(rows * columns for rows, columns in self._shapes)

    def polynomial(self, variables: list[Expression], parameters: list[Expression]) -> Expression:
        """Return B on symbolic scalars."""
        X = np.array(variables, dtype=object).reshape(self.t, self.d).T
        C, V, K, Q, constant = self._factors(parameters)
        # tr(CᵀV X XᵀK QᵀX) is the sum of the entries of (QᵀX Cᵀ)V times those of (X XᵀK)ᵀ.
        rows = X if Q is None else _product(Q.T, X)
        left = _product(rows, V) if C is None else _product(_product(rows, C.T), V)
        right = _product(X, _product(X.T, K))
        return _sum([*(p * q for p, q in zip(left.ravel(), right.T.ravel(), strict=True)), constant[0, 0]])

    @property
    def hidden_deviations(self) -> Array:
        """Return the standard deviations of V, K and Q."""
        token = 1 / math.sqrt(self.d)
        keys = self.d * self.a
        return np.repeat([token, token, token / math.sqrt(self.a)], [self.d_prime * self.d, keys, keys])

    @property
    def outer_deviation(self) -> float:
        """Return the standard deviation of the outer weights."""
        return 1 / (self.t * math.sqrt(self.d_prime))

    def features(self, variables: list[Expression], hidden: list[Expression]) -> list[Expression]:
        """Return the entries of V X XᵀK QᵀX, which C weighs."""
        X = np.array(variables, dtype=object).reshape(self.t, self.d).T
        V, K, Q = _blocks(hidden, [(self.d_prime, self.d), (self.d, self.a), (self.d, self.a)])
        values, keys, queries = _product(V, X), _product(X.T, K), _product(Q.T, X)
        return list(_product(_product(values, keys), queries).ravel())

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        """Return parameters (count, P) of independent random members."""
        token = 1 / math.sqrt(self.d)
        sizes = [1 / (self.t * math.sqrt(self.d_prime)), token, token, token / math.sqrt(self.a), 1.0]
        shapes = [(self.d_prime, self.t), (self.d_prime, self.d), (self.d, self.a), (self.d, self.a), (1, 1)]
        deviations = [np.full(r * c, size) for (r, c), size in zip(shapes, sizes, strict=True)]
        weights = generator.standard_normal((count, sum(map(len, deviations)))) * np.concatenate(deviations)
        C, V, K, Q, constant = (
            block.reshape(count, *shape)
            for block, shape in zip(
                np.split(weights, np.cumsum([r * c for r, c in shapes])[:-1], axis=1), shapes, strict=True
            )
        )
        of_m = [np.einsum("skt,skd->std", C, V)] if self._any_m else [C, V]
        of_a = [np.einsum("sdk,sek->sde", K, Q)] if self._any_a else [K, Q]
        return np.concatenate([block.reshape(count, -1) for block in (*of_m, *of_a, constant)], axis=1)

    def start(self, seed: int) -> Start:
        """Return a generic member with all its critical points."""
        return start_at_boundary(self.boundary, self.sample(1, np.random.default_rng([20267, seed]))[0], seed)

    def boundary(self, parameters: Array) -> Boundary:
        """Return a member as the boundary of a network with two classes, one of which always says 0."""
        from polymargin.networks.attention import LightningAttention

        C, V, K, Q, constant = self._factors(parameters)
        if C is None:
            C, V = V.T, np.eye(self.d)
        readout = np.vstack([C.T.ravel(), np.zeros(C.size)])
        Q = np.eye(self.d) if Q is None else Q
        return Boundary.from_network(LightningAttention(V, K, Q, readout, [constant[0, 0], 0.0]), 0, 1)

    def _factors(self, parameters: Any) -> tuple[Any, ...]:
        """Return C, V, K, Q, β; without C if V is all of M, without Q if K is all of A."""
        blocks = _blocks(parameters, self._shapes)
        of_m = [None, blocks[0]] if self._any_m else blocks[:2]
        of_a = [blocks[-2], None] if self._any_a else blocks[-3:-1]
        return (*of_m, *of_a, blocks[-1])


def _sum(terms: list[Expression]) -> Expression:
    return terms[0].graph.linear([1] * len(terms), terms)


def _product(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    rows = [[_sum([a * b for a, b in zip(row, column, strict=True)]) for column in right.T] for row in left]
    return np.array(rows, dtype=object).reshape(len(left), right.shape[1])


def _blocks(parameters: Any, shapes: list[tuple[int, int]]) -> list[NDArray[Any]]:
    """Return the parameters as matrices, one after the other."""
    flat = parameters if isinstance(parameters, np.ndarray) else np.array(parameters, dtype=object)
    ends = np.cumsum([rows * columns for rows, columns in shapes])
    return [block.reshape(shape) for block, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)]
