"""A network of products around a point: values, slopes, sums and curvatures, in rationals; and which curvatures are proved."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from checker.product_programs import mixed_program, sparse
from checker.region_programs import exact, rows, times
from flint import arb, fmpq

from polymargin_checker import product_expansion
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.floats import Floats
from polymargin_checker.product_expansion import EnclosedProducts, _by_level, expanded
from polymargin_checker.views import Products, Stage

U = (fmpq(1, 4), fmpq(-1, 2))
MOVES = [(fmpq(1, 2), fmpq(-1, 4)), (fmpq(-1), fmpq(3, 8)), (fmpq(1, 16), fmpq(2))]


def atoms_at(expansion: EnclosedProducts, x: list[fmpq]) -> tuple[list[fmpq], list[tuple[fmpq, fmpq]]]:
    """All inputs and products, and the two factors of every product."""
    values, factors = list(x), []

    def form(row: dict[int, fmpq], constant: fmpq) -> fmpq:
        return sum((w * values[atom] for atom, w in row.items()), constant)

    for _, left, right in expansion.atoms.products:
        factors.append((form(*left), form(*right)))
        values.append(factors[-1][0] * factors[-1][1])
    return values, factors


def rests_at(expansion: EnclosedProducts, delta: list[fmpq]) -> list[fmpq]:
    """w of all sums by its definition, and of the products in them."""
    values = [list(map(number, side.value)) for side in (expansion.left, expansion.right)]
    slopes = [rows(side.slopes) for side in (expansion.left, expansion.right)]
    found: list[fmpq | None] = [None] * len(expansion.sums)
    products: dict[int, fmpq] = {}

    def rest(place: int | None) -> fmpq:
        if place is None:
            return fmpq(0)
        if found[place] is None:
            found[place] = sum((w * product(j) for j, w in expansion.sums[place].items()), fmpq(0))
        return found[place]

    def product(j: int) -> fmpq:
        if j not in products:
            w = [rest(side.sums[j]) for side in (expansion.left, expansion.right)]
            t = [times([slopes[k][j]], delta)[0] + w[k] for k in (0, 1)]
            products[j] = values[0][j] * w[1] + values[1][j] * w[0] + t[0] * t[1]
        return products[j]

    return [rest(index) for index in range(len(expansion.sums))]


def number(ball: arb) -> fmpq:
    mantissa, exponent = ball.mid().man_exp()
    return fmpq(int(mantissa)) * fmpq(2) ** int(exponent)


@pytest.mark.parametrize("delta", MOVES)
def test_every_factor_is_its_value_its_slope_and_the_rest_of_its_sum(delta: tuple[fmpq, ...]) -> None:
    with working_precision(3000):
        expansion = expanded(mixed_program(), U)
        values, factors = atoms_at(expansion, list(U))
        _, moved = atoms_at(expansion, [a + b for a, b in zip(U, delta, strict=True)])
        w = rests_at(expansion, list(delta))
        for k, side in enumerate((expansion.left, expansion.right)):
            assert list(map(number, side.value)) == exact(side.column) == [pair[k] for pair in factors]
            for j, pair in enumerate(moved):
                rest = fmpq(0) if side.sums[j] is None else w[side.sums[j]]
                assert pair[k] == factors[j][k] + times([rows(side.slopes)[j]], list(delta))[0] + rest
        slopes = rows(expansion.slopes)
        for j, (p, q) in enumerate(factors):
            a, b = rows(expansion.left.slopes)[j], rows(expansion.right.slopes)[j]
            assert slopes[j] == [p * y + q * x for x, y in zip(a, b, strict=True)]
            for row, side in ((a, expansion.left), (b, expansion.right)):
                squared = arb(sum((v * v for v in row), fmpq(0)))
                assert (side.norms[j] ** 2).overlaps(squared)
                assert abs(side.norms[j] ** 2 - squared) < 2.0**-900
        assert len(values) == 2 + len(factors)


def test_sums_are_the_different_rows_over_products_and_come_after_what_they_need() -> None:
    expansion = expanded(mixed_program(), U)
    first = expansion.dimension
    seen = []
    for _, *pair in expansion.atoms.products:
        for side, form in zip((expansion.left, expansion.right), pair, strict=True):
            row = {atom - first: weight for atom, weight in form[0].items() if atom >= first}
            place = side.sums[len(seen) // 2]
            assert (place is None) == (not row)
            assert place is None or expansion.sums[place] == row
            seen.append(place)
    known = [place for place in seen if place is not None]
    assert sorted(set(known)) == list(range(len(expansion.sums)))
    assert len({tuple(row.items()) for row in expansion.sums}) == len(expansion.sums)
    assert sorted(expansion.order) == list(range(len(expansion.sums)))
    done: set[int | None] = {None}
    for index in expansion.order:
        for j in expansion.sums[index]:
            assert {expansion.left.sums[j], expansion.right.sums[j]} <= done
        done.add(index)


def test_multiples_of_one_product_are_different_sums() -> None:
    factors = [1.0, 2.0, 0.5, 0.25, 0.75, 1.5, -1.0, 1.0]
    many = sparse(3, *(({2: factor}, 1.0) for factor in factors))
    product = Stage("P", (sparse(2, ({0: 1.0}, 0.0)), sparse(2, ({1: 1.0}, 0.0))), ())
    again = Stage("P", (many, sparse(3, *(({}, 1.0) for _ in factors))), ())
    expansion = expanded(Products(2, (product, again), sparse(11, ({3: 1.0}, 0.0), ({4: 1.0}, 0.0))), U)
    assert [row[0] for row in expansion.sums] == [fmpq(*factor.as_integer_ratio()) for factor in factors[:-1]]
    assert expansion.left.sums == [None, 0, 1, 2, 3, 4, 5, 6, 0]


def test_weights_that_do_not_fit_the_precision_are_held() -> None:
    long = 1 + 2.0**-40
    product = Stage("P", (sparse(2, ({0: 1.0}, 0.0)), sparse(2, ({1: 1.0}, 0.0))), ())
    again = Stage("P", (sparse(3, ({2: long}, 1.0)), sparse(3, ({0: 1.0}, 1.0))), ())
    with working_precision(20):
        expansion = expanded(Products(2, (product, again), sparse(4, ({3: 1.0}, 0.0), ({}, 0.0))), U)
        found = expansion.curvatures[0][0]
    with working_precision(100):
        assert found.contains(arb(long))


def test_a_little_more_is_added_to_the_products_of_the_rows() -> None:
    """Of rows as short as 2⁻¹⁹⁹ as well, where x₀ x₁ is 2⁻³⁹⁹ ‖δ‖² at most."""
    factors = [sparse(5, ({k: 2.0**-199}, 1.0)) for k in (0, 1)]
    again = Stage("P", (sparse(6, ({5: 1.0}, 1.0)), sparse(6, ({2: 1.0}, 1.0))), ())
    model = Products(5, (Stage("P", (factors[0], factors[1]), ()), again), sparse(7, ({6: 1.0}, 0.0), ({}, 0.0)))
    with working_precision(128):
        expansion = expanded(model, (fmpq(0),) * 5)
        assert not expansion.dominates(0, "upper", fmpq(9, 10) / fmpq(2) ** 399)
        assert expansion.dominates(0, "upper", fmpq(3, 2) / fmpq(2) ** 399)


def test_products_of_one_level_are_taken_together() -> None:
    assert _by_level([2, 1, 3, 2, 1, 2]) == [[1, 4], [0, 3, 5], [2]]
    assert _by_level([1]) == [[0]]


def test_powers_whose_levels_take_turns_are_in_their_places() -> None:
    """Each of three neurons has z² of level 1 and then z⁴ = z² z² of level 2."""
    rows_of = ({0: 1.0, 1: 0.5}, 0.25), ({1: -2.0}, 1.0), ({0: 0.75}, 0.0)
    model = Products(2, (Stage("A", (sparse(2, *rows_of),), (0.0, 0.0, 1.0, 0.0, 1.0)),), sparse(5, ({2: 1.0}, 0.0)))
    with working_precision(128):
        expansion = expanded(model, U)
    assert expansion.atoms.levels[2:] == [1, 2] * 3
    slopes = rows(expansion.slopes)
    for k, (row, constant) in enumerate(rows_of):
        direction = [fmpq(*row.get(i, 0.0).as_integer_ratio()) for i in range(2)]
        z = sum((a * x for a, x in zip(direction, U, strict=True)), fmpq(*constant.as_integer_ratio()))
        assert number(expansion.left.value[2 * k]) == number(expansion.right.value[2 * k]) == z
        assert number(expansion.left.value[2 * k + 1]) == z * z
        assert slopes[2 * k] == [2 * z * a for a in direction]
        assert slopes[2 * k + 1] == [4 * z**3 * a for a in direction]


def many_products(count: int, size: int = 5) -> Products:
    """Σ_j c_j (a_j·x + 1)(b_j·x − 1/2) with b_j shorter than a_j, and a square of it."""
    generator = np.random.default_rng(count)
    drawn = np.round(generator.normal(size=(2, count, size)) * 8) / np.array([8, 32])[:, None, None]
    factors = [
        sparse(size, *(({k: float(w) for k, w in enumerate(row) if w}, shift) for row in side))
        for side, shift in zip(drawn, (1.0, -0.5), strict=True)
    ]
    weights = {size + j: float(c) for j, c in enumerate(np.round(generator.normal(size=count) * 8) / 8 + 0.0625)}
    squared = Stage("A", (sparse(size + count, (weights, 0.5)),), (0.0, 0.0, 1.0))
    readout = sparse(size + count + 1, ({size + count: 1.0}, 0.0), ({}, 0.0))
    return Products(size, (Stage("P", (factors[0], factors[1]), ()), squared), readout)


@pytest.mark.parametrize(("count", "doubled"), [(16, False), (17, True), (40, True)])
def test_sums_of_many_products_are_tested_in_doubles(
    count: int, doubled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, point = many_products(count), tuple(fmpq(k, 8) for k in range(5))
    with working_precision(128):
        fresh = expanded(model, point)
        slopes = tuple(Floats.of(*side.slopes.shape, side.slopes.entries()) for side in (fresh.left, fresh.right))
        values = np.linalg.eigvalsh(forms(fresh)[0])
        last = fmpq(*float(values[-1]).as_integer_ratio())
        assert expanded(model, point).dominates(0, "upper", last * (1 + fmpq(1, 10**9)))  # in balls, however many
        if doubled:
            monkeypatch.setattr(product_expansion, "positive_definite", lambda matrix: pytest.fail("balls"))
        else:
            monkeypatch.setattr(EnclosedProducts, "_in_doubles", lambda *given: pytest.fail("doubles"))
        for side, end in (("lower", -values[0]), ("upper", values[-1])):
            least = fmpq(*float(end).as_integer_ratio())
            assert not fresh.dominates(0, side, least * (1 - fmpq(1, 10**9)), (slopes[0], slopes[1]))
            assert (0, side) not in fresh.proved
            assert fresh.dominates(0, side, least * (1 + fmpq(1, 10**9)), (slopes[0], slopes[1]))
            assert (0, side) in fresh.proved


@pytest.mark.parametrize("delta", MOVES)
def test_curvatures_are_the_second_order_of_the_rests(delta: tuple[fmpq, ...]) -> None:
    small = fmpq(1, 2**200)
    with working_precision(4000):
        expansion = expanded(mixed_program(), U)
        w = rests_at(expansion, [small * d for d in delta])
        linear = [times(rows(side.slopes), list(delta)) for side in (expansion.left, expansion.right)]
        for index, row in enumerate(expansion.curvatures):
            second = sum((number(c) * linear[0][j] * linear[1][j] for j, c in row.items()), fmpq(0))
            assert abs(w[index] / small**2 - second) < fmpq(1, 2**150)


def wide(size: int) -> Products:
    """Of many inputs: v = (x₀ + 2x₁)(x₁ − x₂/2 + 1), a sum of it with another product, and products with them."""
    first = sparse(size, ({0: 1.0, 1: 2.0}, 0.0), ({3: 1.0, 0: 0.5}, 0.25))
    other = sparse(size, ({1: 1.0, 2: -0.5}, 1.0), ({2: 1.0, 4: 0.5}, 0.25))
    late = sparse(size + 2, ({size: 1.0}, 0.5), ({size: 2.0, size + 1: -0.5, 1: 1.0}, 1.0))
    return Products(
        size,
        (Stage("P", (first, other), ()), Stage("P", (late, sparse(size + 2, ({4: 1.0}, 1.0), ({}, 2.0))), ())),
        sparse(size + 4, ({size + 2: 1.0}, 1.0), ({size + 3: 1.0}, 0.0)),
    )


def forms(expansion: EnclosedProducts) -> list[Any]:
    """The symmetric matrix of every sum to second order, in doubles."""
    a, b = (
        np.array([float(v.mid()) for v in side.slopes.entries()]).reshape(-1, expansion.dimension)
        for side in (expansion.left, expansion.right)
    )
    found = []
    for row in expansion.curvatures:
        half = sum(float(c.mid()) * np.outer(a[j], b[j]) for j, c in row.items())
        found.append((half + half.T) / 2)
    return found


@pytest.mark.parametrize(
    ("model", "point"),
    [
        (mixed_program(), U),
        (wide(5), tuple(fmpq(k, 8) for k in range(5))),
        (wide(11), tuple(fmpq(k, 16) for k in range(11))),
    ],
    ids=["over inputs", "both", "over rows"],
)
def test_a_curvature_is_proved_from_its_largest_value_on(model: Products, point: tuple[fmpq, ...]) -> None:
    proved = 0
    with working_precision(128):
        for index, matrix in enumerate(forms(expanded(model, point))):
            values = np.linalg.eigvalsh(matrix)
            for side, end in (("lower", -values[0]), ("upper", values[-1])):
                fresh = expanded(model, point)
                least = fmpq(*float(max(end, 0.0)).as_integer_ratio())
                assert not fresh.dominates(index, side, fmpq(0))
                assert not fresh.dominates(index, side, -least - 1)
                if end > 1e-6:
                    assert not fresh.dominates(index, side, least * fmpq(999, 1000))
                assert not fresh.proved
                assert fresh.dominates(index, side, least * fmpq(1001, 1000) + fmpq(1, 1000))
                proved += 1
    assert proved >= 4


def test_what_is_proved_once_holds_for_more_but_not_for_less_nor_for_another() -> None:
    with working_precision(128):
        expansion = expanded(wide(11), tuple(fmpq(k, 16) for k in range(11)))
        low, high = np.linalg.eigvalsh(forms(expansion)[0])[[0, -1]]
        end = fmpq(*float(max(-low, high)).as_integer_ratio())
        assert expansion.dominates(0, "upper", 2 * end)
        assert expansion.proved == {(0, "upper"): 2 * end}
        assert expansion.dominates(0, "upper", 2 * end)
        assert expansion.dominates(0, "upper", 3 * end)
        assert expansion.proved == {(0, "upper"): 2 * end}
        assert not expansion.dominates(0, "upper", end / 100)
        assert not expansion.dominates(0, "lower", end / 100)
        assert not expansion.dominates(1, "upper", end / 100)


def test_work_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    monkeypatch.setattr(product_expansion, "spend", lambda products, bits, what: asked.update({what: products}))
    with working_precision(128):
        expansion = expanded(mixed_program(), U)
        count = len(expansion.atoms.products)
        assert asked.pop("the products around the point") >= 3 * count
        assert len(expansion.curvatures) == len(expansion.sums)
        terms = sum(map(len, expansion.curvatures))
        before = asked["the curvatures of a proof by products"]
        assert before >= terms
        assert expansion.dominates(0, "upper", fmpq(1000))
        spent = asked["the curvatures of a proof by products"] - before
        assert spent == 128 * (2 * len(expansion.curvatures[0])) ** 2 + 8 * 2**3  # to make it, and to test it
