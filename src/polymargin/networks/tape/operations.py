"""What model readers have in common: tensors whose entries are polynomials of linear forms.

Every entry of a `Tensor` is P(d·v + s): a polynomial P in one *form*, where the direction d is a sparse row over the
network's *atoms* v and the shift s a number. The first atoms are the inputs; every further atom is P(form) of earlier ones.
Affine maps make new forms, exactly as matrices in float64; elementwise arithmetic stays on the form as long as it can, so
that z·z·z, z**3 and a Horner scheme all become the same polynomial of the same z. What mixes entries of degree two
and more turns them into atoms first. A product of two different forms is an atom as well. `fold` makes a network of the atoms.

Rounding happens in float64 and only where numbers are really multiplied out: consecutive affine maps, coefficients of
products of polynomials, forms that are brought together because one is a multiple of the other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from polymargin.errors import InputError

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Form = tuple[int, float]  # a direction and a shift
Value: TypeAlias = Any
"""A `Tensor`, or a constant: a number or an array."""
Argument: TypeAlias = Any
"""What a model hands to an operation beside tensors: numbers, tuples, names. The operation checks it."""
Operation: TypeAlias = Callable[..., Value]
"""A function of PyTorch, or an operator of ONNX, on values of a tape."""
Rows: TypeAlias = Any
"""A scipy.sparse matrix over the atoms, which has no types."""
Mask: TypeAlias = NDArray[np.bool_]
Lengths: TypeAlias = int | Sequence[int] | NDArray[np.int64]
"""One whole number for all axes, or one each."""
Pads: TypeAlias = Sequence[tuple[int, int]]
"""Entries before and after, for each axis."""
Series = tuple[tuple[float, ...], str]  # coefficients and a basis
Pieces = tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]  # breakpoints and pieces
Applied = Series | Pieces

# What a file may ask for at most: degree of one activation (as in the checker), entries of a tensor, weights of a layer, work.
LARGEST_DEGREE = 64
# Products are multiplied out up to this degree, beyond it for plain powers alone: a Clenshaw scheme would lose its digits.
LARGEST_EXPANDED = 16
LARGEST_TENSOR = 1 << 20
LARGEST_WORK = 1 << 26
# Work is counted in numbers that NumPy touches; what is done in Python, one by one, counts for more.
ENTRY_WORK, ATOM_WORK = 100, 1000
# Two forms count as multiples of each other up to this relative rounding error.
PARALLEL = 4 * np.finfo(np.float64).eps
CONSTANT = -1


class ShapeError(InputError):
    """Tensors whose shapes do not fit what is done to them."""


class OperationTape:
    """The atoms and the directions of one network under construction.

    whole_matrices   keep products of matrices as one thing, to recognise attention, instead of multiplying their entries
    """

    def __init__(self, whole_matrices: bool = False) -> None:
        self.whole_matrices = whole_matrices
        self.multiplied_matrices = False
        self.levels: list[int] = []  # of every atom; inputs have level 0
        self.atoms: list[tuple[int, float, tuple[float, ...]]] = []  # direction, shift, coefficients; none for inputs
        self.input_count = 0
        # Atoms that are products of two forms, and not P(form).
        self.products: dict[int, tuple[Form, Form]] = {}
        # Atoms that are another function of a form: a series in a basis other than powers, or a piecewise polynomial.
        self.applied: dict[int, tuple[Form, Applied]] = {}
        # A product of three matrices, and which atoms are its entries.
        self.attention: tuple[Tensor, Tensor, Tensor] | None = None
        self.attention_atoms = range(0)
        # z and a z + c as a form of its own: (direction, shift, c, a) to the new direction and shift.
        self.renamed: dict[tuple[int, float, float, float], tuple[int, float]] = {}
        self._known: dict[tuple[object, ...], int] = {}
        self._blocks: list[Rows] = []  # directions as sparse matrices
        self._starts: list[int] = []
        self._direction_levels: list[Indices] = []  # per block: the highest level of an atom in each direction
        self._direction_count = 0
        self._work = 0

    def input(self, shape: tuple[int, ...]) -> Tensor:
        """Return the network's input; only one."""
        size = checked_size(shape)
        if self.levels or not size:
            raise InputError(f"an input of shape {shape}; expected one input with at least one entry")
        self.levels = [0] * size
        self.input_count = size
        directions = self.directions(sparse.identity(size, format="csr"))
        return Tensor(self, shape, directions, np.zeros(size), np.tile([0.0, 1.0], (size, 1)))

    def directions(self, rows: Rows) -> Indices:
        """Register the rows of a sparse matrix over the atoms; empty rows are the direction CONSTANT."""
        matrix = sparse.csr_matrix(rows)
        matrix.eliminate_zeros()
        self.spend(matrix.nnz + matrix.shape[0] + len(self.levels))
        self._blocks.append(matrix)
        self._starts.append(self._direction_count)
        entries = np.append(np.array(self.levels)[matrix.indices], 0)
        self._direction_levels.append(np.maximum.reduceat(entries, matrix.indptr[:-1]))
        numbers = np.arange(self._direction_count, self._direction_count + matrix.shape[0])
        self._direction_count += matrix.shape[0]
        return np.where(np.diff(matrix.indptr) == 0, CONSTANT, numbers)

    def rows(self, directions: Indices) -> Rows:
        """Return the directions as one sparse matrix over all atoms."""
        width = len(self.levels)
        if not len(directions):
            return sparse.csr_matrix((0, width))
        blocks = np.searchsorted(self._starts, directions, side="right") - 1
        parts, order = [], []
        for block in np.unique(blocks[directions != CONSTANT]):
            chosen = np.flatnonzero((blocks == block) & (directions != CONSTANT))
            part = self._blocks[block][directions[chosen] - self._starts[block]]
            part.resize(part.shape[0], width)
            parts.append(part)
            order.append(chosen)
        empty = np.flatnonzero(directions == CONSTANT)
        parts.append(sparse.csr_matrix((len(empty), width)))
        order.append(empty)
        return sparse.vstack(parts, format="csr")[np.argsort(np.concatenate(order))]

    def atom(self, direction: int, shift: float, coefficients: tuple[float, ...]) -> int:
        """Return the number of an atom, the same for the same polynomial of the same form."""
        key = (direction, shift, coefficients)
        if key not in self._known:
            self._known[key] = len(self.levels)
            self.levels.append(1 + self._direction_level(direction))
            self.atoms.append(key)
            self.spend(ATOM_WORK)
        return self._known[key]

    def product(self, left: Form, right: Form) -> int:
        """Return the number of an atom that is the product of two forms, in whatever order they come."""
        key = (min(left, right), max(left, right))
        if key not in self._known:
            self._known[key] = len(self.levels)
            self.products[len(self.levels)] = (left, right)
            self.levels.append(1 + max(self._direction_level(left[0]), self._direction_level(right[0])))
            self.atoms.append((CONSTANT, 0.0, ()))
            self.spend(ATOM_WORK)
        return self._known[key]

    def applied_to(self, form: Form, function: Applied) -> int:
        """Return the number of an atom that is a series or a piecewise polynomial of a form."""
        key = (function, form)
        if key not in self._known:
            self._known[key] = len(self.levels)
            self.applied[len(self.levels)] = (form, function)
            self.levels.append(1 + self._direction_level(form[0]))
            self.atoms.append((CONSTANT, 0.0, ()))
            self.spend(ATOM_WORK)
        return self._known[key]

    def units(self, atoms: Sequence[int] | Indices, shape: tuple[int, ...]) -> Tensor:
        """Return a tensor of atoms as they are."""
        size = len(atoms)
        rows = sparse.csr_matrix((np.ones(size), (np.arange(size), atoms)), shape=(size, len(self.levels)))
        return Tensor(self, shape, self.directions(rows), np.zeros(size), np.tile([0.0, 1.0], (size, 1)))

    def attention_of(self, factors: tuple[Tensor, Tensor, Tensor], shape: tuple[int, ...]) -> Tensor:
        """Return the entries of a product of three matrices, as atoms of level 1."""
        size = checked_size(shape)
        if self.attention is not None or any(not factor.affine or self.level_of(factor) for factor in factors):
            raise InputError("more than one attention module, or one behind another layer")
        first = len(self.levels)
        self.attention, self.attention_atoms = factors, range(first, first + size)
        self.levels += [1] * size
        self.atoms += [(CONSTANT, 0.0, ())] * size
        return self.units(first + np.arange(size), shape)

    def _direction_level(self, direction: int) -> int:
        if direction == CONSTANT:
            return 0
        block = bisect_right(self._starts, direction) - 1
        return int(self._direction_levels[block][direction - self._starts[block]])

    def level_of(self, tensor: Tensor) -> int:
        """Return the highest level of an atom in the forms of a tensor."""
        columns = self.rows(tensor.directions).indices
        return int(np.array(self.levels)[columns].max(initial=0))

    def spend(self, amount: int) -> None:
        """Count work, and refuse a model that needs too much."""
        self._work += amount
        if self._work > LARGEST_WORK:
            raise InputError(f"the model needs more than {LARGEST_WORK} numbers when it is written as matrices")


