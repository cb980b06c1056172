"""One program, many arithmetics: they must all agree."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import PROBLEMS, Problem

from polymargin import Boundary, _core
from polymargin.boundary import critical_system
from polymargin.polynomials import Graph, Program, evaluate, flatten, modulo, to_ball
from polymargin.polynomials.steps import LinearStep


def _critical_program(problem: Problem) -> Program:
    return critical_system(Boundary.from_network(problem.network(), 0, 1)).target


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_numpy_balls_fractions_and_packs_agree(problem: Problem) -> None:
    program = _critical_program(problem)
    generator = np.random.default_rng(3)
    n, m = program.input_count, program.parameter_count
    # Dyadic points, so that every arithmetic starts from the same numbers.
    x = np.round(generator.normal(size=(3, n)) * 64) / 64
    u = np.round(generator.normal(size=m) * 64) / 64
    exact = [
        [
            float(value)
            for value in evaluate(
                program, [Fraction(v) for v in row], [Fraction(v) for v in u], lift=Fraction, derivatives=True
            )
        ]
        for row in x
    ]
    truth = np.array(exact)
    size = 1 + np.abs(truth)

    arrays = evaluate(program, list(x.T), list(u), derivatives=True)
    numpy_values = np.array([np.broadcast_to(entry, 3) for entry in arrays]).T
    assert (np.abs(numpy_values - truth) / size).max() < 1e-11

    balls = evaluate(program, [flint.acb(v) for v in x[0]], [flint.acb(v) for v in u], lift=to_ball, derivatives=True)
    for ball, value in zip(balls, truth[0], strict=True):
        assert abs(complex(flint.acb(ball).mid()) - value) <= 1e-11 * (1 + abs(value))
        exactly = flint.fmpq(*Fraction(value).as_integer_ratio())
        assert float(abs(flint.acb(ball) - flint.acb(exactly)).upper()) <= 1e-11 * (1 + abs(value))

    for name in _core.instruction_sets():
        for double_double in (False, True):
            values, jacobians = _core.evaluate(
                program.compiled,
                x.astype(complex),
                u.astype(complex),
                double_double=double_double,
                instruction_set=name,
            )
            packs = np.concatenate([values, jacobians.reshape(3, -1)], axis=1)
            tolerance = 1e-15 if double_double else 1e-11
            assert (np.abs(packs - truth) / size).max() < tolerance, (name, double_double)


def test_double_doubles_keep_thirty_digits() -> None:
    """x² − 2 at a double next to √2: the rounding error of the double is visible to 1e-32."""
    graph = Graph()
    (x,) = graph.inputs(1)
    program = flatten(graph, [x**2 - 2], [2 * x])
    root = np.sqrt(2.0)
    truth = float(Fraction(root) ** 2 - 2)
    for name in _core.instruction_sets():
        values, _ = _core.evaluate(
            program.compiled,
            np.array([[root + 0j]]),
            np.zeros(0, complex),
            double_double=True,
            instruction_set=name,
        )
        assert values[0, 0].real == truth


def test_rational_coefficients_reach_double_doubles() -> None:
    """1/3 is no double; a double-double must see more of it."""
    graph = Graph()
    (x,) = graph.inputs(1)
    program = flatten(graph, [x / 3 - 1], [graph.constant(Fraction(1, 3))])
    values, _ = _core.evaluate(program.compiled, np.array([[3 + 0j]]), np.zeros(0, complex), double_double=True)
    assert abs(values[0, 0]) < 1e-32  # the nearest double to 1/3 would leave 5e-17


def test_residues_modulo_a_prime() -> None:
    graph = Graph()
    x, y = graph.inputs(2)
    program = flatten(graph, [x**2 * y / 3 - 5])
    prime = 101
    (value,) = evaluate(program, [flint.nmod(7, prime), flint.nmod(11, prime)], lift=modulo(prime))
    assert int(value) == (49 * 11 * pow(3, -1, prime) - 5) % prime


def test_a_dense_layer_is_one_instruction() -> None:
    problem = PROBLEMS[3]
    program = _critical_program(problem)
    shapes = [(len(s.rows), len(s.arguments)) for s in program.steps if isinstance(s, LinearStep)]
    assert (10, 8) in shapes, "the first layer"
    assert (8, 10) in shapes, "the gradient"
    assert (36, 10) in shapes, "the upper half of the Hessian"


def test_values_are_a_prefix_of_values_and_derivatives() -> None:
    program = critical_system(Boundary.from_network(PROBLEMS[0].network(), 0, 1)).blend
    x, p = np.ones(program.input_count), np.ones(program.parameter_count)
    both = evaluate(program, list(x), list(p), derivatives=True)
    assert evaluate(program, list(x), list(p)) == both[: program.input_count]
    assert program.value_length < len(program.steps)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_graphs_agree_with_direct_arithmetic(data: st.DataObject) -> None:
    """Build the same random formula on expressions and on Fractions."""
    graph = Graph()
    inputs = graph.inputs(3)
    numbers = [Fraction(n, 8) for n in data.draw(st.lists(st.integers(-16, 16), min_size=3, max_size=3))]
    pool = list(zip(inputs, numbers, strict=True))
    for _ in range(data.draw(st.integers(1, 12))):
        (a, va), (b, vb) = data.draw(st.sampled_from(pool)), data.draw(st.sampled_from(pool))
        operation = data.draw(st.sampled_from(["+", "-", "*", "scale", "power"]))
        factor = Fraction(data.draw(st.integers(-5, 5)), 4)
        pool.append(
            {
                "+": lambda a=a, b=b, va=va, vb=vb: (a + b, va + vb),
                "-": lambda a=a, b=b, va=va, vb=vb: (a - b, va - vb),
                "*": lambda a=a, b=b, va=va, vb=vb: (a * b, va * vb),
                "scale": lambda a=a, va=va, f=factor: (f * a + f, f * va + f),
                "power": lambda a=a, va=va: (a**3, va**3),
            }[operation]()
        )
    program = flatten(graph, [expression for expression, _ in pool])
    assert evaluate(program, numbers, lift=Fraction) == [value for _, value in pool]


def test_the_core_refuses_programs_with_wild_indices() -> None:
    def program(**change: object) -> _core.Program:
        parts: dict[str, object] = {
            "inputs": 1,
            "parameters": 0,
            "registers": 2,
            "value_code": 1,
            "code": np.array([[3, 1, 1, 0, 0, 0]], dtype=np.int32),
            "arguments": np.zeros(1, np.int32),
            "coefficient_hi": np.zeros(0),
            "coefficient_lo": np.zeros(0),
            "constant_hi": np.zeros(0),
            "constant_lo": np.zeros(0),
            "value_registers": np.array([1], np.int32),
            "jacobian_registers": np.array([0], np.int32),
        }
        return _core.Program(**(parts | change))

    program()
    for change in (
        {"value_registers": np.array([2], np.int32)},
        {"jacobian_registers": np.array([7], np.int32)},
        {"code": np.array([[3, 2, 1, 0, 0, 0]], dtype=np.int32)},  # target
        {"code": np.array([[3, 1, 2, 0, 0, 0]], dtype=np.int32)},  # rows
        {"code": np.array([[3, 1, 0, 0, 0, 0]], dtype=np.int32)},
        {"code": np.array([[3, 1, 1, 0, -1, 0]], dtype=np.int32)},  # arguments
        {"code": np.array([[2, 1, 1, 0, 0, 0]], dtype=np.int32)},  # the second factor
        {"code": np.array([[0, 1, 1, 1, 0, 0]], dtype=np.int32)},  # coefficients
        {"code": np.array([[1, 1, 1, 2, 0, 0]], dtype=np.int32)},
        {"code": np.array([[9, 1, 1, 0, 0, 0]], dtype=np.int32)},  # operation
        {"arguments": np.array([2], np.int32)},
        {"value_code": 2},
        {"registers": 1},
    ):
        with pytest.raises(ValueError, match="outside its array"):
            program(**change)
