"""R place by place in doubles: within its own error of the exact matrix, whatever the supports and the sizes of the numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from flint import fmpq, fmpq_mat

from polymargin_checker import float_crossed, float_mixed
from polymargin_checker.float_forms import FloatForm
from polymargin_checker.float_mixed import MixedSquares, _lengths, _range, _stretches
from polymargin_checker.floats import Floats

UNIT = 2.0**-53
BOTH = pytest.mark.parametrize("symmetric", [False, True])


def exact(table: np.ndarray) -> fmpq_mat:
    return fmpq_mat([[fmpq(*float(value).as_integer_ratio()) for value in row] for row in table])


def entrywise(left: fmpq_mat, right: fmpq_mat) -> fmpq_mat:
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    return fmpq_mat([[a * b for a, b in zip(*rows, strict=True)] for rows in pairs])


def true_matrix(
    first: np.ndarray, second: np.ndarray, slopes: fmpq_mat, x: fmpq_mat, symmetric: bool = False
) -> fmpq_mat:
    """W¹ᵀ (W¹W¹ᵀ ∘ Z Zᵀ) W¹ without rounding, or its mean with W¹ᵀ (K ∘ Kᵀ) W¹."""
    W, V = exact(first), exact(second)
    scaled = fmpq_mat([[x[j, 0] * entry for entry in row] for j, row in enumerate(slopes.tolist())])
    Z = V.transpose() * scaled
    core = entrywise(W * W.transpose(), Z * Z.transpose())
    if symmetric:
        K = W * Z.transpose()
        core = (core + entrywise(K, K.transpose())) * fmpq(1, 2)
    return W.transpose() * core * W


class Local:
    """A network along a line: neuron l of `per` at each place sees three inputs, one of the second layer hears two places."""

    symmetric = False

    def __init__(self, seed: int, per: int = 2, places: int = 5, size: float = 1.0, blur: float = 0.0) -> None:
        g = np.random.default_rng(seed)
        inputs, heard = places + 3, places - 1  # nobody sees the last input
        self.first, self.second = np.zeros((per * places, inputs)), np.zeros((per * heard, per * places))
        numbers = g.permutation(per * places).reshape(places, per)  # rows of a place are anywhere
        for place, rows in enumerate(numbers):
            self.first[rows, place : place + 3] = g.normal(size=(per, 3))
        for number in range(heard):
            rows = numbers[number : number + 2].ravel()
            self.second[per * number : per * number + per, rows] = g.normal(size=(per, len(rows)))
        self.first *= size
        slopes = self.second @ self.first * g.normal(size=(len(self.second), 1))
        self.slopes = Floats(slopes, blur * np.abs(slopes))
        column = g.normal(size=(len(self.second), 1))
        self.x = Floats(column, blur * np.abs(column))
        self.generator = g

    def found(self) -> MixedSquares:
        zero = np.zeros_like
        made = MixedSquares.of(
            Floats(self.first, zero(self.first)), Floats(self.second, zero(self.second)), self.slopes
        )
        assert made is not None
        return made

    def form(self) -> FloatForm:
        return self.found().form(self.x, self.symmetric)

    def somewhere(self, table: Floats) -> fmpq_mat:
        """Numbers that the enclosure allows, at its ends mostly."""
        signs = self.generator.choice([-1.0, 1.0, 0.5], size=table.shape)
        middle, radius = exact(table.middle), exact(table.radius * signs)
        return middle + radius

    def truth(self) -> fmpq_mat:
        return true_matrix(self.first, self.second, self.somewhere(self.slopes), self.somewhere(self.x), self.symmetric)


def assert_within(form: FloatForm, truth: fmpq_mat) -> float:
    """The error is at most √spread_i √spread_j; returns the largest share of it that is used."""
    share = 0.0
    for i, j in np.ndindex(form.shape):
        if j <= i:
            error = abs(fmpq(*float(form.middle[i, j]).as_integer_ratio()) - truth[i, j])
            bounds = [fmpq(*float(v).as_integer_ratio()) for v in (form.spread[i], form.spread[j])]
            assert error * error <= bounds[0] * bounds[1]
            sizes = [fmpq(*float(v).as_integer_ratio()) for v in (form.size[i], form.size[j])]
            assert fmpq(*float(form.middle[i, j]).as_integer_ratio()) ** 2 <= sizes[0] * sizes[1]
            share = max(share, math.sqrt(float(error * error / (bounds[0] * bounds[1]))))
    return share


@pytest.mark.parametrize("blur", [0.0, 2.0**-40, 2.0**-8])
@pytest.mark.parametrize("per", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
@BOTH
def test_the_exact_matrix_is_within_the_error(seed: int, per: int, blur: float, symmetric: bool) -> None:
    network = Local(seed, per, blur=blur)
    network.symmetric = symmetric
    form = network.form()
    shares = [assert_within(form, network.truth()) for _ in range(4)]
    np.testing.assert_allclose(
        form.middle, np.array(true_matrix_of_middles(network), dtype=float), rtol=1e-11, atol=1e-11
    )
    if blur > 2.0**-20:
        assert max(shares) > 0.01  # not more than is needed by orders of magnitude


def true_matrix_of_middles(network: Local) -> list[list[float]]:
    found = true_matrix(
        network.first, network.second, exact(network.slopes.middle), exact(network.x.middle), network.symmetric
    )
    return [[float(entry.p) / float(entry.q) for entry in row] for row in found.tolist()]


@pytest.mark.parametrize("exponent", [-530, -400, -300, -120, -60, 20, 60])
@pytest.mark.parametrize("which", ["first", "second", "slopes", "x"])
@BOTH
def test_tiny_and_huge_numbers(which: str, exponent: int, symmetric: bool) -> None:
    """Nothing is lost when products vanish."""
    network, factor = Local(1), 2.0**exponent
    network.symmetric = symmetric
    if which in ("first", "second"):
        setattr(network, which, getattr(network, which) * factor)
    else:
        old = getattr(network, which)
        setattr(network, which, Floats(old.middle * factor, old.radius))
    form = network.form()
    assert np.isfinite(form.spread).all()
    assert_within(form, network.truth())


@BOTH
def test_numbers_that_vanish_beside_huge_ones(symmetric: bool) -> None:
    """W¹W¹ᵀ vanishes in doubles, and Z is as large as is allowed."""
    network = Local(2, size=2.0**-539)
    network.symmetric = symmetric
    network.slopes = Floats(network.slopes.middle * 2.0**600, network.slopes.radius)
    form = network.form()
    assert np.isfinite(form.spread).all()
    assert_within(form, network.truth())


@pytest.mark.parametrize("which", ["first", "second", "slopes", "x", "radius", "radius of x", "table"])
def test_beyond_the_largest_number_nothing_is_said(which: str) -> None:
    def spread(exponent: int) -> Any:
        network, large = Local(0), 2.0**exponent
        if which in ("first", "second"):
            table = getattr(network, which)
            table[tuple(np.argwhere(table)[0])] = -large
        elif which == "slopes":
            network.slopes.middle[0, 0] = -large
        elif which == "x":
            network.x.middle[0, 0], network.slopes.middle[0] = -large, 0.0  # no part of Z
        elif which == "radius":
            network.slopes.radius[0, 0] = large
        elif which == "radius of x":
            network.x.radius[0, 0] = large
        else:  # Z: a product of two numbers that are not too large
            network.slopes.middle[0] = 2.0 ** (exponent - 40)
            network.x.middle[0, 0] = 2.0**42
        found = network.form()
        np.testing.assert_array_equal(np.isfinite(found.size), np.isfinite(found.spread))
        return found.spread

    assert np.isinf(spread(100)).all()
    assert np.isfinite(spread(90)).all()


@BOTH
def test_neurons_that_see_or_hear_nothing(symmetric: bool) -> None:
    network = Local(3)
    network.symmetric = symmetric
    network.first[4], network.second[1], network.second[:, 2] = 0.0, 0.0, 0.0
    assert_within(network.form(), network.truth())
    for table in (network.first, network.second):
        kept = table.copy()
        table[:] = 0.0
        form = network.form()
        assert not form.middle.any()
        assert (form.spread < 2.0**-200).all()
        assert (form.spread > 2.9 * 2.0**-500).all()  # θ = 1
        assert (form.size >= 2.0**-500).all()
        table[:] = kept


@BOTH
@pytest.mark.parametrize("rows", [1, 4, 128])
def test_any_supports(rows: int, symmetric: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places that meet others far away in the order, and listeners anywhere; blocks of so many rows."""
    monkeypatch.setattr(float_crossed, "_ROWS", rows)
    for seed in range(6):
        g = np.random.default_rng(seed)
        network = Local(seed)
        network.symmetric = symmetric
        network.first = np.where(g.uniform(size=(9, 7)) < 0.3, g.normal(size=(9, 7)), 0.0)
        network.second = np.where(g.uniform(size=(6, 9)) < 0.4, g.normal(size=(6, 9)), 0.0)
        slopes = np.where(g.uniform(size=(6, 7)) < 0.5, g.normal(size=(6, 7)), 0.0)
        network.slopes = Floats(slopes, np.where(g.uniform(size=(6, 7)) < 0.2, 2.0**-6, 0.0))  # also where it is zero
        network.x = Floats(g.normal(size=(6, 1)), np.full((6, 1), 2.0**-10))
        form = network.form()
        for _ in range(3):
            assert_within(form, network.truth())


