"""The quadric of a class pair and its factors: values against NumPy and SymPy, gradients against finite differences."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import polymargin as pm
from polymargin.learning import Factor, Quadratic, shallow_network
from polymargin.learning.shallow import layer_tensors

torch: Any = pytest.importorskip("torch")


def network(inputs: int = 3, hidden: int = 4, classes: int = 3, seed: int = 0) -> Any:
    return shallow_network(inputs, hidden, classes, seed=seed, dtype=torch.float64)


def arrays(quadratic: Quadratic) -> tuple[Any, Any, float]:
    return quadratic.matrix.detach().numpy(), quadratic.linear.detach().numpy(), quadratic.constant.item()


def test_the_quadric_is_the_difference_of_two_logits() -> None:
    module = network()
    points = np.random.default_rng(1).normal(size=(20, 3))
    logits = pm.from_torch(module)(points)
    for label, rival in ((0, 1), (2, 0)):
        found = Quadratic.of(module, label, rival)(torch.tensor(points)).detach().numpy()
        np.testing.assert_allclose(found, logits[:, label] - logits[:, rival], atol=1e-13)


def test_agreement_with_the_quadric_room() -> None:
    quadric = pytest.importorskip("polymargin.quadric")
    module = network()
    matrix, linear, constant = arrays(Quadratic.of(module, 1, 2))
    form = quadric.QuadricForm.from_network(pm.from_torch(module), 1, 2)
    np.testing.assert_allclose(form.matrix, matrix, atol=1e-12)
    np.testing.assert_allclose(form.linear, linear, atol=1e-12)
    assert form.constant == pytest.approx(constant)


@pytest.mark.parametrize("inputs", [1, 2, 3, 4])
def test_factors_against_sympy(inputs: int) -> None:
    sympy = pytest.importorskip("sympy")
    module = network(inputs, inputs + 1, 2, seed=inputs)
    quadratic = Quadratic.of(module)
    matrix, linear, constant = arrays(quadratic)
    A = sympy.Matrix(inputs, inputs, [sympy.Rational(float(v)) for v in ((matrix + matrix.T) / 2).ravel()])
    b = sympy.Matrix([sympy.Rational(float(v)) for v in linear])
    M = sympy.Matrix(sympy.BlockMatrix([[A, b / 2], [b.T / 2, sympy.Matrix([[sympy.Rational(constant)]])]]))
    t = sympy.Symbol("t")
    truth = {
        Factor.RANK: A.det(),
        Factor.SINGULAR: M.det(),
        Factor.REPEATED: sympy.discriminant(A.charpoly(t).as_expr(), t) if inputs > 1 else 1,
    }
    for which, value in truth.items():
        assert quadratic.factor(which).item() == pytest.approx(float(value), rel=1e-8, abs=1e-30)


@pytest.mark.parametrize("which", Factor)
@pytest.mark.parametrize("scaled", [False, True])
def test_gradients_against_finite_differences(which: Factor, scaled: bool) -> None:
    layers = [tensor.detach().clone().requires_grad_() for tensor in layer_tensors(network(2, 3, 2, seed=3))]

    def value(*tensors: Any) -> Any:
        return Quadratic.of(tensors).factor(which, scaled=scaled)

    assert torch.autograd.gradcheck(value, layers, eps=1e-6, atol=1e-7)


def test_the_gradient_of_the_discriminant_at_a_circle_is_zero() -> None:
    layers = [torch.eye(2).double(), torch.zeros(2).double(), torch.tensor([[1.0, 1.0], [0.0, 0.0]]).double(), None]
    layers[0].requires_grad_()
    value = Quadratic.of(layers).factor(Factor.REPEATED)
    value.backward()
    assert value.item() == 0.0
    assert torch.equal(layers[0].grad, torch.zeros(2, 2, dtype=torch.float64))


@pytest.mark.parametrize("which", Factor)
def test_scaled_factors_ignore_scale_and_lie_between_minus_one_and_one(which: Factor) -> None:
    generator = np.random.default_rng(4)
    for n in (1, 2, 3, 6):
        A = generator.normal(size=(n, n))
        parts = [torch.tensor(part) for part in (A + A.T, generator.normal(size=n), np.array(generator.normal()))]
        value = float(Quadratic(*parts).factor(which, scaled=True))
        assert -1 - 1e-12 <= value <= 1 + 1e-12
        assert float(Quadratic(*(1e3 * part for part in parts)).factor(which, scaled=True)) == pytest.approx(value)


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_zeros_of_hermite_polynomials_have_the_largest_discriminant(n: int) -> None:
    zeros = torch.tensor(np.polynomial.hermite.hermgauss(n)[0])
    best = Quadratic(torch.diag(zeros), torch.zeros(n).double(), torch.tensor(0.0).double())
    assert float(best.factor(Factor.REPEATED, scaled=True)) == pytest.approx(1.0)
    assert math.isclose(float((zeros**2).sum()), n * (n - 1) / 2)


def test_float32_weights_are_taken_exactly() -> None:
    module = shallow_network(5, 7, 3, seed=1)
    assert module[0].weight.dtype == torch.float32
    exact = pm.from_torch(module)
    assert exact.widths == (5, 7, 3)
    assert exact.degree == 2
    assert np.array_equal(exact.chain.layers[0].weights.astype(np.float32), module[0].weight.detach().numpy())
    assert np.array_equal(exact.chain.layers[1].bias, module[2].bias.detach().double().numpy())
    assert pm.from_torch(shallow_network(2, 2, 2, seed=0, bias=False)).chain.layers[0].bias.tolist() == [0.0, 0.0]


def test_seeds_are_explicit_and_leave_no_trace() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first, second, other = (shallow_network(2, 3, 2, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(first[0].weight, second[0].weight)
    assert not torch.equal(first[0].weight, other[0].weight)


def test_networks_survive_a_pickle() -> None:
    module = network()
    assert pm.from_torch(pickle.loads(pickle.dumps(module))).fingerprint == pm.from_torch(module).fingerprint


class MySquare(torch.nn.Module):  # type: ignore[misc]
    def forward(self, values: Any) -> Any:
        return values**2


def test_other_modules_are_tested_for_the_square() -> None:
    first, second = torch.nn.Linear(2, 3), torch.nn.Linear(3, 2)
    assert layer_tensors(torch.nn.Sequential(first, MySquare(), second))[0] is first.weight
    with pytest.raises(pm.InputError, match="ReLU is not x²"):
        layer_tensors(torch.nn.Sequential(first, torch.nn.ReLU(), second))
    with pytest.raises(pm.InputError, match="expected Sequential"):
        layer_tensors(torch.nn.Sequential(first, second))
    with pytest.raises(pm.InputError, match="a list: expected"):
        Quadratic.of([first])
    with pytest.raises(pm.InputError, match="two different ones"):
        Quadratic.of(network(), 1, 1)
    with pytest.raises(pm.InputError, match="shapes"):
        Quadratic.of((torch.zeros(2, 2), None, torch.zeros(2, 3), None))
    with pytest.raises(pm.InputError, match="widths"):
        shallow_network(2, 2, 1, seed=0)
