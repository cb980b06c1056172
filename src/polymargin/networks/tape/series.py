"""Activations as series in bases other than powers: atoms of their own, which are never written in powers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.recurrences import basis_named
from polymargin.networks.stages import LARGEST_DEGREE
from polymargin.networks.tape.arithmetic import divide, multiply, subtract
from polymargin.networks.tape.operations import CONSTANT, Tensor
from polymargin.networks.tape.two_tensors import plain_forms

WINDOW = (-1.0, 1.0)


def series(tensor: Tensor, coefficients: Sequence[float], basis: str, domain: tuple[float, float] = WINDOW) -> Tensor:
    """Σ c_k P_k(z) for every entry x, z = (2x − a − b) / (b − a) on the domain (a, b)."""
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
    forms = plain_forms(tensor)
    if np.any(forms.directions == CONSTANT):
        raise InputError(f"a series in the basis {name} of something that does not depend on the input")
    pairs = zip(forms.directions.tolist(), forms.shifts.tolist(), strict=True)
    atoms = np.array([tensor.tape.series_of(form, tuple(row.tolist()), name) for form in pairs])
    units = tensor.tape.units(atoms, (len(atoms),))
    return units.take(units.numbers.reshape(tensor.shape))
