"""ED degrees and polar degrees as printed, each with its source.

[D]   Draisma, Horobeţ, Ottaviani, Sturmfels, Thomas: The Euclidean distance degree of an algebraic variety, FoCM 2016
[O]   Ottaviani, Spaenlehauer, Sturmfels: Exact solutions in structured low-rank approximation, SIMAX 2014
[F]   Friedland, Ottaviani: The number of singular vector tuples and uniqueness of best rank one approximation, FoCM 2014
[C]   Cartwright, Sturmfels: The number of eigenvalues of a tensor, LAA 2013
[P]   Piene: Polar classes of singular varieties, 1978, and Salmon's formulas for plane curves and cubic surfaces
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

from polymargin.boundary import bombieri_weyl


@dataclass(frozen=True)
class Published:
    """Equations, and what is printed of them: ED degrees in the Euclidean, a weighted and a generic metric, polar degrees."""

    name: str
    source: str
    equations: tuple[str, ...]
    euclidean: int | None = None
    weights: tuple[int, ...] | None = None
    weighted: int | None = None
    generic: int | None = None
    polar: tuple[int, ...] | None = None
    slow: bool = False


def determinant(rows: list[list[str]]) -> str:
    if len(rows) == 1:
        return rows[0][0]
    terms = []
    for column, entry in enumerate(rows[0]):
        minor = determinant([[*row[:column], *row[column + 1 :]] for row in rows[1:]])
        terms.append(f"{'-' if column % 2 else '+'} ({entry})*({minor})")
    return " ".join(terms)


def minors(rows: list[list[str]], size: int) -> tuple[str, ...]:
    found = [
        determinant([[rows[i][j] for j in columns] for i in chosen])
        for chosen in combinations(range(len(rows)), size)
        for columns in combinations(range(len(rows[0])), size)
    ]
    return tuple(dict.fromkeys(found))


def matrix(rows: int, columns: int) -> list[list[str]]:
    return [[f"x{i}{j}" for j in range(columns)] for i in range(rows)]


def hankel(degree: int, rows: int) -> list[list[str]]:
    return [[f"c{i + j}" for j in range(degree - rows + 2)] for i in range(rows)]


def symmetric(size: int) -> list[list[str]]:
    return [[f"s{min(i, j)}{max(i, j)}" for j in range(size)] for i in range(size)]


def veronese(variables: int, degree: int) -> tuple[str, ...]:
    """Binomials of all pairs of monomials with the same product; names in the order of `bombieri_weyl`."""
    words = list(combinations_with_replacement(range(variables), degree))
    names = {word: f"v{number:02}" for number, word in enumerate(words)}
    by_product: dict[tuple[int, ...], list[str]] = {}
    for first, second in combinations_with_replacement(words, 2):
        by_product.setdefault(tuple(sorted(first + second)), []).append(f"{names[first]}*{names[second]}")
    return tuple(f"{pair[0]} - {other}" for pair in by_product.values() for other in pair[1:])


def hurwitz(degree: int, leading: str) -> tuple[str, ...]:
    """The Hurwitz determinant of order degree − 1 for the polynomial with coefficients a0, …, the first of them as given."""

    def coefficient(index: int) -> str:
        return leading if index == 0 else f"a{index}" if 0 < index <= degree else "0"

    rows = [[coefficient(2 * j - i) for j in range(1, degree)] for i in range(1, degree)]
    return (determinant(rows),)


def segre(*sizes: int) -> tuple[str, ...]:
    """Tensors of rank one: 2-minors of all flattenings, as binomials."""
    indices: list[tuple[int, ...]] = [()]
    for size in sizes:
        indices = [(*index, entry) for index in indices for entry in range(size)]
    name = {index: "t" + "".join(map(str, index)) for index in indices}
    found: dict[str, None] = {}
    for first, second in combinations(indices, 2):
        for axis in range(len(sizes)):
            other_first = (*first[:axis], second[axis], *first[axis + 1 :])
            other_second = (*second[:axis], first[axis], *second[axis + 1 :])
            if {other_first, other_second} != {first, second}:
                pairs = sorted([sorted([name[first], name[second]]), sorted([name[other_first], name[other_second]])])
                found[f"{pairs[0][0]}*{pairs[0][1]} - {pairs[1][0]}*{pairs[1][1]}"] = None
    return tuple(found)


TABLE = [
    Published("circle", "[D] section 2", ("x**2 + y**2 - 1",), euclidean=2, generic=4),
    Published("ellipse", "[D] introduction", ("x**2 + 4*y**2 - 4",), euclidean=4),
    Published("parabola", "[D] section 2", ("y - x**2",), euclidean=3),
    Published("cardioid", "[D] section 1", ("(x**2 + y**2 + x)**2 - x**2 - y**2",), euclidean=3),
    Published("Hurwitz 3", "[D] section 3, table", hurwitz(3, "1"), euclidean=5),
    Published("Hurwitz 4", "[D] section 3, table", hurwitz(4, "1"), euclidean=5),
    Published("Hurwitz 5", "[D] section 3, table", hurwitz(5, "1"), euclidean=13),
    Published("Hurwitz 3, homogeneous", "[D] section 3, table", hurwitz(3, "a0"), euclidean=2),
    Published("Hurwitz 4, homogeneous", "[D] section 3, table", hurwitz(4, "a0"), euclidean=10),
    Published("Hurwitz 5, homogeneous", "[D] section 3, table", hurwitz(5, "a0"), euclidean=6),
    Published("2x2 rank 1", "[D] sections 2, 7", minors(matrix(2, 2), 2), euclidean=2, generic=6, polar=(2, 2, 2)),
    Published("2x3 rank 1", "[D] sections 2, 7", minors(matrix(2, 3), 2), euclidean=2, generic=10, polar=(0, 3, 4, 3)),
    Published("2x4 rank 1", "[D] section 7", minors(matrix(2, 4), 2), euclidean=2, generic=14),
    Published("2x5 rank 1", "[D] section 7", minors(matrix(2, 5), 2), euclidean=2, generic=18),
    Published("3x3 rank 1", "[D] section 7", minors(matrix(3, 3), 2), euclidean=3, generic=39, polar=(3, 6, 12, 12, 6)),
    Published("3x3 rank 2", "[D] sections 2, 7", minors(matrix(3, 3), 3), euclidean=3, generic=39),
    Published("3x4 rank 1", "[D] section 7", minors(matrix(3, 4), 2), euclidean=3, generic=83, slow=True),
    Published("twisted cubic", "[D] section 8", minors(hankel(3, 2), 2), None, (1, 3, 3, 1), 3, 7, (4, 3)),
    Published(
        "rational normal quartic", "[D] section 8", minors(hankel(4, 2), 2), None, (1, 4, 6, 4, 1), 4, 10, (6, 4)
    ),
    Published(
        "rational normal quintic", "[D] section 8", minors(hankel(5, 2), 2), None, (1, 5, 10, 10, 5, 1), 5, 13, (8, 5)
    ),
    Published(
        "rational normal sextic", "[D] section 8", minors(hankel(6, 2), 2), None, tuple(bombieri_weyl(2, 6)), 6, 16
    ),
    Published("Hankel 3x3 rank 2, unit", "[O] Hankel tables", minors(hankel(4, 3), 3), None, (1, 2, 3, 2, 1), 9, 13),
    Published("Hankel 3x3 rank 2", "[O] Hankel tables", minors(hankel(4, 3), 3), None, (1, 4, 6, 4, 1), 7, 13),
    Published(
        "Veronese surface", "[D] section 8, [C]", veronese(3, 2), None, tuple(bombieri_weyl(3, 2)), 3, 13, (3, 6, 4)
    ),
    Published("symmetric 3x3 rank 2", "[O]", minors(symmetric(3), 3), None, (1, 2, 2, 1, 2, 1), 3, 13, (0, 0, 4, 6, 3)),
    Published("ternary cubics rank 1", "[D] section 8, [C]", veronese(3, 3), None, tuple(bombieri_weyl(3, 3)), 7),
    Published("2x2x2 rank 1", "[D] section 8, [F]", segre(2, 2, 2), euclidean=6, generic=34),
    Published("2x2x3 rank 1", "[F]", segre(2, 2, 3), euclidean=8, slow=True),
    Published("Grassmannian of lines", "[D] section 2, quadrics", ("a*f - b*e + c*d",), euclidean=2, generic=10),
    Published("smooth cubic surface", "[D] section 2", ("x**3 + 2*y**3 + z**3 + w**3 + x*y*z",), generic=21),
    Published("Cayley's cubic", "[P]", ("x*y*z + x*y*w + x*z*w + y*z*w",), generic=13, polar=(4, 6, 3)),
    Published("smooth plane cubic", "[D] section 2", ("x**3 + 2*y**3 + 3*z**3 + 5*x*y*z",), generic=9, polar=(6, 3)),
    Published("nodal cubic", "[P]", ("y**2*z - x**3 - x**2*z",), generic=7, polar=(4, 3)),
    Published("cuspidal cubic", "[P]", ("y**2*z - x**3",), generic=6, polar=(3, 3)),
]