def test_weights_that_are_not_doubles_are_not_for_this() -> None:
    network = Local(0)
    first, second = (Floats(table, np.zeros_like(table)) for table in (network.first, network.second))
    for place in (0, 1):
        pair = [first, second]
        pair[place] = Floats(
            pair[place].middle,
            pair[place].radius + (np.arange(pair[place].middle.size) == 1).reshape(pair[place].shape),
        )
        assert MixedSquares.of(*pair, network.slopes) is None
    assert MixedSquares.of(first, second, network.slopes) is not None


@BOTH
def test_slopes_of_which_only_the_radii_are_not_zero(symmetric: bool) -> None:
    """Their squares vanish, and what else is multiplied is large: the error is larger than all that is added for underflow."""
    network = Local(4)
    network.symmetric = symmetric
    network.first *= 2.0**90
    network.second *= 2.0**95
    network.x = Floats(network.x.middle * 2.0**95, network.x.radius)
    network.slopes = Floats(np.zeros_like(network.slopes.middle), np.full(network.slopes.shape, 2.0**-538))
    assert_within(network.form(), network.truth())


def test_lengths_are_not_below_the_true_ones() -> None:
    tiny = _lengths(np.full((2, 4), 2.0**-538))  # the squares vanish
    assert (tiny >= 2.0**-537).all()
    assert (tiny <= 2.0**-490).all()
    lengths = _lengths(np.array([[3.0, -4.0], [0.0, 5.0], [2.0**-300, 0.0]]))
    assert (lengths >= [5.0, 5.0, 2.0**-300]).all()
    np.testing.assert_allclose(lengths, [5.0, 5.0, 2.0**-300], rtol=1e-5)


