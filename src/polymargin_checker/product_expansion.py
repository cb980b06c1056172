"""A network of products around the point u, as proofs by products see it.

Every value is made of products v_j = L_j R_j of affine forms of the inputs and of earlier products (`squares.ProductAtoms`). With
x = u + δ a form is p + a·δ + w, value, linear part and rest, and t = a·δ + w. The product of two has the linear part
p_L a_R + p_R a_L and the rest

    p_L w_R + p_R w_L + t_L t_R.

*Sums* are the different rows over products that occur in factors, in the order in which they do; the rest of a form is that of
its sum. To second order the rest of sum s is Σ_j c_sj (a_Lj·δ)(a_Rj·δ), where c_s = Σ_j S_sj c_j and
c_j = e_j + p_L c_R + p_R c_L. Nothing here depends on the rival or the radius. It is ball arithmetic: rows of factors are
often dependent, and a test of their Gram matrix needs more than doubles. Only sums of many products are tested in doubles,
as forms in δ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from flint import arb, arb_mat, ctx, fmpq

from polymargin_checker.definite import positive_definite
from polymargin_checker.dyadics import ball
from polymargin_checker.enclosures import Balls
from polymargin_checker.refusal import Refused
from polymargin_checker.squares import Affine, ProductAtoms
from polymargin_checker.views import Products
from polymargin_checker.work import spend

_TOUCHED = 128
"""Products that an entry counts for when it is handled in Python."""
_FEW = 16
"""Products of a sum up to which its curvatures are proved in ball arithmetic."""
_NUDGE = fmpq(1, 10**10)
"""Of the trace: what is added to a Gram matrix, so that dependent rows do no harm."""

Row = dict[int, Any]
_ZERO = fmpq(0)


@dataclass(frozen=True)
class EnclosedFactor:
    """One side of all products: p as a column and as balls, slopes a (J, n), ‖a‖ from above, the sum in it or None."""

    column: Balls
    value: list[arb]
    slopes: Balls
    norms: list[arb]
    sums: list[int | None]


@dataclass
class EnclosedProducts:
    """left, right: the factors; sums: rows over products; slopes of the products; proved: their curvatures."""

    dimension: int
    point: Sequence[fmpq]
    atoms: ProductAtoms
    sums: list[Row]
    left: EnclosedFactor
    right: EnclosedFactor
    slopes: Balls
    proved: dict[tuple[int, str], fmpq] = field(default_factory=dict)
    shown: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def order(self) -> list[int]:
        """The sums, each after those it depends on."""
        first = self.dimension
        level = [max(self.atoms.levels[first + j] for j in row) for row in self.sums]
        return sorted(range(len(self.sums)), key=level.__getitem__)

    @cached_property
    def curvatures(self) -> list[dict[int, arb]]:
        """c_s for every sum."""
        result: list[dict[int, arb]] = [{} for _ in self.sums]
        for index in self.order:
            total: dict[int, arb] = {}
            for j, weight in self.sums[index].items():
                terms = {j: arb(1)}
                for own, other in ((self.left, self.right), (self.right, self.left)):
                    place = other.sums[j]
                    for k, c in ({} if place is None else result[place]).items():
                        terms[k] = terms.get(k, arb(0)) + own.value[j] * c
                spend(_TOUCHED * len(terms), ctx.prec, "the curvatures of a proof by products")
                for k, c in terms.items():
                    total[k] = total.get(k, arb(0)) + ball(weight) * c
            result[index] = total
        return result

    def dominates(self, index: int, side: str, shift: fmpq, slopes: tuple[Any, ...] | None = None) -> bool:
        """Whether the second-order form of a sum is less than shift·‖δ‖² ('upper'), or more than −shift·‖δ‖² ('lower').

        With F the rows a_L and a_R of the products in it the form is yᵀNy for y = Fδ, and ‖δ‖² ≥ yᵀG⁻¹y for every G ≻ 0 with
        G ⪰ FFᵀ. So it is enough that shift·G ∓ G N G is positive definite. With many products the form over δ itself is tested in
        doubles, where `slopes` are those of all factors in doubles.
        """
        if shift <= 0:
            return False
        if (index, side) in self.proved and shift >= self.proved[index, side]:
            return True
        chosen = sorted(self.curvatures[index])
        weights = [(-1 if side == "upper" else 1) * self.curvatures[index][j] for j in chosen]
        if slopes is not None and len(chosen) > _FEW:
            tested = self._in_doubles(chosen, weights, shift, slopes)
        else:
            direct = 2 * len(chosen) >= self.dimension
            spend(_TOUCHED * (2 * len(chosen)) ** 2, ctx.prec, "the curvatures of a proof by products")
            matrix = self._over_inputs(chosen, weights, shift) if direct else self._over_rows(chosen, weights, shift)
            spend(8 * matrix.nrows() ** 3, ctx.prec, "the curvatures of a proof by products")
            tested = positive_definite(matrix)
        if tested:
            self.proved[index, side] = shift
        return tested

    def _in_doubles(self, chosen: list[int], weights: list[arb], shift: fmpq, slopes: tuple[Any, ...]) -> bool:
        """shift + Σ_j c_j (a_L a_Rᵀ + a_R a_Lᵀ)/2, by the criterion for large forms."""
        left, right = (side.part(chosen, range(self.dimension)) for side in slopes)
        nothing = left.of(len(chosen), 1, [0.0] * len(chosen))
        form = left.paired_form(right, nothing, left.column(weights), nothing)
        return bool(form.shifted(shift, None, 1).positive_definite())

    def _over_inputs(self, chosen: list[int], weights: list[arb], shift: fmpq) -> arb_mat:
        """shift + Σ_j c_j (a_L a_Rᵀ + a_R a_Lᵀ)/2."""
        every = range(self.dimension)
        left, right = (side.slopes.part(chosen, every) for side in (self.left, self.right))
        half = (left.transpose @ right.entrywise(Balls.of(len(chosen), 1, weights))).matrix
        return (half + half.transpose()) * arb(0.5) + Balls.identity(self.dimension).times(shift).matrix

    def _over_rows(self, chosen: list[int], weights: list[arb], shift: fmpq) -> arb_mat:
        """shift·G + G N G with G = FFᵀ and a little more."""
        count = len(chosen)
        every = range(self.dimension)
        left, right = (side.slopes.part(chosen, every) for side in (self.left, self.right))
        parts = [(a @ b.transpose).matrix for a, b in ((left, left), (left, right), (right, right))]
        G, N = arb_mat(2 * count, 2 * count), arb_mat(2 * count, 2 * count)
        for i in range(count):
            for j in range(count):
                G[i, j], G[count + i, count + j] = parts[0][i, j], parts[2][i, j]
                G[i, count + j] = G[count + j, i] = parts[1][i, j]
            N[i, count + i] = N[count + i, i] = weights[i] / 2
        more = ball(_NUDGE) * sum((G[i, i] for i in range(2 * count)), arb(0)) + arb(2) ** -400
        for i in range(2 * count):
            G[i, i] = G[i, i] + more
        whole = G * N * G + G * ball(shift)
        return (whole + whole.transpose()) * arb(0.5)


def expanded(model: Products, point: Sequence[fmpq]) -> EnclosedProducts:
    """Values, linear parts and sums of all products, level by level."""
    atoms, first = ProductAtoms(model), model.dimension
    if not atoms.products:
        raise Refused("a proof by products of a model that multiplies nothing")
    names: dict[Any, int] = {}
    sums: list[Row] = []
    columns: list[list[int | None]] = [[], []]
    for _, *pair in atoms.products:
        for side, form in zip(columns, pair, strict=True):
            side.append(_sum_of(form, first, names, sums))
    spend(_TOUCHED * len(atoms.products) * (first + 1), ctx.prec, "the products around the point")
    place = Balls.of(first, 1, list(point))
    so_far: list[Any] = [None] * 6  # values and slopes of the left factors, the right ones, and the products
    done: list[int] = []
    for own in _by_level(atoms.levels[first:]):
        new = []
        for forms in zip(*(atoms.products[j][1:] for j in own), strict=True):
            slope = _block(forms, range(first))
            value = slope @ place + Balls.of(len(forms), 1, [constant for _, constant in forms])
            if done:
                seen = _block(forms, [first + j for j in done])
                value, slope = value + seen @ so_far[4], slope + seen @ so_far[5]
            new += [value, slope]
        p, a, q, b = new
        new += [p.entrywise(q), b.entrywise(p) + a.entrywise(q)]
        so_far = [part if old is None else Balls.stacked([old, part]) for old, part in zip(so_far, new, strict=True)]
        done += own
    if done != sorted(done):
        order = sorted(range(len(done)), key=done.__getitem__)
        so_far = [whole.part(order, range(whole.shape[1])) for whole in so_far]
    left, right = (
        EnclosedFactor(so_far[k], so_far[k].entries(), so_far[k + 1], so_far[k + 1].row_norms(), columns[k // 2])
        for k in (0, 2)
    )
    return EnclosedProducts(first, point, atoms, sums, left, right, so_far[5])


def _block(forms: Sequence[Affine], atoms: Sequence[int]) -> Balls:
    return Balls.of(len(forms), len(atoms), [row.get(atom, _ZERO) for row, _ in forms for atom in atoms])


def _sum_of(form: Affine, first: int, names: dict[Any, int], sums: list[Row]) -> int | None:
    row = {atom - first: weight for atom, weight in form[0].items() if atom >= first}
    if not row:
        return None
    found = names.setdefault(tuple((j, int(w.p), int(w.q)) for j, w in row.items()), len(sums))
    if found == len(sums):
        sums.append(row)
    return found


def _by_level(levels: Sequence[int]) -> list[list[int]]:
    """Those of level one, of level two, …: none depends on another of its level."""
    every = range(1, max(levels) + 1)
    return [[index for index, own in enumerate(levels) if own == level] for level in every]
