"""definition:  w_i − bracket_i(ξ) = 0, the bracket is what the forms of earlier stages make of w_i."""

from __future__ import annotations

from polymargin_checker.relaxation.arithmetic import EnclosedMatrix, QuadraticForms
from polymargin_checker.relaxation.expansion import Group
from polymargin_checker.relaxation.numbers import Multipliers
from polymargin_checker.relaxation.scene import Scene


def definition(given: Multipliers, scene: Scene, forms: QuadraticForms) -> None:
    found = given.free("definition", scene.remainders)
    if found is None:
        return
    for group in scene.groups:
        if group.remainder is None:
            continue
        number, place = group.remainder
        multipliers = scene.arithmetic.exact(found[:, number : number + len(group)])
        forms.row(-multipliers, scene.first + place)
        add_bracket(forms, scene, group, multipliers)


def add_bracket(forms: QuadraticForms, scene: Scene, group: Group, weights: EnclosedMatrix) -> None:
    """Add Σ weight_i · bracket_i; weights (count, forms of the group)."""
    if group.linear.shape[1]:
        forms.row(weights @ group.linear, scene.first)
    add_products(forms, scene, {source: weights @ part for source, part in group.products.items()})


def add_products(forms: QuadraticForms, scene: Scene, weights: dict[int, EnclosedMatrix]) -> None:
    """Add Σ weights[source] · t t' of stages."""
    for source, factors in weights.items():
        left, right = scene.factors(source)
        if left is right:
            forms.squares(factors, left)
        else:
            forms.products(factors, left, right)
