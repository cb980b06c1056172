"""The cut for products of the second layer's rests with δ: that it holds, the program with it, and what it is good for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from bounds.lifted.test_combinations import combined, networks, on_the_sphere, relax

from polymargin.bounds.lifted.cubic_cut import CubicCut
from polymargin.bounds.lifted.cuts import cubic_cut
from polymargin.bounds.lifted.first_multipliers import first_multipliers
from polymargin.bounds.lifted.parts import Part, bound_part
from polymargin.bounds.lifted.question import Question
from polymargin.bounds.lifted.relaxation import LiftedRelaxation
from polymargin.relaxation.interior_point import maximise


def relax_with(question: Question) -> tuple[LiftedRelaxation, CubicCut]:
    plain = relax(question)
    cut = cubic_cut(question.expansion, plain.top, plain.ranges, question.worst)
    assert cut is not None
    return replace(plain, cubic=cut), cut


@networks
def test_it_holds_on_the_ball(name: str) -> None:
    question = combined(name)
    expansion, (_, cut) = question.expansion, relax_with(question)
    for delta in on_the_sphere(question, 300):
        for scale in (1.0, 0.3):
            second = expansion.rests(scale * delta)[1][1]
            products = 2 * cut.weights @ ((expansion.layers[1].slopes @ (scale * delta)) * second)
            assert abs(products) <= scale**2 * (delta @ cut.inner(question.radius) @ delta) * (1 + 1e-12)


@networks
def test_its_weights_are_what_products_have_at_the_centre(name: str) -> None:
    """½∂²/∂w² of B by the rests of the second layer, by differences."""
    question = combined(name)
    relaxation, cut = relax_with(question)
    layers = question.expansion.layers

    def functional(second: np.ndarray) -> float:
        """With the rests above as they follow at δ = 0 to first order around the middles."""
        slope, t = relaxation.top.linear + 2 * relaxation.top.square * relaxation.middles[-1], second
        for k in range(len(layers) - 1, 2, -1):
            weight = slope @ layers[k].weights
            slope = weight * (layers[k - 1].rise + 2 * layers[k - 1].bend * relaxation.middles[k - 2])
        return float((slope @ layers[2].weights) @ (layers[1].rise * t + layers[1].bend * t * t))

    middle, step = relaxation.middles[0], 1e-3
    for j in (0, len(middle) - 1):
        unit = step * np.eye(len(middle))[j]
        second = functional(middle + unit) - 2 * functional(middle) + functional(middle - unit)
        np.testing.assert_allclose(cut.weights[j], second / (2 * step**2), rtol=1e-5, atol=1e-9)


@networks
def test_rests_are_minimised_out(name: str) -> None:
    """The form in (1, δ) is the Schur complement of the whole matrix, whatever the multiplier."""
    relaxation, _ = relax_with(combined(name))
    y, _ = first_multipliers(relaxation)
    side = 1 + relaxation.expansion.dimension
    for factor in (1.0, 0.1, 3.0):
        y[relaxation.cubic_place] *= factor
        Z = relaxation.program.matrix(y)
        complement = Z[:side, :side] - Z[:side, side:] @ np.linalg.solve(Z[side:, side:], Z[side:, :side])
        np.testing.assert_allclose(relaxation.reduced(y), complement, atol=1e-9 * np.abs(Z).max())


@networks
def test_the_bound_is_no_worse_and_the_next_weights_are_the_solutions(name: str) -> None:
    question = combined(name)
    relaxation, _ = relax_with(question)
    found = []
    for asked in (replace(relaxation, cubic=None), relaxation):
        y, value = first_multipliers(asked)
        optimum = maximise(asked.program, y, asked.scale(value), tolerance=1e-6)
        assert optimum is not None
        found.append(optimum.value)
    assert found[1] >= found[0] - 1e-5 * abs(question.size)
    solved = bound_part(question, Part(relaxation.ranges), decide=False, whole=False)
    assert solved.optimum is not None
    assert solved.relaxation.cubic is not None
    known = question.expansion.known[CubicCut]
    np.testing.assert_array_equal(known, solved.relaxation.second_squares(solved.optimum.y))
    again = cubic_cut(question.expansion, relaxation.top, relaxation.ranges, question.worst)
    assert again is not None
    np.testing.assert_array_equal(again.weights, known)


def test_where_the_form_vanishes_there_is_none() -> None:
    question = combined("three layers")
    width = len(question.expansion.layers[1].value)
    assert CubicCut.of(question.expansion, np.zeros(width), question.worst) is None
