"""The directions on which a polynomial depends, decided exactly.

The *active subspace* of B is the span of all its gradients. A direction in which B bends by 2⁻⁶⁰ belongs to it as much as any
other: it may be the one in which the boundary lies. So its dimension is the rank of gradients at random points modulo random
primes, and its directions are rational vectors, rounded where floats are needed.

A network sees its input through the rows of its first layer. As many columns of that matrix as its rank are enough to see
everything the network does, so gradients are taken in those coordinates alone, however many inputs there are.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from polymargin.boundary.residues import PRIMES, ResidueField, residue_fields
from polymargin.boundary.sources import Source
from polymargin.polynomials import Graph, Program, evaluate, flatten, gradient, to_rational

Vector: TypeAlias = list[Fraction]

# No boundary with more active variables is ever enumerated, so their exact number does not matter.
MOST_SAMPLES = 24


@dataclass(frozen=True, eq=False)
class ActiveSpace:
    """`dimension` of the span of all gradients, and rational vectors that span it; None if it is everything."""

    dimension: int
    directions: list[Vector] | None


def active_space(source: Source) -> ActiveSpace:
    """Return the active subspace of a polynomial of degree at least one."""
    forms = source.forms()
    rows = None if forms is None else forms[0]
    columns = list(range(source.dimension)) if rows is None else _independent_columns(source, rows)
    selection = np.eye(source.dimension)[:, columns]
    seen = source if len(columns) == source.dimension else source.on_subspace(selection, np.zeros(source.dimension))
    program = _gradient_program(seen)
    rank = _gradient_rank(source, program)
    if source.radicands:  # directions could be irrational: they are not looked for
        return ActiveSpace(len(columns), None)
    if rank == len(columns):
        if rank == source.dimension or rows is None:
            return ActiveSpace(rank, None)
        return ActiveSpace(rank, [[Fraction(entry) for entry in row] for row in rows.tolist()])
    gradients = _independent_gradients(program, rank)
    if rows is None:
        return ActiveSpace(rank, _echelon(gradients))
    if len(columns) == source.dimension:
        return ActiveSpace(rank, gradients)
    return ActiveSpace(rank, _in_all_coordinates(gradients, rows, columns))


def _gradient_program(source: Source) -> Program:
    graph = Graph()
    variables = graph.inputs(source.dimension)
    return flatten(graph, gradient(source.polynomial(variables), variables))


def _independent_columns(source: Source, rows: NDArray[np.float64]) -> list[int]:
    """Return the first columns that span the column space."""
    best: list[int] = []
    for field in residue_fields(source.fingerprint, PRIMES, source.radicands):
        pivots = _pivots(field, [[field(Fraction(entry)) for entry in row] for row in rows.tolist()])
        best = max(best, pivots, key=len)
        if len(best) == min(rows.shape):
            break
    return best


def _pivots(field: ResidueField, rows: Sequence[Sequence[Any]]) -> list[int]:
    reduced, rank = flint.nmod_mat([[int(entry) for entry in row] for row in rows], field.prime).rref()
    table = reduced.table()
    return [next(j for j, entry in enumerate(table[i]) if int(entry)) for i in range(rank)]


def _gradient_rank(source: Source, program: Program) -> int:
    """Return the rank of gradients at random points. It can only be too low, so several primes must agree on less than all."""
    size = program.input_count
    samples, best = min(size, MOST_SAMPLES), 0
    for field in residue_fields(source.fingerprint, PRIMES, source.radicands):
        points = [[field.random() for _ in range(size)] for _ in range(samples)]
        best = max(best, field.rank([evaluate(program, point, lift=field) for point in points]))
        if best == samples:
            return size
    return best


def _independent_gradients(program: Program, rank: int) -> list[Vector]:
    """Return gradients at random points until `rank` independent ones are there."""
    generator = random.Random(20261)
    found: list[Vector] = []
    while len(found) < rank:
        point = [Fraction(generator.randrange(-8, 9), 4) for _ in range(program.input_count)]
        candidate = [Fraction(entry) for entry in evaluate(program, point, lift=Fraction)]
        if _matrix([*found, candidate]).rank() > len(found):
            found.append(candidate)
    return found


def _echelon(vectors: list[Vector]) -> list[Vector]:
    """Return simpler vectors with the same span: gradients are mixtures of directions that have nothing to do with each other."""
    reduced, rank = _matrix(vectors).rref()
    return [[Fraction(int(x.p), int(x.q)) for x in row] for row in reduced.tolist()[:rank]]


def _in_all_coordinates(gradients: list[Vector], rows: NDArray[np.float64], columns: list[int]) -> list[Vector]:
    """Return the vectors of the row space that have the given entries in the independent columns."""
    exact = [[Fraction(entry) for entry in row] for row in rows.tolist()]
    chosen: list[Vector] = []
    for row in exact:
        if _matrix([[entry[j] for j in columns] for entry in [*chosen, row]]).rank() > len(chosen):
            chosen.append(row)
    square = _matrix([[row[j] for j in columns] for row in chosen]).transpose()
    weights = square.solve(_matrix(gradients).transpose()).transpose()
    return [[Fraction(int(x.p), int(x.q)) for x in row] for row in (weights * _matrix(chosen)).tolist()]


def _matrix(rows: Sequence[Sequence[Fraction]]) -> Any:
    return flint.fmpq_mat([[to_rational(entry) for entry in row] for row in rows])
