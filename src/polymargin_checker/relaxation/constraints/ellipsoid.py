"""ellipsoid:  1 − Σ D_i² δ_i² ≥ 0 for the proof's D."""

from __future__ import annotations

import numpy as np

from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import QuadraticForms
from polymargin_checker.relaxation.constraints.ball import add_norm
from polymargin_checker.relaxation.numbers import Multipliers
from polymargin_checker.relaxation.scene import Scene


def ellipsoid(given: Multipliers, scene: Scene, forms: QuadraticForms) -> None:
    found = given.number("ellipsoid")
    if found is None or not found.any():
        return
    shape = scene.ellipsoid
    if shape is None:
        raise Refused(f"{given.name}: the proof has no ellipsoid")
    multipliers = scene.arithmetic.exact(found)
    forms.row(-multipliers)
    if scene.coordinates.directions is None:
        forms.diagonal(multipliers @ scene.arithmetic.exact(shape.squares[None]), 1)
        return
    own = scene.coordinates.own
    if np.delete(shape.box, own).any():
        raise Refused(f"{given.name}: an ellipsoid of a box in coordinates of forms")
    add_norm(forms, scene, multipliers * scene.arithmetic.column([shape.share]))
    if len(own):
        box = scene.arithmetic.exact(shape.box[None, own])
        forms.diagonal(multipliers @ box, 1 + scene.coordinates.first_own)