@pytest.mark.parametrize("blur", [0.0, 2.0**-50, 2.0**-30, 0.25, 4.0])
@BOTH
def test_the_errors_are_those_of_the_formula(blur: float, symmetric: bool) -> None:
    """Five places of three neurons on eight inputs but for one, four of three listeners but for one: all counted by hand."""
    network = Local(5, 3, blur=blur)
    network.symmetric = symmetric
    network.first[int(np.flatnonzero(network.first[:, 0])[0])] = 0.0
    network.second[0] = 0.0
    form = network.form()
    Z = network.second.T @ (network.x.middle * network.slopes.middle)
    norm = np.linalg.norm
    lengths, steep, blurred = (norm(table, axis=1) for table in (Z, network.slopes.middle, network.slopes.radius))
    x, radius = np.abs(network.x.middle[:, 0]), network.x.radius[:, 0]
    listeners, most = 4, 3
    whole = x * (blurred + (listeners + most + 8) * UNIT * steep) + radius * (steep + blurred)
    wrong = np.abs(network.second).T @ whole
    B, A = (np.abs(network.first).T @ (norm(network.first, axis=1) * each) for each in (lengths, wrong))
    runs, longest = 5, 3 * 3  # a place meets two after it, all one after the other
    rounding = (2 * runs + longest + 2 * 8 + 2 * 3 + 16) * UNIT
    theta = norm(B) / norm(A)
    np.testing.assert_allclose(form.size, B * B, rtol=1e-5, atol=1e-130)
    expected = rounding * B * B + (1 + theta) * A * A + B * B / theta
    np.testing.assert_allclose(form.spread, expected, rtol=2e-5, atol=1e-130)
    assert (form.spread >= expected).all()
    assert (form.size >= B * B).all()


