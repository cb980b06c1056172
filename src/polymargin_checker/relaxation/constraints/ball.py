"""ball:  r² − ‖ωδ‖² ≥ 0, for L2 and for L1, whose ball lies inside that of L2."""

from __future__ import annotations

from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import EnclosedMatrix, QuadraticForms
from polymargin_checker.relaxation.numbers import Multipliers
from polymargin_checker.relaxation.scene import Scene


def ball(given: Multipliers, scene: Scene, forms: QuadraticForms) -> None:
    found = given.number("ball")
    if found is None or not found.any():
        return
    if not scene.region.has_ball:
        raise Refused(f"{given.name}: a ball where the norm has none")
    exact = scene.arithmetic.exact
    multipliers = exact(found)
    forms.row(-(multipliers * exact([[scene.region.square]])))
    add_norm(forms, scene, multipliers)


def add_norm(forms: QuadraticForms, scene: Scene, multipliers: EnclosedMatrix) -> None:
    """Add multiplier · ‖ωδ‖²."""
    coordinates = scene.coordinates
    if coordinates.directions is not None:
        forms.block(multipliers, coordinates.gram, 1)
        if len(coordinates.own):
            squares = scene.arithmetic.exact(scene.region.squared_weights[None, coordinates.own])
            forms.diagonal(multipliers @ squares, 1 + coordinates.first_own)
    else:
        forms.diagonal(multipliers @ scene.arithmetic.exact(scene.region.squared_weights[None]), 1)
