"""A network of products around the point u, as proofs by products see it.

Every value is made of products v_j = L_j R_j of affine forms of the inputs and of earlier products (`squares.Atoms`). With
x = u + δ a form is p + a·δ + w, value, linear part and rest, and t = a·δ + w. The product of two has the linear part
p_L a_R + p_R a_L and the rest

    p_L w_R + p_R w_L + t_L t_R.

*Sums* are the different rows over products that occur in factors, in the order in which they do; the rest of a form is that of
its sum. To second order the rest of sum s is Σ_j c_sj (a_Lj·δ)(a_Rj·δ), where c_s = Σ_j S_sj c_j and
c_j = e_j + p_L c_R + p_R c_L. Nothing here depends on the rival or the radius.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from flint import arb, arb_mat, ctx, fmpq

from polymargin_checker.definite import positive_definite
from polymargin_checker.dyadics import ball
from polymargin_checker.products import Products
from polymargin_checker.squares import Affine, Atoms
from polymargin_checker.work import spend

_TOUCHED = 128
"""Products that an entry counts for when it is handled in Python."""
_NUDGE = fmpq(1, 10**10)
"""Of the trace: what is added to a Gram matrix, so that dependent rows do no harm."""

Row = dict[int, Any]
_ZERO = fmpq(0)


@dataclass(frozen=True)
class Factor:
    """One side of all products: p as a column and as balls, slopes a (J, n), ‖a‖ from above, the sum in it or None."""

    column: Any
    value: list[arb]
    slopes: Any
    norms: list[arb]
    sums: list[int | None]


@dataclass
class ProductExpansion:
    """left, right: the factors; sums: rows over products; values and slopes of the products; proved: curvatures (sum, side)."""

    arithmetic: Any
    dimension: int
    atoms: Atoms
    sums: list[Row]
    left: Factor
    right: Factor
    slopes: Any
    proved: dict[tuple[int, str], fmpq] = field(default_factory=dict)

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

    @cached_property
    def inner_products(self) -> tuple[Any, Any, Any]:
        """a_L·a_L, a_L·a_R and a_R·a_R of all products."""
        left, right = self.left.slopes, self.right.slopes
        return left @ left.transpose, left @ right.transpose, right @ right.transpose

    def dominates(self, index: int, side: str, shift: fmpq) -> bool:
        """Whether the second-order form of a sum is less than shift·‖δ‖² ('upper'), or more than −shift·‖δ‖² ('lower').

        With F the rows a_L and a_R of the products in it the form is yᵀNy for y = Fδ, and ‖δ‖² ≥ yᵀG⁻¹y for every G ⪰ FFᵀ. So
        it is enough that shift·G ∓ G N G is positive definite.
        """
        if shift <= 0:
            return False
        if (index, side) in self.proved and shift >= self.proved[index, side]:
            return True
        entries = self.curvatures[index]
        chosen, count = sorted(entries), len(entries)
        spend(_TOUCHED * (2 * count) ** 2, ctx.prec, "the curvatures of a proof by products")
        parts = [whole.part(chosen, chosen).entries() for whole in self.inner_products]
        side_length = 2 * count
        G = arb_mat(side_length, side_length)
        for i in range(count):
            for j in range(count):
                G[i, j], G[i, count + j] = parts[0][i * count + j], parts[1][i * count + j]
                G[count + j, i], G[count + i, count + j] = parts[1][i * count + j], parts[2][i * count + j]
        nudge = ball(_NUDGE) * sum((G[i, i] for i in range(side_length)), arb(0)) + arb(2) ** -400
        N = arb_mat(side_length, side_length)
        sign = -1 if side == "upper" else 1
        for i, j in enumerate(chosen):
            G[i, i], G[count + i, count + i] = G[i, i] + nudge, G[count + i, count + i] + nudge
            N[i, count + i] = N[count + i, i] = sign * entries[j] / 2
        spend(8 * side_length**3, ctx.prec, "the curvatures of a proof by products")
        whole = G * N * G + G * ball(shift)
        symmetric = (whole + whole.transpose()) * arb(0.5)
        found = positive_definite(G) and positive_definite(symmetric)
        if found:
            self.proved[index, side] = shift
        return found


def expanded(model: Products, point: Sequence[fmpq], arithmetic: Any) -> ProductExpansion:
    """Values, linear parts and sums of all products, level by level."""
    atoms, first = Atoms(model), model.dimension
    names: dict[Any, int] = {}
    sums: list[Row] = []
    columns: list[list[int | None]] = [[], []]
    for _, *pair in atoms.products:
        for side, form in zip(columns, pair, strict=True):
            side.append(_sum_of(form, first, names, sums))
    spend(_TOUCHED * len(atoms.products) * (first + 1), ctx.prec, "the products around the point")
    place = arithmetic.of(first, 1, list(point))
    so_far: list[Any] = [None] * 6  # values and slopes of the left factors, the right ones, and the products
    for start, stop in _runs(atoms.levels[first:]):
        new = []
        for forms in zip(*(atoms.products[j][1:] for j in range(start, stop)), strict=True):
            slope = _block(arithmetic, forms, range(first))
            value = slope @ place + arithmetic.of(len(forms), 1, [constant for _, constant in forms])
            if start:
                seen = _block(arithmetic, forms, range(first, first + start))
                value, slope = value + seen @ so_far[4], slope + seen @ so_far[5]
            new += [value, slope]
        p, a, q, b = new
        new += [p.entrywise(q), b.entrywise(p) + a.entrywise(q)]
        so_far = [
            part if old is None else arithmetic.stacked([old, part]) for old, part in zip(so_far, new, strict=True)
        ]
    left, right = (
        Factor(so_far[k], so_far[k].entries(), so_far[k + 1], so_far[k + 1].row_norms(), columns[k // 2])
        for k in (0, 2)
    )
    return ProductExpansion(arithmetic, first, atoms, sums, left, right, so_far[5])


def _block(arithmetic: Any, forms: Sequence[Affine], atoms: range) -> Any:
    return arithmetic.of(len(forms), len(atoms), [row.get(atom, _ZERO) for row, _ in forms for atom in atoms])


def _sum_of(form: Affine, first: int, names: dict[Any, int], sums: list[Row]) -> int | None:
    row = {atom - first: weight for atom, weight in form[0].items() if atom >= first}
    if not row:
        return None
    found = names.setdefault(tuple((j, int(w.p), int(w.q)) for j, w in row.items()), len(sums))
    if found == len(sums):
        sums.append(row)
    return found


def _runs(levels: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbours of the same level, from and up to: none of them depends on another."""
    ends = [k for k in range(1, len(levels)) if levels[k] != levels[k - 1]]
    return list(pairwise([0, *ends, len(levels)]))
