"""Training, regularisers and projections reach the loci they aim at, in few steps on tiny problems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polymargin as pm
from polymargin.learning import (
    Factor,
    Quadratic,
    Regulariser,
    correct,
    project,
    remove_normal,
    shallow_network,
    train,
)
from polymargin.learning.strata import network_stratum

torch: Any = pytest.importorskip("torch")


def xor(count: int = 80) -> tuple[Any, Any]:
    generator = np.random.default_rng(0)
    points = generator.choice([-1.0, 1.0], (count, 2))
    return points + 0.2 * generator.normal(size=points.shape), (points[:, 0] * points[:, 1] < 0).astype(int)


def network(seed: int = 1, inputs: int = 2, hidden: int = 4) -> Any:
    return shallow_network(inputs, hidden, 2, seed=seed, dtype=torch.float64)


def value(module: Any, which: Factor) -> float:
    with torch.no_grad():
        return float(Quadratic.of(module).factor(which, scaled=True))


def test_xor_with_the_paper_s_regulariser_gives_two_lines() -> None:
    plain, drawn = network(), network()
    options: dict[str, Any] = {"steps": 400, "rate": 2e-2}
    assert train(plain, *xor(), **options).accuracy == 1.0
    assert network_stratum(pm.from_torch(plain)).name == "hyperbola"
    training = train(drawn, *xor(), penalty=Regulariser(Factor.SINGULAR, 10.0), **options)
    assert training.accuracy == 1.0
    assert training.penalty < 1e-3
    found = network_stratum(pm.from_torch(drawn))
    assert (found.name, found.ed_degree) == ("crossing lines", 2)


@pytest.mark.parametrize("which", Factor)
def test_the_penalty_drives_its_factor_down(which: Factor) -> None:
    module = network(seed=2)
    before = value(module, which)
    train(module, *xor(), steps=200, rate=2e-2, penalty=Regulariser(which, 100.0, scaled=True))
    assert abs(value(module, which)) < 0.1 * max(abs(before), 0.3)


def test_regularisers_are_what_they_say() -> None:
    module = shallow_network(2, 3, 3, seed=1, dtype=torch.float64)
    one, two = (Regulariser(which, 0.5)(module).item() for which in (Factor.RANK, Factor.SINGULAR))
    rank, singular = (Quadratic.of(module).factor(which).item() for which in (Factor.RANK, Factor.SINGULAR))
    assert one == pytest.approx(0.5 * rank**2)
    both = (Factor.RANK, Factor.SINGULAR)
    assert Regulariser(both, 0.5)(module).item() == pytest.approx(one + two)
    assert Regulariser(both, 0.5, combine="product")(module).item() == pytest.approx(0.5 * (rank * singular) ** 2)
    pairs = [Regulariser(Factor.RANK, 1.0, pairs=[pair])(module).item() for pair in ((0, 1), (1, 2))]
    assert Regulariser(Factor.RANK, 1.0, pairs=[(0, 1), (1, 2)])(module).item() == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize("which", Factor)
@pytest.mark.parametrize("inputs", [2, 3])
def test_projection_lands_on_the_locus_in_few_steps(which: Factor, inputs: int) -> None:
    module = network(seed=3, inputs=inputs)
    found = project(module, which)
    assert found.converged
    assert found.steps <= 15
    assert abs(value(module, which)) <= 1e-13
    assert 0 < found.distance < 2
    place = network_stratum(pm.from_torch(module), tolerance=1e-5)
    assert place.ed_degree < place.general_ed_degree


def test_projected_gradient_stays_on_the_locus_while_it_learns() -> None:
    module = network(seed=1)
    project(module, Factor.SINGULAR)
    training = train(
        module,
        *xor(),
        steps=300,
        rate=2e-2,
        before_step=lambda net: remove_normal(net, Factor.SINGULAR),
        after_step=lambda net: correct(net, Factor.SINGULAR),
    )
    assert training.accuracy == 1.0
    assert abs(value(module, Factor.SINGULAR)) < 1e-6


def test_the_normal_part_is_gone() -> None:
    module = network(seed=4)
    parameters = list(module.parameters())
    Quadratic.of(module).factor(Factor.RANK, scaled=True).backward()
    remove_normal(module, Factor.RANK)
    assert max(float(parameter.grad.abs().max()) for parameter in parameters if parameter.grad is not None) < 1e-12


def test_mini_batches_repeat_with_their_seed() -> None:
    weights = []
    for seed in (0, 0, 1):
        module = network()
        train(module, *xor(), steps=20, batch=16, seed=seed)
        weights.append(module[0].weight.detach().clone())
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_nonsense_is_refused() -> None:
    module, (points, labels) = network(), xor()
    with pytest.raises(pm.InputError, match="det A is zero for all weights"):
        Regulariser(Factor.RANK)(network(inputs=5))
    with pytest.raises(pm.InputError, match="at least 4"):
        project(network(inputs=5, hidden=3), Factor.REPEATED)
    with pytest.raises(pm.InputError, match="factors"):
        Regulariser([])
    with pytest.raises(pm.InputError, match="strength -1"):
        Regulariser(Factor.RANK, -1.0)
    with pytest.raises(pm.InputError, match="combine"):
        Regulariser(Factor.RANK, combine="both")  # type: ignore[arg-type]
    with pytest.raises(pm.InputError, match="batch 1000"):
        train(module, points, labels, batch=1000)
    with pytest.raises(pm.InputError, match="expected"):
        train(module, points, labels[:3])
    with pytest.raises(pm.InputError, match="steps 0"):
        train(module, points, labels, steps=0)
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    with pytest.raises(pm.InputError, match="set requires_grad on those"):
        train(module, points, labels)
    with pytest.raises(pm.InputError, match="those that may move"):
        project(module, Factor.RANK)
