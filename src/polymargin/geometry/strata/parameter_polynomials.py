"""The parameter discriminant of a family of quadrics, as polynomials in the parameters.

For B(x) = xᵀAx + bᵀx + c with coefficients that are polynomials in parameters, the ED degree is 2n unless one of

    det A,    det M with M = [[A, b/2], [bᵀ/2, c]],    Disc_λ det(λ − A)

vanishes (`parameter_discriminant`). Entries are read off the expression, determinants are expanded, and the factors are
irreducible. The weights of a shallow x² network are such parameters, too. For as many hidden neurons as inputs, h = n, the
factors can be read at a glance: with v = w²_label − w²_rival and β = b²_label − b²_rival,

    A = W₁ᵀ diag(v) W₁,   M = [[W₁, b₁], [0, 1]]ᵀ diag(v, β) [[W₁, b₁], [0, 1]],   det A = det(W₁)² Π v_j,   det M = β det A:

the boundary becomes singular where the two output biases agree. For h < n both determinants vanish identically.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from polymargin.boundary import Boundary, ParametricBoundary
from polymargin.errors import InputError
from polymargin.geometry.algebra.rings import Ring, determinant, integer_form
from polymargin.polynomials import Graph, evaluate, exact, flatten, parse_polynomial

# Determinants of polynomials are expanded along rows.
LARGEST_DIMENSION = 5


@dataclass(frozen=True, eq=False)
class ParameterPolynomials:
    """Polynomials in the parameters, as python-flint's; a zero polynomial vanishes for all of them.

    rank_factor         det A
    singular_factor     det M
    eigenvalue_factor   discriminant of the characteristic polynomial of A
    """

    parameters: tuple[str, ...]
    rank_factor: Any
    singular_factor: Any
    eigenvalue_factor: Any

    @property
    def factors(self) -> tuple[Any, ...]:
        """Return the irreducible factors of all three that are not zero, each once, with integer coefficients."""
        found: dict[str, Any] = {}
        for polynomial in (self.rank_factor, self.singular_factor, self.eigenvalue_factor):
            if not polynomial.is_zero():
                for factor, _ in polynomial.factor()[1]:
                    whole = integer_form(factor)
                    found.setdefault(str(whole), whole)
        return tuple(found[text] for text in sorted(found, key=lambda text: (found[text].total_degree(), text)))

    def at(self, **values: Any) -> tuple[Fraction, ...]:
        """Return the three values for these parameters."""
        if set(values) != set(self.parameters):
            raise InputError(f"values for {' '.join(values) or 'nothing'}: expected {' '.join(self.parameters)}")
        place = [exact(values[name]) for name in self.parameters]
        ring = Ring(self.parameters)
        results = [
            polynomial(*(ring.scalar(entry) for entry in place))
            for polynomial in (self.rank_factor, self.singular_factor, self.eigenvalue_factor)
        ]
        return tuple(Fraction(int(value.p), int(value.q)) for value in results)

    def __repr__(self) -> str:
        return f"ParameterPolynomials({', '.join(map(str, self.factors))})"


def shallow_family(inputs: int, hidden: int) -> ParametricBoundary:
    """Return the boundaries between two classes of shallow x² networks, with the weights w1_ij, w2_kj and biases b1_j, b2_k.

    >>> shallow_family(1, 1)
    ParametricBoundary((w2_11-w2_21)*(w1_11*x1+b1_1)**2+(b2_1-b2_2); inputs x1; parameters w1_11 b1_1 w2_11 w2_21 b2_1 b2_2)
    """
    if not (1 <= inputs <= 9 and 1 <= hidden <= 9):
        raise InputError(f"{inputs} inputs, {hidden} hidden neurons: expected 1 to 9 of each")
    columns, rows = range(1, inputs + 1), range(1, hidden + 1)
    forms = ["+".join([*(f"w1_{j}{i}*x{i}" for i in columns), f"b1_{j}"]) for j in rows]
    terms = [f"(w2_1{j}-w2_2{j})*({form})**2" for j, form in zip(rows, forms, strict=True)]
    parameters = [f"w1_{j}{i}" for j in rows for i in columns] + [f"b1_{j}" for j in rows]
    parameters += [f"w2_{k}{j}" for k in (1, 2) for j in rows] + ["b2_1", "b2_2"]
    text = "+".join([*terms, "(b2_1-b2_2)"])
    family: ParametricBoundary = Boundary.from_expression(text, [f"x{i}" for i in columns], parameters=parameters)
    return family


def parameter_polynomials(family: ParametricBoundary) -> ParameterPolynomials:
    """Return the polynomials in the parameters at whose zeros the ED degree of a family of quadrics drops.

    >>> from polymargin.boundary import Boundary
    >>> parameter_polynomials(Boundary.from_expression("a*x**2 + y**2 = b", parameters="a b"))
    ParameterPolynomials(a, a - 1, b)
    """
    size = len(family.inputs)
    if size > LARGEST_DIMENSION:
        raise InputError(f"{size} inputs: the discriminant is written out for at most {LARGEST_DIMENSION}")
    graph = Graph()
    nodes = graph.inputs(size + len(family.parameters))
    names = dict(zip((*family.inputs, *family.parameters), nodes, strict=True))
    program = flatten(graph, [parse_polynomial(family.expression, graph, names)])
    whole = Ring((*family.inputs, *family.parameters))
    polynomial = evaluate(program, list(whole.variables), lift=whole.constant)[0]
    tables: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
    for powers, coefficient in polynomial.to_dict().items():
        tables.setdefault(powers[:size], {})[powers[size:]] = coefficient
    if max((sum(powers) for powers in tables), default=0) > 2:
        raise InputError("the parameter discriminant is known for quadrics: expected degree at most 2 in the inputs")
    ring = Ring((*family.parameters, "l"))

    def coefficient_of(*axes: int) -> Any:
        powers = tuple(axes.count(axis) for axis in range(size))
        return ring.context.from_dict({(*p, 0): c for p, c in tables.get(powers, {}).items()})

    matrix = [[coefficient_of(i, j) / (1 if i == j else 2) for j in range(size)] for i in range(size)]
    linear = [coefficient_of(i) / 2 for i in range(size)]
    augmented = [[*row, entry] for row, entry in zip(matrix, linear, strict=True)] + [[*linear, coefficient_of()]]
    eigenvalue = ring.variables[-1]
    shifted = [[eigenvalue * int(i == j) - entry for j, entry in enumerate(row)] for i, row in enumerate(matrix)]
    characteristic = determinant(shifted)
    discriminant = characteristic.discriminant(len(family.parameters)) if size > 1 else ring.constant(1)
    small = Ring(family.parameters)

    def without_eigenvalue(value: Any) -> Any:
        return small.context.from_dict({powers[:-1]: c for powers, c in value.to_dict().items()})

    return ParameterPolynomials(
        family.parameters,
        without_eigenvalue(determinant(matrix)),
        without_eigenvalue(determinant(augmented)),
        without_eigenvalue(discriminant),
    )
