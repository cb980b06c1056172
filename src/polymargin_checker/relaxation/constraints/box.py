"""box:  (δ_i − l_i)(h_i − δ_i) ≥ 0 for every coordinate."""

from __future__ import annotations

import numpy as np

from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import QuadraticForms
from polymargin_checker.relaxation.constraints.intervals import take_off_variables
from polymargin_checker.relaxation.numbers import Multipliers
from polymargin_checker.relaxation.scene import Scene


def box(given: Multipliers, scene: Scene, forms: QuadraticForms) -> None:
    region = scene.region
    found = given.signed("box", region.dimension)
    if found is None:
        return
    own = scene.coordinates.own
    if scene.coordinates.directions is None:
        take_off_variables(forms, scene, found, (region.low, region.high), 1)
    elif np.delete(found, own, axis=1).any():
        raise Refused(f"{given.name}: a box in coordinates of forms")
    else:
        ends = region.low[own], region.high[own]
        take_off_variables(forms, scene, found[:, own], ends, 1 + scene.coordinates.first_own)