def test_ranges_and_stretches() -> None:
    pattern = np.array([[0, 1, 0, 0, 0], [0, 0, 0, 1, 0]]) > 0
    assert _range(pattern) == slice(1, 4)
    assert _range(pattern[:1]) == slice(1, 2)
    assert _range(pattern & False) == slice(0, 0)
    assert _stretches(np.array([0, 1, 3, 4, 8])) == [(0, 2), (3, 5), (8, 9)]
    assert _stretches(np.array([2])) == [(2, 3)]


def test_work_is_counted_before_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve places of eight neurons that see three of fifteen inputs, eleven groups of eight that hear two places."""
    network, asked = Local(0, per=8, places=12), []
    network.first = network.first[
        np.argsort(np.argmax(network.first != 0, axis=1), kind="stable")
    ]  # nothing out of order
    g = np.random.default_rng(0)
    network.second[:] = 0.0
    for number in range(11):
        network.second[8 * number : 8 * number + 8, 8 * number : 8 * number + 16] = g.normal(size=(8, 16))
    network.slopes = Floats(network.second @ network.first, np.zeros((88, 15)))
    monkeypatch.setattr(float_mixed, "spend", lambda products, bits, what: asked.append((products, bits)))
    monkeypatch.setattr(float_crossed, "_ROWS", 40)
    made = network.found()
    met = [3] * 10 + [2, 1]  # places that a place meets, from itself on
    each = [(64 * 11, 1024 + 8 * many * 15 // 4 + 8 * many * 24 // 128) for many in met]
    looking = [
        96 * 15 // 4,
        (4 * 96 * 15 + 4 * 88 * 96 + 4 * 88 * 15) // 4,
        88 * 96 // 4,
        12 * 12 * 15 // 16 + 12 * 15,
    ]
    assert asked == [(products, 128) for products in [*looking, *(count for pair in each for count in pair)]]
    asked.clear()
    for symmetric in (False, True):
        made.form(network.x, symmetric)
    # Z: a group hears 16 rows and sees 4 inputs. R: rows at either end are heard by one group and have 4 columns, others 5.
    columns = [4, *[5] * 10, 4]
    seen = [many + 2 for many in met]
    products = 11 * 8 * 16 * 4 + sum(
        64 * many * (width + 3) + 8 * many * inputs * 3 for many, width, inputs in zip(met, columns, seen, strict=True)
    )
    plain = products // 128 + 8 * 96 * 15 // 4 + 1024 * (12 + 11)
    # K ∘ Kᵀ: every row of a place sees three inputs of all 96 rows, and half of all that is seen by the three again. Blocks of
    # at most 40 rows have five, five and two places.
    crossed = 2 * 12 * 24 * 96 // 128 + (4 * 96 * 96 + 2 * 96 * 36) // 4 + 1024 * 12 * 3
    assert asked == [(plain, 128), (plain + crossed, 128)]
    monkeypatch.setattr(MixedSquares, "_table", lambda *_: pytest.fail("done before it was counted"))

    def refused(products: int, bits: int, what: str) -> None:
        raise ArithmeticError(what)

    monkeypatch.setattr(float_mixed, "spend", refused)
    with pytest.raises(ArithmeticError, match="mixed squares"):
        made.form(network.x, True)