@dataclass(frozen=True, eq=False)
class Tensor:
    """Entries in C order: P(direction·atoms + shift), coefficients from the constant up, one row per entry."""

    tape: OperationTape
    shape: tuple[int, ...]
    directions: Indices
    shifts: Array
    coefficients: Array

    @property
    def size(self) -> int:
        """Return the number of entries."""
        return len(self.directions)

    @property
    def degree(self) -> int:
        """Return the largest degree of an entry."""
        return int(self.coefficients.shape[1]) - 1

    @property
    def numbers(self) -> Indices:
        """Return the position of every entry: what is done to this array with NumPy can be done to the tensor with `take`."""
        return np.arange(self.size).reshape(self.shape)

    def take(self, index: ArrayLike) -> Tensor:
        """Return a tensor of the shape of `index` with the entries it names; -1 stands for the constant zero."""
        index = np.asarray(index, dtype=np.intp)
        checked_size(index.shape)
        self.tape.spend(index.size)
        flat = index.reshape(-1)
        missing = flat < 0
        result = (self.directions[flat], self.shifts[flat], self.coefficients[flat])
        if missing.any():
            result[0][missing], result[1][missing], result[2][missing] = CONSTANT, 0.0, 0.0
        taken = Tensor(self.tape, index.shape, *result)
        return taken if self.affine else taken.with_coefficients(taken.coefficients)  # the degree may have fallen

    def with_coefficients(self, coefficients: Array) -> Tensor:
        """Return a tensor of the same forms with other coefficients."""
        self.tape.spend(coefficients.size)
        if not np.isfinite(coefficients).all():
            raise InputError("numbers leave the range of float64; rescale the weights")
        used = np.flatnonzero(np.any(coefficients != 0.0, axis=0))
        degree = max(int(used[-1]) if len(used) else 0, 1)
        if degree > LARGEST_DEGREE:
            raise InputError(f"a polynomial of degree {degree}; at most {LARGEST_DEGREE} is accepted")
        # What no longer depends on its form (0 · z) is a constant.
        fixed = ~np.any(coefficients[:, 1:] != 0.0, axis=1)
        directions, shifts = np.where(fixed, CONSTANT, self.directions), np.where(fixed, 0.0, self.shifts)
        # Adding zero turns -0.0 into 0.0, so that equal polynomials look equal.
        return Tensor(self.tape, self.shape, directions, shifts, coefficients[:, : degree + 1] + 0.0)

    @property
    def affine(self) -> bool:
        """Return whether every entry is an affine function of its form."""
        return self.degree <= 1

    def as_forms(self) -> Tensor:
        """Return the same entries with P(z) = z where P has degree one everywhere: a z + c is a form of its own."""
        if not self.affine:
            return self
        constants, slopes = self.coefficients.T
        if np.all((slopes == 1.0) & (constants == 0.0) | (self.directions == CONSTANT)):
            return self
        shifts = slopes * self.shifts + constants
        if np.all((slopes == 1.0) | (self.directions == CONSTANT)):
            directions = self.directions
        else:
            directions = self.tape.directions(sparse.diags(slopes) @ self.tape.rows(self.directions))
        self.tape.spend(ENTRY_WORK * self.size)
        old = zip(self.directions.tolist(), self.shifts.tolist(), constants.tolist(), slopes.tolist(), strict=True)
        self.tape.renamed.update(zip(old, zip(directions.tolist(), shifts.tolist(), strict=True), strict=True))
        fixed = directions == CONSTANT
        identity = np.where(fixed[:, None], np.stack([shifts, 0 * shifts], axis=1), [0.0, 1.0])
        return Tensor(self.tape, self.shape, directions, np.where(fixed, 0.0, shifts), identity)

    def realised(self) -> tuple[Rows, Array]:
        """Return every entry as an affine function of the atoms: a sparse matrix and a vector of constants."""
        slopes = self.coefficients[:, 1].copy() if self.degree else np.zeros(self.size)
        constants = self.coefficients[:, 0] + slopes * self.shifts
        bent = np.any(self.coefficients[:, 2:] != 0.0, axis=1) & (self.directions != CONSTANT)
        atoms = [
            self.tape.atom(int(self.directions[i]), float(self.shifts[i]), _trimmed(self.coefficients[i]))
            for i in np.flatnonzero(bent)
        ]
        slopes[bent | (self.directions == CONSTANT)] = 0.0
        constants[bent] = 0.0
        fixed = self.directions == CONSTANT
        constants[fixed] = self.coefficients[fixed, 0]
        width = len(self.tape.levels)
        rows = sparse.diags(slopes) @ self.tape.rows(np.where(bent, CONSTANT, self.directions))
        units = sparse.csr_matrix((np.ones(len(atoms)), (np.flatnonzero(bent), atoms)), shape=(self.size, width))
        return rows + units, constants


def is_series(function: Applied) -> bool:
    """Return whether a function is a series, and not a piecewise polynomial."""
    return isinstance(function[1], str)


def checked_size(shape: Sequence[int]) -> int:
    """Return the number of entries of a shape, if it is a shape and not too large."""
    if any(length < 0 for length in shape):
        raise InputError(f"a tensor of shape {tuple(shape)}; no length may be negative")
    size = prod(int(length) for length in shape)
    if size > LARGEST_TENSOR:
        raise InputError(f"a tensor of shape {tuple(shape)}; at most {LARGEST_TENSOR} entries are accepted")
    return size


def _trimmed(row: Array) -> tuple[float, ...]:
    values = row.tolist()
    while values[-1] == 0.0:
        values.pop()
    return tuple(values)
