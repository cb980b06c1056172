"""(v − l)(h − v) ≥ 0 for rows or variables v between l and h, which three constraints say of different v."""

from __future__ import annotations

import numpy as np

from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import EnclosedMatrix, Floats, QuadraticForms
from polymargin_checker.relaxation.enclosures import Ends
from polymargin_checker.relaxation.scene import Scene


def take_off_variables(forms: QuadraticForms, scene: Scene, multipliers: Floats, ends: Ends, start: int) -> None:
    """Take off Σ multiplier (ξ − l)(h − ξ) for the variables from `start` on; multipliers (count, variables)."""
    exact = scene.arithmetic.exact
    slopes, constants = _terms(scene, multipliers, ends)
    forms.diagonal(exact(multipliers), start)
    forms.row(slopes, start)
    forms.row(constants)


def take_off_rows(forms: QuadraticForms, scene: Scene, multipliers: Floats, ends: Ends, rows: EnclosedMatrix) -> None:
    """Take off Σ multiplier (row·ξ − l)(h − row·ξ)."""
    slopes, constants = _terms(scene, multipliers, ends)
    forms.squares(scene.arithmetic.exact(multipliers), rows)
    forms.linear(slopes, rows)
    forms.row(constants)


def _terms(scene: Scene, multipliers: Floats, ends: Ends) -> tuple[EnclosedMatrix, EnclosedMatrix]:
    """Return −multiplier (l + h) and Σ multiplier l h."""
    exact, used = scene.arithmetic.exact, multipliers.any(axis=0)
    if not (np.isfinite(ends[0][used]).all() and np.isfinite(ends[1][used]).all()):
        raise Refused("a multiplier of an interval without ends")
    low, high = (exact(np.where(used, end, 0.0)[None]) for end in ends)
    weights = exact(multipliers)
    ones = exact(np.ones((multipliers.shape[1], 1)))
    return -(weights * (low + high)), (weights * (low * high)) @ ones
