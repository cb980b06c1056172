"""The only rule: a functional is positive on the region if functional − Σ multiplier · constraint is.

`definite`   as a quadratic form in ξ = (1, …) it is positive definite
`linear`     nothing in it is quadratic, and its least value over the region and the intervals of the variables is positive
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin_checker.refusal import Refused, Unproved
from polymargin_checker.relaxation.arithmetic import Arithmetic, EnclosedMatrix, QuadraticForms
from polymargin_checker.relaxation.constraints import CONSTRAINTS
from polymargin_checker.relaxation.numbers import Multipliers
from polymargin_checker.relaxation.scene import Coordinates, Scene
from polymargin_checker.words import shown

JUDGES = ("definite", "linear")
Functional = Callable[[Scene, QuadraticForms], None]


def judge(word: Any, given: Multipliers, scene: Scene, functional: Functional) -> None:
    """Prove that the functionals of all claims are positive, or refuse."""
    if word == "definite":
        forms = scene.arithmetic.forms(given.count, scene.size)
        _collect(given, scene, functional, forms)
        if not forms.definite():
            raise Unproved(f"{given.name}: the form is not shown to be positive definite")
        return
    if word != "linear":
        raise Refused(f"{given.name}: unknown judge {shown(word)}; expected one of {', '.join(JUDGES)}")
    plain = scene
    if scene.coordinates.directions is not None:
        plain = Scene(scene.enclosures, Coordinates(scene.expansion), scene.ellipsoid, {}, scene.until)
    total = LinearForms(given.name, scene.arithmetic, (given.count, plain.size))
    _collect(given, plain, functional, total)
    if not (plain.least(total.total) > 0).all():
        raise Unproved(f"{given.name}: the least value of the form is not shown to be positive")


def _collect(given: Multipliers, scene: Scene, functional: Functional, forms: QuadraticForms) -> None:
    functional(scene, forms)
    for constraint in CONSTRAINTS.values():
        constraint(given, scene, forms)


class LinearForms:
    """Affine forms over ξ, one for each claim; what is quadratic is refused."""

    def __init__(self, name: str, arithmetic: Arithmetic, shape: tuple[int, int]) -> None:
        self.name, self.arithmetic, self.total = name, arithmetic, arithmetic.zeros(*shape)

    def row(self, values: EnclosedMatrix, start: int = 0) -> None:
        rows, size = self.total.shape
        before = self.arithmetic.zeros(rows, start)
        self.total = self.total + self.arithmetic.padded(values.beside([before, values]), size)

    def linear(self, weights: EnclosedMatrix, rows: EnclosedMatrix) -> None:
        used = weights.used.any(axis=0)
        if used.any():
            self.row(weights[:, used] @ rows[used])

    def squares(self, weights: EnclosedMatrix, rows: EnclosedMatrix) -> None:
        self._refuse(weights)

    def diagonal(self, values: EnclosedMatrix, start: int) -> None:
        self._refuse(values)

    def products(self, weights: EnclosedMatrix, left: EnclosedMatrix, right: EnclosedMatrix) -> None:
        self._refuse(weights)

    def block(self, weights: EnclosedMatrix, matrix: EnclosedMatrix, start: int) -> None:
        self._refuse(weights)

    def taken(self, places: NDArray[np.intp]) -> LinearForms:
        chosen = LinearForms(self.name, self.arithmetic, (len(places), self.total.shape[1]))
        chosen.total = self.total[places]
        return chosen

    def definite(self) -> bool:
        return False

    def positive(self) -> NDArray[np.bool_]:
        return np.zeros(self.total.shape[0], dtype=bool)

    def _refuse(self, weights: EnclosedMatrix) -> None:
        if weights.used.any():
            raise Refused(f"{self.name}: a linear judge of something quadratic")
