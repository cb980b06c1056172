"""A model as steps is the model: the steps in rationals give the exact logits, for programs of products and for layers."""

from __future__ import annotations

from array import array
from typing import Any

import pytest
from checker.product_programs import mixed_program, sparse
from checker.region_programs import exact, run, value_of_b
from checker.views_of_files import stages_of
from flint import arb, fmpq

from polymargin_checker import region_steps
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.exact import exact_logits
from polymargin_checker.floats import Floats
from polymargin_checker.refusal import Refused
from polymargin_checker.region_steps import EnclosedSteps, _horner, _rational, _sparse_form
from polymargin_checker.views import Matrix, Model, Products, Stage

POINTS = [(fmpq(1, 4), fmpq(-1, 2)), (fmpq(-3, 8), fmpq(5, 4)), (fmpq(0), fmpq(1))]


def layers() -> Model:
    numbers = [0.5, -1.0, 0.25, 2.0, 1.0, 0.75, -0.5, 0.125, 1.5]
    matrices = [(3, 2), (2, 3), (3, 2)]
    return Model(
        tuple(Matrix(r, c, array("d", [(k + 1) * v for v in numbers[: r * c]])) for k, (r, c) in enumerate(matrices)),
        tuple(array("d", numbers[-r:]) for r, _ in matrices),
        ((0.5, 0.25, 1.0), (0.0, 1.0, -0.5, 0.25)),
    )


@pytest.mark.parametrize("model", [mixed_program(), layers()], ids=["products", "layers"])
@pytest.mark.parametrize("x", POINTS)
def test_steps_and_output_are_the_exact_logits(model: Any, x: tuple[fmpq, ...]) -> None:
    logits = exact_logits(stages_of(model), x)
    with working_precision(2000):
        steps = EnclosedSteps.of(model, Balls)
        forms, values = run(list(x), steps.steps)
        assert steps.sizes == [len(part) for part in values]
        for label in range(3):
            for rival in range(3):
                assert value_of_b(steps, values, label, rival) == logits[label] - logits[rival]
        for step, z, made in zip(steps.steps, forms, values[1:], strict=True):
            columns = [Balls.of(len(part), 1, part) for part in z]
            found, slopes = step.results(Balls, columns)
            assert exact(found) == made
            if step.coefficients is None:
                assert [exact(slope) for slope in slopes] == [z[1], z[0]]
            else:
                derivative = [k * c for k, c in enumerate(step.coefficients)][1:]
                assert [exact(s) for s in slopes] == [[sum(c * v**k for k, c in enumerate(derivative)) for v in z[0]]]


def test_an_activation_that_is_constant_has_no_slope() -> None:
    stage = Stage("A", (sparse(2, ({0: 1.0}, 0.0)),), (0.5,))
    steps = EnclosedSteps.of(Products(2, (stage,), sparse(3, ({0: 1.0}, 0.0), ({2: 1.0}, 0.0))), Balls)
    value, (slope,) = steps.steps[0].results(Balls, [Balls.of(1, 1, [3.0])])
    assert (exact(value), exact(slope)) == ([fmpq(1, 2)], [0])


def test_blocks_are_there_for_the_sources_that_are_seen() -> None:
    """Values 0, 1 are inputs, 2 to 4 the first step, 5 the second; a form that comes later sees no more than its width."""
    sizes = [2, 3, 1]
    found = _sparse_form(sparse(6, ({0: 1.0, 4: 2.0}, 0.5), ({2: 3.0}, -1.0)), sizes, Balls)
    assert [(source, exact(block)) for source, block in found.blocks] == [(0, [1, 0, 0, 0]), (1, [0, 0, 2, 3, 0, 0])]
    assert exact(found.bias) == [fmpq(1, 2), -1]
    assert [source for source, _ in _sparse_form(sparse(6, ({1: 1.0, 5: 1.0}, 0.0)), sizes, Balls).blocks] == [0, 2]
    assert [source for source, _ in _sparse_form(sparse(5, ({2: 1.0}, 0.0)), sizes, Balls).blocks] == [1]
    assert [source for source, _ in _sparse_form(sparse(2, ({}, 1.0)), sizes, Balls).blocks] == []


def test_blocks_of_too_many_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    form = sparse(5, ({2: 1.0}, 0.0), ({3: 1.0}, 0.0))
    monkeypatch.setattr(region_steps, "LARGEST_BLOCK", 6)
    assert len(_sparse_form(form, [2, 3], Balls).blocks) == 1
    monkeypatch.setattr(region_steps, "LARGEST_BLOCK", 5)
    with pytest.raises(Refused, match="a block of 2 by 3 weights; this checker accepts 5 of them"):
        _sparse_form(form, [2, 3], Balls)


def test_weights_may_be_doubles_or_rationals() -> None:
    assert (_rational(0.75), _rational(fmpq(1, 3))) == (fmpq(3, 4), fmpq(1, 3))


@pytest.mark.parametrize("arithmetic", [Balls, Floats])
def test_horner(arithmetic: Any) -> None:
    with working_precision(128):
        found = _horner(arithmetic, [fmpq(1, 3), fmpq(-2), fmpq(5)], arithmetic.of(2, 1, [2.0, -1.0]))
        for ball, truth in zip(found.entries(), (16 + fmpq(1, 3), 7 + fmpq(1, 3)), strict=True):
            assert abs(ball - arb(truth)) < 1e-12
            assert ball.overlaps(arb(truth))
