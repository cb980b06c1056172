"""Discs in doubles against exact arithmetic: every true number lies in its disc, whatever the sizes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from checker.stage_files import as_read
from flint import acb, arb
from problems import random_network

import polymargin as pm
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.boundary import Boundary
from polymargin_checker.completeness import _disjoint, _distances
from polymargin_checker.discs import Discs, sizes
from polymargin_checker.jets import Jets, _bend, _difference
from polymargin_checker.krawczyk import contract
from polymargin_checker.krawczyk_discs import Boxes, contract_boxes

Complex = tuple[Fraction, Fraction]
SCALES = (1.0, 2.0**-300, 2.0**-520, 2.0**400)


def exact(value: complex) -> Complex:
    return Fraction(value.real), Fraction(value.imag)


def times(a: Complex, b: Complex) -> Complex:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def plus(a: Complex, b: Complex) -> Complex:
    return a[0] + b[0], a[1] + b[1]


def within(value: Complex, middle: complex, radius: float) -> bool:
    re, im = value[0] - Fraction(middle.real), value[1] - Fraction(middle.imag)
    return re * re + im * im <= Fraction(radius) ** 2


def a_point(disc: Discs, place: Any, generator: np.random.Generator) -> Complex:
    """An exact number in the disc, often on its edge (directions with rational length one)."""
    t = Fraction(int(generator.integers(-30, 30)), 17)
    length = 1 + t * t
    share = Fraction(disc.radius[place]) * (1 if generator.random() < 0.7 else Fraction(1, 3))
    middle = exact(complex(disc.middle[place]))
    return middle[0] + share * (1 - t * t) / length, middle[1] + share * 2 * t / length


def random_discs(generator: np.random.Generator, shape: tuple[int, ...], scale: float, width: float) -> Discs:
    middle = generator.normal(size=shape) + 1j * generator.normal(size=shape)
    return Discs(middle * scale, generator.uniform(0, width, size=shape) * scale)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("width", [0.0, 2.0**-54, 0.3])
def test_sums_and_products_hold_the_true_ones(scale: float, width: float) -> None:
    generator = np.random.default_rng(1)
    for other_scale in (1.0, 2.0**-500, 2.0**300):
        a, b = random_discs(generator, (40,), scale, width), random_discs(generator, (40,), other_scale, width)
        added, multiplied = a + b, a * b
        for place in range(40):
            x, y = a_point(a, place, generator), a_point(b, place, generator)
            assert within(plus(x, y), complex(added.middle[place]), added.radius[place])
            if np.isfinite(multiplied.radius[place]):
                assert within(times(x, y), complex(multiplied.middle[place]), multiplied.radius[place])


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("width", [0.0, 2.0**-50, 0.5])
def test_images_and_products_of_matrices_hold_the_true_ones(scale: float, width: float) -> None:
    generator = np.random.default_rng(2)
    weights = generator.normal(size=(3, 5)) * 2.0 ** generator.integers(-40, 40, size=(3, 5))
    x = random_discs(generator, (4, 5), scale, width)
    image = x.image(weights)
    for place in range(4):
        point = [a_point(x, (place, j), generator) for j in range(5)]
        for i in range(3):
            true = (Fraction(0), Fraction(0))
            for j in range(5):
                true = plus(true, times(point[j], (Fraction(weights[i, j]), Fraction(0))))
            assert within(true, complex(image.middle[place, i]), image.radius[place, i])
    a, b = random_discs(generator, (2, 5, 3), scale, width), random_discs(generator, (2, 5, 4), 1.0, width)
    product = a.transposed_product(b)
    for k in range(2):
        left = [[a_point(a, (k, j, i), generator) for i in range(3)] for j in range(5)]
        right = [[a_point(b, (k, j, i), generator) for i in range(4)] for j in range(5)]
        for i in range(3):
            for m in range(4):
                true = (Fraction(0), Fraction(0))
                for j in range(5):
                    true = plus(true, times(left[j][i], right[j][m]))
                assert within(true, complex(product.middle[k, i, m]), product.radius[k, i, m])


def test_polynomials_hold_the_true_values() -> None:
    generator = np.random.default_rng(3)
    coefficients = generator.normal(size=5)
    z = random_discs(generator, (30,), 1.0, 1e-3)
    found = z.polynomial(Discs.exact(coefficients))
    for place in range(30):
        point, true = a_point(z, place, generator), (Fraction(0), Fraction(0))
        for c in coefficients[::-1]:
            true = plus(times(true, point), (Fraction(c), Fraction(0)))
        assert within(true, complex(found.middle[place]), found.radius[place])


def test_rounding_is_counted_and_not_much_more() -> None:
    """A sum of a thousand terms that cancel: the radius is a few thousand units of what is added, no less than the error."""
    generator = np.random.default_rng(4)
    x = generator.normal(size=(1, 1000))
    weights = np.concatenate([x[0, :500], -x[0, :500]])[None] * 3.0
    row = np.concatenate([x[0, :500], x[0, :500]])[None]
    found = Discs.exact(row).image(weights)
    assert within((Fraction(0), Fraction(0)), complex(found.middle[0, 0]), found.radius[0, 0])
    terms = float(np.abs(row * weights).sum())
    assert 900 * 2.0**-53 * terms < found.radius[0, 0] < 1100 * 2.0**-53 * terms


def test_sizes_are_never_too_small() -> None:
    generator = np.random.default_rng(5)
    values = (generator.normal(size=400) + 1j * generator.normal(size=400)) * 2.0 ** generator.integers(-1070, 500, 400)
    for value, size in zip(values.tolist(), sizes(values).tolist(), strict=True):
        re, im = exact(value)
        assert Fraction(size) ** 2 >= re * re + im * im


def test_what_overflows_has_no_finite_radius() -> None:
    with np.errstate(all="ignore"):
        large = Discs.exact(np.array([1e200 + 0j]))
        for found in (large * large, large.image(np.array([[1e200]])), large.polynomial(Discs.exact([0.0, 0.0, 1.0]))):
            assert not np.isfinite(found.radius).any()


# -- jets and boxes against balls ----------------------------------------------------------------


@pytest.mark.parametrize(("widths", "degree"), [([3, 5, 3], 3), ([2, 3, 4, 2], 2), ([2, 2, 3, 2, 3], 2)])
@pytest.mark.parametrize("radius", [0.0, 1e-9, 1e-3])
def test_jets_on_discs_hold_those_in_balls(widths: list[int], degree: int, radius: float) -> None:
    """Values, gradients and Hessians at points of the discs, by another program in 128 bits."""
    net = random_network(widths, degree, seed=3)
    network, generator = as_read(net), np.random.default_rng(6)
    n, count = widths[0], 7
    x = Discs(generator.normal(size=(count, n)) + 1j * generator.normal(size=(count, n)), np.full((count, n), radius))
    rivals = generator.integers(1, widths[-1], size=count)
    found = Jets(network).at(x, np.zeros(count, dtype=np.int64), rivals, hessian=True)
    assert found.hessian is not None
    with working_precision(128):
        for place in range(count):
            angle = generator.uniform(0, 2 * np.pi, size=n)
            point = x.middle[place] + 0.999 * radius * np.exp(1j * angle)
            jet = Boundary(network, 0, int(rivals[place])).jet([acb(z.real, z.imag) for z in point.tolist()], True)
            pairs = [(jet.value, found.value[place, 0])]
            pairs += [(g, found.gradient[place, i]) for i, g in enumerate(jet.gradient.entries())]
            pairs += [(h, found.hessian[place, i // n, i % n]) for i, h in enumerate(jet.hessian.entries())]
            for true, disc in pairs:
                middle = acb(complex(disc.middle).real, complex(disc.middle).imag)
                assert (true - middle).abs_upper() <= arb(float(disc.radius)) + arb(2) ** -110
            scale = max(1.0, float(np.abs(found.hessian.middle[place]).max()))
            assert found.hessian.radius[place].max() <= 1e3 * scale * (radius + 1e-13)


def boxes_of(x: Any, exponent: int, u: Any) -> Boxes:
    count = len(x)
    places = np.zeros(count, dtype=np.int64)
    return Boxes(
        x, np.full((count, 2), 2.0**exponent), np.tile(u, (count, 1)), places, places + 1, np.abs(x.imag).max(1) == 0
    )


def test_boxes_that_pass_in_doubles_pass_in_balls_and_hold_what_the_balls_find() -> None:
    net, u = random_network([3, 5, 2], 3, seed=0), np.array([0.3, -0.2, 0.5])
    found = pm.critical_points(pm.Boundary.from_network(net, 0, 1), u, cache=False)
    x = np.where(found.real[:, None], found.points.real, found.points).astype(np.complex128)
    network = as_read(net)
    seen = 0
    for exponent in (-45, -40, -30, -20, -14, -8, -4, 0):
        boxes = boxes_of(x, exponent, u)
        judged = contract_boxes(Jets(network), boxes)
        with working_precision(256):
            boundary, centre = Boundary(network, 0, 1), [arb(value) for value in u.tolist()]
            for place, point in enumerate(x):
                if not judged.passed[place]:
                    continue
                seen += 1
                corners = [acb(z.real, z.imag) for z in point.tolist()]
                image = contract(boundary, centre, corners, 2.0**exponent, 2.0**exponent, real=bool(boxes.real[place]))
                # Rectangles are a little harder than discs.
                if image is None:
                    assert exponent > -12
                    continue
                for i, entry in enumerate(image[:-1]):
                    near = (entry - corners[i]).abs_lower()
                    assert near <= arb(float(judged.reach[place, i])) + arb(2) ** -200
    assert seen > 4 * len(x)


def test_no_box_around_a_point_that_is_no_solution_passes() -> None:
    net, u = random_network([3, 5, 2], 3, seed=0), np.array([0.3, -0.2, 0.5])
    network = as_read(net)
    generator = np.random.default_rng(7)
    x = generator.normal(size=(200, 3)) + 1j * generator.normal(size=(200, 3))
    for exponent in (-40, -30, -20, -10):
        assert not contract_boxes(Jets(network), boxes_of(x, exponent, u)).passed.any()


def test_a_box_holds_its_critical_point_or_is_refused() -> None:
    net, u = random_network([3, 5, 2], 3, seed=0), np.array([0.3, -0.2, 0.5])
    found = pm.critical_points(pm.Boundary.from_network(net, 0, 1), u, cache=False)
    network = as_read(net)
    for share, expected in ((0.5, True), (1.25, False), (1.75, False)):
        moved = found.points.copy()
        moved[:, 1] += share * 2.0**-30
        boxes = boxes_of(moved, -30, u)
        boxes = replace(boxes, radii=boxes.radii * [1, 2**12], real=np.zeros(len(moved), dtype=bool))
        assert (contract_boxes(Jets(network), boxes).passed == expected).all()


def test_no_box_holds_two_critical_points() -> None:
    net, u = random_network([3, 5, 2], 3, seed=0), np.array([0.3, -0.2, 0.5])
    found = pm.critical_points(pm.Boundary.from_network(net, 0, 1), u, cache=False)
    network = as_read(net)
    z = np.column_stack([found.points, found.multipliers])
    apart = np.abs(z[:, None] - z[None])
    gaps = np.where(np.eye(len(z), dtype=bool)[..., None], np.inf, apart)
    nearest = gaps[..., :3].max(axis=2).argmin(axis=1)
    boxes = boxes_of(found.points.astype(np.complex128), 0, u)
    each = np.arange(len(z))
    radii = np.stack([gaps[each, nearest, :3].max(axis=1), gaps[each, nearest, 3]], axis=1)
    boxes = replace(boxes, radii=2.0 ** np.ceil(np.log2(radii) + 0.1), real=np.zeros(len(z), dtype=bool))
    assert not contract_boxes(Jets(network), boxes).passed.any()


def test_differences_and_products_of_weights_are_rounded_outward() -> None:
    generator = np.random.default_rng(10)
    left, right = (generator.normal(size=(3, 4)) * 2.0 ** generator.integers(-30, 30, size=(3, 4)) for _ in range(2))
    found = _difference(left, right)
    for a, b, middle, radius in zip(left.flat, right.flat, found.middle.flat, found.radius.flat, strict=True):
        assert abs(Fraction(float(a)) - Fraction(float(b)) - Fraction(middle.real)) <= Fraction(float(radius))
    alpha = Discs.exact(np.ones((1, 1)))
    row = generator.normal(size=(1, 3))
    square = _bend(alpha, row, row, symmetric=True)
    for i in range(3):
        for j in range(3):
            true = Fraction(row[0, i]) * Fraction(row[0, j])
            assert within((true, Fraction(0)), complex(square.middle[0, i, j]), square.radius[0, i, j])


# -- disjoint boxes and distances ----------------------------------------------------------------


class Group:
    corrections = None

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size


def test_the_sweep_finds_every_overlap() -> None:
    generator = np.random.default_rng(8)
    for _ in range(200):
        sizes_of_groups = [int(size) for size in generator.integers(1, 6, size=2)]
        count = sum(sizes_of_groups)
        grid = generator.integers(0, 5, size=(count, 2, 2)).astype(float)
        grid[:, :, 1] += 1  # no box meets its own conjugate
        x = grid[:, :, 0] + 1j * grid[:, :, 1]
        radius = 0.5 if generator.random() < 0.5 else 0.49  # closed boxes of radius 1/2 touch at distance one
        real = np.zeros(count, dtype=bool)
        boxes = Boxes(x, np.full((count, 2), radius), np.zeros((count, 2)), real.astype(int), real.astype(int), real)
        found = _disjoint(boxes, [Group(size) for size in sizes_of_groups])  # type: ignore[misc]
        start = 0
        for size, apart in zip(sizes_of_groups, found.tolist(), strict=True):
            part = np.concatenate([x[start : start + size], x[start : start + size].conj()])
            start += size
            gaps = [
                max(np.abs((part[i] - part[j]).real).max(), np.abs((part[i] - part[j]).imag).max())
                for i in range(2 * size)
                for j in range(i)
            ]
            assert apart is all(gap > 2 * radius for gap in gaps)


@pytest.mark.parametrize("scale", [1.0, 2.0**-600, 2.0**600])
def test_distances_hold_the_true_ones(scale: float) -> None:
    generator = np.random.default_rng(9)
    x, u = generator.normal(size=(50, 3)) * scale, generator.normal(size=(50, 3)) * scale
    reach = generator.uniform(0, 1, size=(50, 3)) * 2.0 ** generator.integers(-60, 1, size=(50, 1)) * scale
    least, most = _distances(x, u, reach)
    for place in range(50):
        for corner in range(8):
            signs = [1 if corner >> i & 1 else -1 for i in range(3)]
            steps = [
                Fraction(x[place, i]) + signs[i] * Fraction(reach[place, i]) - Fraction(u[place, i]) for i in range(3)
            ]
            square = sum(step * step for step in steps)
            assert square <= Fraction(most[place]) ** 2
            if np.all(np.abs(x[place] - u[place]) > reach[place]):
                assert Fraction(least[place]) ** 2 <= square
    assert (most <= 4 * (np.linalg.norm((x - u) / scale, axis=1) + np.linalg.norm(reach / scale, axis=1)) * scale).all()


def test_radii_of_factors_multiply_where_they_point_the_same_way() -> None:
    """Five products of numbers up to 3/2 around 1: the sum reaches 45/4."""
    ones = Discs(np.ones((1, 5, 1), dtype=np.complex128), np.full((1, 5, 1), 0.5))
    found = ones.transposed_product(ones)
    assert within((Fraction(45, 4), Fraction(0)), complex(found.middle[0, 0, 0]), found.radius[0, 0, 0])
