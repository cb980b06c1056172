"""range:  (v − l)(h − v) ≥ 0 with the enclosure [l, h] of every variable after δ."""

from __future__ import annotations

from polymargin_checker.relaxation.arithmetic import QuadraticForms
from polymargin_checker.relaxation.constraints.intervals import take_off_variables
from polymargin_checker.relaxation.numbers import Multipliers
from polymargin_checker.relaxation.scene import Scene


def ranges(given: Multipliers, scene: Scene, forms: QuadraticForms) -> None:
    found = given.signed("range", scene.variables)
    if found is not None:
        low, high = (end[: scene.variables] for end in scene.enclosures.variables)
        take_off_variables(forms, scene, found, (low, high), scene.first)
