"""Activations that are atoms of their own: piecewise polynomials, and series in other bases that are never written in powers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.forms import Forms
from polymargin.networks.recurrences import basis_named
from polymargin.networks.stages import LARGEST_DEGREE, Piecewise, Polynomial
from polymargin.networks.tape.arithmetic import divide, multiply, subtract
from polymargin.networks.tape.operations import CONSTANT, Applied, Tensor, Value, is_series
from polymargin.networks.tape.two_tensors import plain_forms

WINDOW = (-1.0, 1.0)


def series(tensor: Tensor, coefficients: Sequence[float], basis: str, domain: tuple[float, float] = WINDOW) -> Tensor:
    """Return Σ c_k P_k(z) for every entry x, z = (2x − a − b) / (b − a) on the domain (a, b)."""
    name = basis_named(basis).name
    row = np.trim_zeros(np.asarray(coefficients, dtype=np.float64), "b")
    if not 2 <= len(row) <= LARGEST_DEGREE + 1 or not np.isfinite(row).all():
        raise InputError(
            f"a series in the basis {name} with {len(row)} coefficients; expected 2 to {LARGEST_DEGREE + 1} finite ones"
        )
    low, high = domain
    if not (np.isfinite([low, high]).all() and low < high):
        raise InputError(f"a series on the domain ({low}, {high}); expected two finite numbers, the lower one first")
    if (low, high) != WINDOW:
        tensor = divide(subtract(multiply(tensor, 2.0), low + high), high - low)
    return _applied(tensor, (tuple(row.tolist()), name))


def piecewise(tensor: Value, breakpoints: Sequence[float], pieces: Sequence[Sequence[float]]) -> Value:
    """Return a piecewise polynomial of every entry, as `Piecewise` describes it: pieces in powers, one more than breakpoints."""
    if not isinstance(tensor, Tensor):
        return Piecewise(Forms.of(np.zeros((1, 1))), tuple(breakpoints), tuple(map(tuple, pieces))).activate(
            np.asarray(tensor, dtype=np.float64)
        )
    rows = tuple(tuple(float(c) for c in piece) for piece in pieces)
    return _applied(tensor, (tuple(float(point) for point in breakpoints), rows))


def _applied(tensor: Tensor, function: Applied) -> Tensor:
    """Return the function of every entry: an atom of its own, or a number where the entry is constant."""
    forms, tape = plain_forms(tensor), tensor.tape
    moving = forms.directions != CONSTANT
    pairs = zip(forms.directions[moving].tolist(), forms.shifts[moving].tolist(), strict=True)
    units = tape.units(
        np.array([tape.applied_to(form, function) for form in pairs], dtype=np.intp), (int(moving.sum()),)
    )
    directions = np.full(forms.size, CONSTANT, dtype=np.intp)
    directions[moving] = units.directions
    coefficients = np.stack([np.zeros(forms.size), moving.astype(np.float64)], axis=1)
    if not moving.all():
        point = Forms.of(np.zeros((1, 1)))
        stage = Polynomial(point, *function) if is_series(function) else Piecewise(point, *function)
        coefficients[~moving, 0] = stage.activate(forms.coefficients[~moving, 0])
    return Tensor(tape, tensor.shape, directions, np.zeros(forms.size), coefficients)
