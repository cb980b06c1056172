"""argument:  (t − l)(h − t) ≥ 0 with the enclosure [l, h] of every form's t = z − p."""

from __future__ import annotations

from polymargin_checker.relaxation.arithmetic import QuadraticForms
from polymargin_checker.relaxation.constraints.intervals import take_off_rows
from polymargin_checker.relaxation.numbers import Multipliers
from polymargin_checker.relaxation.scene import Scene


def argument(given: Multipliers, scene: Scene, forms: QuadraticForms) -> None:
    found = given.signed("argument", scene.forms)
    if found is None:
        return
    for number, group in enumerate(scene.groups):
        multipliers = found[:, group.start : group.start + len(group)]
        if multipliers.any():
            take_off_rows(forms, scene, multipliers, scene.enclosures.of_forms(group), scene.arguments(number))
