"""Networks of degree two: B > 0 on the ball ‖δ‖ ≤ r by one positive definite form for each rival (docs/theorems.md, section 9).

Around the point u, with the forms t_k + L_k·δ and t'_k + R_k·δ that are multiplied,

    B(u + δ) = β + g·δ + Σ_k c_k (L_k·δ)(R_k·δ),      F = B − μ (r² − ‖δ‖²), μ ≥ 0,

and if F is positive definite as a form in (1, δ), then B > 0 on the ball; for r infinite μ is 0. All rows are combinations of few
where there are fewer than inputs. With a matrix V of doubles, its rows nearly an orthonormal basis of theirs, δ = Vᵀη + δ⊥ with
Vδ⊥ = 0 and s = ‖δ⊥‖, a·δ = aVᵀη + e with |e| ≤ ε s, ε = ‖a − CV‖ for any C, and ‖δ‖² = ηᵀVVᵀη + s². For θ > 0

    |l f + r e + e f| ≤ θ (l² + r²)/2 + (e² + f²)/(2θ) + |e f|,

so it is enough that a form in (1, η, s) is positive definite; its side is the number of these rows plus two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from polymargin_checker.document import fields
from polymargin_checker.dyadics import number
from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import Arithmetic, EnclosedMatrix, QuadraticForms, down
from polymargin_checker.series import LETTERS, in_powers
from polymargin_checker.stages import Forms, Network, Polynomial, Product

Floats = NDArray[np.float64]
Classes = NDArray[np.int64]

THETA, MORE = 2.0**-45, 1 + 2.0**-20
"""θ, and what covers the rounding of bounds."""
LARGEST_WHOLE = 1_000
"""Inputs up to which δ itself is tried where the rows do not do."""
_AT_ONCE = 1 << 22
"""Entries of the forms that are made together."""


@dataclass(frozen=True, eq=False)
class Asked:
    """B > 0 on the ball of radius r around u, for a pair of classes; r is None for everywhere."""

    u: Floats
    label: int
    rival: int
    radius: fmpq | None
    multiplier: float


def read_quadric(point: Floats, label: int, rival: int, lower: fmpq | None, proof: Any) -> Asked:
    """Read a proof: one multiplier; the radius is the lower bound."""
    fields(proof, "quadric proof", ("kind", "multiplier"))
    value = number(proof["multiplier"], "multiplier")
    if value < 0:
        raise Refused("the multiplier of a quadric proof is negative")
    if lower is None and value != 0:
        raise Refused("a quadric proof for all distances has the multiplier 0")
    return Asked(point, label, rival, lower, down(value))


@dataclass(frozen=True, eq=False)
class _Values:
    """constant (w, 1) + slopes (w, n)·x + bends (w, products so far) · (products of forms)."""

    constant: EnclosedMatrix
    slopes: EnclosedMatrix
    bends: EnclosedMatrix
    is_affine: bool


class Quadrics:
    """The logits of a network of degree two as sums of products of forms, in doubles or in balls."""

    def __init__(self, network: Network, arithmetic: Arithmetic) -> None:
        self.network, self.arithmetic = network, arithmetic
        exact, n = arithmetic.exact, network.dimension
        first = _Values(exact(np.zeros((n, 1))), exact(np.eye(n)), arithmetic.zeros(n, 0), True)
        self._values = [first]
        left: list[_Values] = []
        right: list[_Values] = []
        self.count = 0
        self.is_seen_through_forms = all(source > 0 for source, _ in network.readout.blocks)
        for stage in network.stages:
            forms = [self._form(part) for part in stage.forms]
            if isinstance(stage, Product):
                self._values.append(self._product(forms))
                left.append(forms[0])
                right.append(forms[1])
            elif isinstance(stage, Polynomial):
                value, has_square = self._polynomial(stage, forms[0])
                self._values.append(value)
                if has_square:
                    left.append(forms[0])
                    right.append(forms[0])
                elif forms[0].is_affine:
                    self.is_seen_through_forms = False
            else:
                raise Refused("a quadric proof is about networks of polynomials, and this one has piecewise stages")
        if not left:
            raise Refused("the network multiplies nothing; use a hyperplane proof")
        self.left, self.right = self._stacked(left), self._stacked(right)
        same = [one is other for one, other in zip(left, right, strict=True)]
        widths = [part.constant.shape[0] for part in left]
        self.is_square = np.repeat(same, widths)

    def _stacked(self, parts: Sequence[_Values]) -> tuple[EnclosedMatrix, EnclosedMatrix]:
        return (
            parts[0].constant.stacked([part.constant for part in parts]),
            parts[0].slopes.stacked([part.slopes for part in parts]),
        )

    def _form(self, forms: Forms) -> _Values:
        exact = self.arithmetic.exact
        constant = exact(forms.bias[:, None])
        slopes = self.arithmetic.zeros(len(forms), self.network.dimension)
        bends, affine = self.arithmetic.zeros(len(forms), self.count), True
        for source, block in forms.blocks:
            below, weights = self._values[source], exact(block.dense)
            affine = affine and below.is_affine
            if source == 0:  # the first of them; as they are, without an error
                slopes = weights
                continue
            constant, slopes = constant + weights @ below.constant, slopes + weights @ below.slopes
            if not below.is_affine:
                bends = bends + self.arithmetic.padded(weights @ below.bends, self.count)
        return _Values(constant, slopes, bends, affine)

    def _product(self, forms: Sequence[_Values]) -> _Values:
        if not (forms[0].is_affine and forms[1].is_affine):
            raise Refused("a quadric proof is about networks of degree two")
        width = forms[0].constant.shape[0]
        start, self.count = self.count, self.count + width
        zeros = self.arithmetic.zeros
        bends = self.arithmetic.exact(np.eye(width, self.count, start))
        return _Values(zeros(width, 1), zeros(width, self.network.dimension), bends, False)

    def _polynomial(self, stage: Polynomial, form: _Values) -> tuple[_Values, bool]:
        c = in_powers(LETTERS[stage.basis], stage.coefficients.tolist())
        while len(c) > 1 and c[-1] == 0:
            c.pop()
        if len(c) > 3 or (len(c) == 3 and not form.is_affine):
            raise Refused("a quadric proof is about networks of degree two")
        width = form.constant.shape[0]
        c0, c1, c2 = (self.arithmetic.column([value] * width) for value in [*c, fmpq(0), fmpq(0)][:3])
        if len(c) < 3:
            bends = form.bends * c1 if form.bends.shape[1] else form.bends
            return _Values(c0 + c1 * form.constant, c1 * form.slopes, bends, form.is_affine), False
        start, self.count = self.count, self.count + width
        bends = c2 * self.arithmetic.exact(np.eye(width, self.count, start))
        return _Values(c0 + c1 * form.constant, c1 * form.slopes, bends, False), True

    def between(self, labels: Classes, rivals: Classes) -> tuple[EnclosedMatrix, EnclosedMatrix, EnclosedMatrix]:
        """Return constants (p, 1), slopes (p, n) and weights of the products (p, products) of f_label − f_rival."""
        exact, zeros = self.arithmetic.exact, self.arithmetic.zeros
        bias, count = self.network.readout.bias, len(labels)
        constant = exact(bias[labels, None]) - exact(bias[rivals, None])
        slopes, bends = zeros(count, self.network.dimension), zeros(count, self.count)
        for source, block in self.network.readout.blocks:
            below, rows = self._values[source], block.dense
            weights = exact(rows[labels]) - exact(rows[rivals])
            if source == 0:
                slopes = slopes + weights
                continue
            constant, slopes = constant + weights @ below.constant, slopes + weights @ below.slopes
            if below.bends.shape[1]:
                bends = bends + self.arithmetic.padded(weights @ below.bends, self.count)
        return constant, slopes, bends

    @cached_property
    def space(self) -> Space:
        """Return the directions that all rows see, found in doubles."""
        rows = [self._middle(self.left[1]), self._middle(self.right[1])[~self.is_square]]
        if not self.is_seen_through_forms:
            labels = np.arange(self.network.class_count)
            rows.append(self._middle(self.between(labels, np.zeros_like(labels))[1]))
        table = np.vstack(rows)
        table = table[table.any(axis=1)]
        count, n = table.shape
        if not np.isfinite(table).all() or not 0 < count < n - 1:
            return Space.whole(self.arithmetic, n)
        return Space(self.arithmetic, np.ascontiguousarray(np.linalg.qr(table.T)[0].T), True)

    @cached_property
    def exact_space(self) -> Space:
        """Return the exact span of the forms: that of the forms themselves, if nothing else is used, else all directions."""
        parts = [part for stage in self.network.stages for part in stage.forms]
        blocks = [block.dense for part in parts for source, block in part.blocks if source == 0]
        rows = np.unique(np.vstack(blocks), axis=0) if blocks else np.zeros((0, self.network.dimension))
        rows = rows[rows.any(axis=1)]
        n = self.network.dimension
        forms_see_inputs = all(source == 0 for part in parts for source, _ in part.blocks)
        if not (self.is_seen_through_forms and forms_see_inputs and 0 < len(rows) < n):
            return Space.whole(self.arithmetic, n)
        return Space(self.arithmetic, rows, False)

    def _middle(self, matrix: EnclosedMatrix) -> Floats:
        found: Floats = (matrix.lower() + matrix.upper()) / 2
        return found


@dataclass(frozen=True, eq=False)
class Seen:
    """Rows over δ as rows over η, and bounds (rows, 1) of what is left of each, over δ⊥."""

    rows: EnclosedMatrix
    errors: Floats


class Space:
    """δ = Vᵀη + δ⊥; V may be the identity, for δ itself, and δ⊥ may be something that no row sees."""

    def __init__(self, arithmetic: Arithmetic, basis: Floats, has_remainder: bool) -> None:
        self.arithmetic, self.has_remainder, self.is_whole = arithmetic, has_remainder, False
        self.size = len(basis)
        self._basis = arithmetic.exact(basis)
        self.gram = self._basis @ self._basis.T

    @classmethod
    def whole(cls, arithmetic: Arithmetic, n: int) -> Space:
        space = cls.__new__(cls)
        space.arithmetic, space.has_remainder, space.is_whole = arithmetic, False, True
        space.gram, space.size = arithmetic.exact(np.eye(n)), n
        return space

    def seen(self, rows: EnclosedMatrix) -> Seen:
        if self.is_whole:
            return Seen(rows, np.zeros((rows.shape[0], 1)))
        image = rows @ self._basis.T
        if not self.has_remainder:
            return Seen(image, np.zeros((rows.shape[0], 1)))
        middle = self.arithmetic.exact((image.lower() + image.upper()) / 2)
        return Seen(image, (rows - middle @ self._basis).norms())


class QuadricJudge:
    """Judge proofs about one network; what all have in common is made once."""

    def __init__(self, network: Network, arithmetic: Arithmetic) -> None:
        self._quadrics, self._arithmetic = Quadrics(network, arithmetic), arithmetic
        self._rows: dict[Space, tuple[Seen, Seen]] = {}

    def positive(self, asked: Sequence[Asked]) -> NDArray[np.bool_]:
        """Return which of the claims are proved."""
        found = np.zeros(len(asked), dtype=bool)
        everywhere = np.array([one.radius is None for one in asked], dtype=bool)
        for chosen, name in ((~everywhere, "space"), (everywhere, "exact_space")):
            places = np.flatnonzero(chosen)
            if not places.size:
                continue
            space: Space = getattr(self._quadrics, name)
            found[places] = self._all_in(space, [asked[place] for place in places.tolist()])
            left = places[~found[places]]
            n = self._quadrics.network.dimension
            if left.size and not space.is_whole and n <= LARGEST_WHOLE and self._arithmetic.is_exact:
                whole = Space.whole(self._arithmetic, n)
                found[left] = self._all_in(whole, [asked[place] for place in left.tolist()])
        return found

    def _all_in(self, space: Space, asked: Sequence[Asked]) -> NDArray[np.bool_]:
        size = max(1, _AT_ONCE // (space.size + 1) ** 2)
        parts = [self._positive_in(space, asked[start : start + size]) for start in range(0, len(asked), size)]
        return np.concatenate(parts)

    def _positive_in(self, space: Space, asked: Sequence[Asked]) -> NDArray[np.bool_]:
        quadrics, arithmetic = self._quadrics, self._arithmetic
        classes = np.array([(one.label, one.rival) for one in asked])
        # What is quadratic is the same for all points of a pair of classes.
        pairs, own = np.unique(classes, axis=0, return_inverse=True)
        own = own.reshape(-1)
        constant, slopes, weights = quadrics.between(pairs[:, 0], pairs[:, 1])
        one, other = self._seen(space)
        seen_slopes = space.seen(slopes)
        forms = arithmetic.forms(len(pairs), 1 + space.size + space.has_remainder)
        lost = self._add_products(space, weights, forms)
        forms = forms.taken(own)

        u = arithmetic.exact(np.array([each.u for each in asked]))
        constant, slopes, weights = constant[own], slopes[own], weights[own]
        ones, all_products = (arithmetic.exact(np.ones((part.shape[1], 1))) for part in (u, weights))
        left, right = ((u @ rows.T) + constants.T for constants, rows in (quadrics.left, quadrics.right))
        value = constant + (slopes * u) @ ones + (weights * left * right) @ all_products
        turned = weights * right, weights * left
        multipliers = arithmetic.exact(np.array([[each.multiplier] for each in asked]))
        squares = [fmpq(0) if each.radius is None else each.radius * each.radius for each in asked]
        forms.row(value - multipliers * arithmetic.column(squares))
        forms.row(turned[0] @ one.rows + turned[1] @ other.rows + seen_slopes.rows[own], 1)
        if lost is not None:
            forms.diagonal(multipliers - lost[own], 1 + space.size)
            beside = abs(turned[0]) @ arithmetic.exact(one.errors) + abs(turned[1]) @ arithmetic.exact(other.errors)
            ends = MORE * (beside.upper() + seen_slopes.errors[own])
            if not np.isfinite(ends).all():
                raise Refused("the forms of the network leave the doubles")
            forms.row(arithmetic.around([arb(0, end) for end in ends.ravel().tolist()], 1), 1 + space.size)
        if multipliers.used.any():
            forms.block(multipliers, space.gram, 1)
        return forms.positive()

    def _add_products(self, space: Space, weights: EnclosedMatrix, forms: QuadraticForms) -> EnclosedMatrix | None:
        """Add Σ c l r less what the errors of the rows may take away; return what they take of s²."""
        arithmetic, square = self._arithmetic, self._quadrics.is_square
        one, other = self._seen(space)
        padding = arithmetic.zeros(one.rows.shape[0], 1)
        left, right = (part.rows.beside([padding, part.rows]) for part in (one, other))
        lost = None
        if space.has_remainder:
            sizes = abs(weights)
            each = (one.errors**2 + other.errors**2) / (2 * THETA) + one.errors * other.errors
            lost = sizes @ arithmetic.exact(MORE * each)
            if not square.all():
                less = sizes[:, ~square] * arithmetic.exact([[-THETA / 2]])
                forms.squares(less, left[~square])
                forms.squares(less, right[~square])
        if square.any():
            own = weights[:, square]
            forms.squares(own if lost is None else own + abs(own) * arithmetic.exact([[-THETA]]), left[square])
        if not square.all():
            forms.products(weights[:, ~square], left[~square], right[~square])
        return lost

    def _seen(self, space: Space) -> tuple[Seen, Seen]:
        if space not in self._rows:
            left = space.seen(self._quadrics.left[1])
            same = bool(self._quadrics.is_square.all())
            self._rows[space] = (left, left if same else space.seen(self._quadrics.right[1]))
        return self._rows[space]
