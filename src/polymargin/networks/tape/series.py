"""Activations in Chebyshev polynomials: atoms of their own, which are never written in powers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.program.stages import LARGEST_DEGREE
from polymargin.networks.tape.arithmetic import plain_forms
from polymargin.networks.tape.operations import CONSTANT, Tensor


def chebyshev(tensor: Tensor, coefficients: Sequence[float]) -> Tensor:
    """Σ c_k T_k(z) for every entry z."""
    row = np.trim_zeros(np.asarray(coefficients, dtype=np.float64), "b")
    if not 2 <= len(row) <= LARGEST_DEGREE + 1 or not np.isfinite(row).all():
        raise InputError(
            f"a Chebyshev series with {len(row)} coefficients; expected 2 to {LARGEST_DEGREE + 1} finite ones"
        )
    forms = plain_forms(tensor)
    if np.any(forms.directions == CONSTANT):
        raise InputError("a Chebyshev series of something that does not depend on the input")
    pairs = zip(forms.directions.tolist(), forms.shifts.tolist(), strict=True)
    atoms = np.array([tensor.tape.series_of(form, tuple(row.tolist())) for form in pairs])
    units = tensor.tape.units(atoms, (len(atoms),))
    return units.take(units.numbers.reshape(tensor.shape))
