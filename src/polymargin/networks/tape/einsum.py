"""Einstein sums, and products of matrices, which are such sums.

The output is Σ of products of entries, over the letters that it does not have.

Operands are contracted from the left, two at a time; a letter is summed as soon as nothing later needs it. With one constant
factor a step is one affine map, with two tensors it is products of their entries and a sum.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.errors import InputError
from polymargin.networks.tape.arithmetic import multiply
from polymargin.networks.tape.attention import MatrixProduct, product
from polymargin.networks.tape.linear import linear
from polymargin.networks.tape.operations import ShapeError, Tensor, Value, checked_size
from polymargin.networks.tape.windows import check_work, rearranged, sums


def einsum(equation: str, operands: Sequence[Value]) -> Value:
    """Return an Einstein sum in NumPy's notation, with letters, '...' and an optional '->'."""
    terms, output = _parsed(equation, [np.ndim(v) if not isinstance(v, Tensor) else len(v.shape) for v in operands])
    if not any(isinstance(value, Tensor) for value in operands):
        return np.einsum(f"{','.join(terms)}->{output}", *(np.asarray(value) for value in operands))
    value, letters = _diagonal(operands[0], terms[0])
    for position, (other, term) in enumerate(zip(operands[1:], terms[1:], strict=True), start=2):
        wanted = set(output).union(*terms[position:])
        value, letters = _contracted((value, letters), _diagonal(other, term), wanted)
    gone = [place for place, letter in enumerate(letters) if letter not in output]
    if gone:
        value = (
            sums(value, gone, keep=False, mean=False) if isinstance(value, Tensor) else np.sum(value, axis=tuple(gone))
        )
        letters = "".join(letter for letter in letters if letter in output)
    order = [letters.index(letter) for letter in output]
    if order == sorted(order):
        return value
    return rearranged(value, lambda a: np.transpose(a, order))


def matmul(left: Value, right: Value) -> Value:
    """Return left @ right, of constants and of tensors."""
    depend = [isinstance(value, (Tensor, MatrixProduct)) for value in (left, right)]
    if not any(depend):
        return np.matmul(left, right)
    if all(depend):
        tape = (left if isinstance(left, Tensor) else left.left).tape
        tape.multiplied_matrices = True
        if tape.whole_matrices:
            return product(left, right)
    elif not any(isinstance(value, Tensor) for value in (left, right)):
        raise InputError("a product of two matrices that depend on the input, with a constant one, is not read")
    first, second = np.shape(left) if not depend[0] else left.shape, np.shape(right) if not depend[1] else right.shape
    fits = first and second and first[-1] == second[-2 if len(second) > 1 else -1]
    try:
        np.broadcast_shapes(first[:-2], second[:-2])
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"matrices of shapes {first} and {second} cannot be multiplied")
    rows, columns = "...i" if len(first) > 1 else "", "k" if len(second) > 1 else ""
    stack = "..." if columns else ""
    return einsum(f"{rows}j,{stack}j{columns}->{'...' if rows or columns else ''}{rows[3:]}{columns}", [left, right])


def _parsed(equation: str, axes: list[int]) -> tuple[list[str], str]:
    """Return one string of letters per operand and for the output; '...' becomes letters of its own."""
    text = re.sub(r"\s", "", equation)
    if not re.fullmatch(r"[a-zA-Z.,]+(->[a-zA-Z.]*)?", text):
        raise InputError(f"the equation {equation[:60]!r}; expected letters, commas and ->")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(axes):
        raise InputError(f"the equation {equation[:60]!r} has {len(terms)} operands; {len(axes)} are given")
    free = [letter for letter in string.ascii_letters if letter not in text]
    widths = [
        count - len(term.replace("...", "")) if "..." in term else 0 for term, count in zip(terms, axes, strict=True)
    ]
    if any(width < 0 for width in widths) or max(widths) > len(free):
        raise InputError(f"the equation {equation[:60]!r} does not fit operands with {axes} axes")
    shared = "".join(free[: max(widths)])
    terms = [term.replace("...", shared[len(shared) - width :]) for term, width in zip(terms, widths, strict=True)]
    if arrow:
        output = right.replace("...", shared)
    else:
        letters = "".join(terms)
        output = shared + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in shared))
    fits = all(len(term) == count and "." not in term for term, count in zip(terms, axes, strict=True))
    if not fits or "." in output or len(set(output)) < len(output) or set(output) - set("".join(terms)):
        raise InputError(f"the equation {equation[:60]!r} does not fit operands with {axes} axes")
    return terms, output


def _diagonal(value: Value, term: str) -> tuple[Value, str]:
    """Return the operand with one axis for a letter that occurs twice: the diagonal."""
    letters = "".join(dict.fromkeys(term))
    if letters == term:
        return value if isinstance(value, Tensor) else np.asarray(value), term
    return rearranged(value, lambda a: np.einsum(f"{term}->{letters}", a)), letters


def _contracted(first: tuple[Value, str], second: tuple[Value, str], wanted: set[str]) -> tuple[Value, str]:
    """Return the product of two operands, summed over the letters that nothing later needs."""
    lengths: dict[str, int] = {}
    for value, letters in (first, second):
        for letter, length in zip(letters, value.shape, strict=True):
            if lengths.setdefault(letter, length) != length:
                if 1 not in (lengths[letter], length):
                    raise ShapeError(f"the letter {letter!r} stands for {lengths[letter]} and for {length} entries")
                lengths[letter] = max(lengths[letter], length)
    kept = [letter for letter in lengths if letter in wanted]
    summed = [letter for letter in lengths if letter not in wanted]
    order = kept + summed
    shape = [lengths[letter] for letter in order]
    check_work(shape)
    checked_size(shape[: len(kept)])

    def spread(value: ArrayLike, letters: str) -> NDArray[np.float64]:
        """Return an array with all letters as axes, those of the operand in place."""
        turned = np.transpose(value, [letters.index(letter) for letter in order if letter in letters])
        places = [slice(None) if letter in letters else None for letter in order]
        return np.broadcast_to(turned[tuple(places)], shape)

    flat = (*shape[: len(kept)], -1)
    tensors = [isinstance(value, Tensor) for value, _ in (first, second)]
    if not any(tensors):
        return np.sum(spread(*first) * spread(*second), axis=tuple(range(len(kept), len(order)))), "".join(kept)
    if all(tensors):
        (left, left_letters), (right, right_letters) = first, second
        product = multiply(
            left.take(spread(left.numbers, left_letters)), right.take(spread(right.numbers, right_letters))
        )
        index = product.numbers.reshape(flat)
        return linear(product, index, 1.0), "".join(kept)
    (tensor, letters), (constant, others) = (first, second) if tensors[0] else (second, first)
    columns = spread(tensor.numbers, letters).reshape(flat)
    return linear(tensor, columns, spread(np.asarray(constant, dtype=np.float64), others).reshape(flat)), "".join(kept)
