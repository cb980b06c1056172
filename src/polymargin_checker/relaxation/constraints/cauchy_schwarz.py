"""cauchy_schwarz:  Σ θ_i (‖D⁻¹Q_iδ‖² − w_i²) ≥ 0 for w_i = δᵀQ_iδ and the proof's ellipsoid Σ D²δ² ≤ 1.

Q_i = ½ Σ_j m_ij (a_j a'_jᵀ + a'_j a_jᵀ) gives Σ θ_i Q_i D⁻² Q_i = ¼ Sᵀ (S'D⁻²S'ᵀ ∘ K) S with the rows S = [a; a'], S' = [a'; a]
and K = Σ θ_i [m_i; m_i][m_i; m_i]ᵀ; for squares, a = a', it is aᵀ (a D⁻² aᵀ ∘ Σ θ_i m_i m_iᵀ) a.
"""

from __future__ import annotations

from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import Floats, QuadraticForms
from polymargin_checker.relaxation.expansion import Group
from polymargin_checker.relaxation.numbers import Multipliers
from polymargin_checker.relaxation.scene import Scene


def cauchy_schwarz(given: Multipliers, scene: Scene, forms: QuadraticForms) -> None:
    found = given.signed("cauchy_schwarz", scene.remainders)
    if found is None or not found.any():
        return
    if given.count > 1:
        raise Refused(f"{given.name}: cauchy_schwarz in a lemma of several forms; expected one form")
    for group in scene.groups:
        if group.remainder is None:
            continue
        number, place = group.remainder
        multipliers = found[:, number : number + len(group)]
        if multipliers.any():
            if not _is_quadratic(scene, group):
                raise Refused(f"{given.name}: cauchy_schwarz for a remainder that is no quadratic form of the inputs")
            forms.diagonal(scene.arithmetic.exact(multipliers), scene.first + place)
            _take_off_squares(scene, group, multipliers, forms)


def _is_quadratic(scene: Scene, group: Group) -> bool:
    factors = [scene.expansion.groups[k] for s in group.products for k in scene.expansion.values[s].factors]
    sees_variables = any(factor.tail.used.any() for factor in factors)
    return bool(group.products) and not group.linear.used.any() and not sees_variables


def _take_off_squares(scene: Scene, group: Group, multipliers: Floats, forms: QuadraticForms) -> None:
    if scene.ellipsoid is None:
        raise Refused("cauchy_schwarz without an ellipsoid")
    exact, values, groups = scene.arithmetic.exact, scene.expansion.values, scene.expansion.groups
    weights = list(group.products.values())
    m = weights[0].beside(weights)
    sides = [[values[source].factors[side] for source in group.products] for side in (0, 1)]
    one, other = ([groups[k] for k in side] for side in sides)
    rows = [one[0].slopes.stacked([part.slopes for part in side]) for side in (one, other)]
    among = (m * exact(multipliers.T)).T @ m
    if sides[0] == sides[1]:
        seen = twisted = rows[0]
    else:
        seen, twisted = rows[0].stacked(rows), rows[0].stacked(rows[::-1])
        among = among.stacked([among.beside([among, among])] * 2) * exact([[0.25]])
    gram = (twisted * exact(scene.ellipsoid.inverse()[None])) @ twisted.T
    seen = scene.coordinates.seen(seen)
    forms.block(exact([[-1.0]]), seen.T @ ((gram * among) @ seen), 1)
