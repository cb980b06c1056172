"""The gradient of the exact margin, against central differences in 50-digit arithmetic."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from polymargin import L1, L2, Linf  # noqa: E402
from polymargin.errors import InputError  # noqa: E402
from polymargin.learning import (  # noqa: E402
    exact_margin,
    fine_tune,
    margin_hinge,
    margin_softplus,
    margin_step,
    rival_margins,
    shallow_network,
    soft_worst,
    train,
)
from polymargin.regions import Region  # noqa: E402


class Power(torch.nn.Module):  # type: ignore[misc]
    def forward(self, z: Any) -> Any:
        return z**3


def cubic(seed: int) -> Any:
    torch.manual_seed(seed)
    linear = torch.nn.Linear
    return torch.nn.Sequential(linear(2, 3), Power(), linear(3, 3)).double()


def distance(parameters: list[Any], degree: int, u: list[Any], label: int, rival: int, start: Any) -> Any:
    """The distance to the tie near `start`, by Newton's method on the Lagrange equations in 50 digits."""
    first, bias, second, shift = parameters
    n = len(u)

    def boundary(x: list[Any]) -> Any:
        hidden = [
            (sum(w * v for w, v in zip(row, x, strict=True)) + b) ** degree for row, b in zip(first, bias, strict=True)
        ]
        weights = [a - b for a, b in zip(second[label], second[rival], strict=True)]
        return sum(w * h for w, h in zip(weights, hidden, strict=True)) + shift[label] - shift[rival]

    def gradient(x: list[Any]) -> list[Any]:
        weights = [a - b for a, b in zip(second[label], second[rival], strict=True)]
        slopes = [
            w * degree * (sum(c * v for c, v in zip(row, x, strict=True)) + b) ** (degree - 1)
            for w, row, b in zip(weights, first, bias, strict=True)
        ]
        return [sum(s * row[i] for s, row in zip(slopes, first, strict=True)) for i in range(n)]

    def equations(*values: Any) -> list[Any]:
        x, multiplier = list(values[:n]), values[n]
        slope = gradient(x)
        return [x[i] - u[i] + multiplier * slope[i] for i in range(n)] + [boundary(x)]

    slope = gradient([mpmath.mpf(v) for v in start])
    guess = sum((a - b) * s for a, b, s in zip(u, start, slope, strict=True)) / sum(s * s for s in slope)
    found = mpmath.findroot(equations, [mpmath.mpf(v) for v in start] + [guess], tol=1e-80)
    size = mpmath.sqrt(sum((found[i] - u[i]) ** 2 for i in range(n)))
    return size if boundary(u) > 0 else -size


@pytest.mark.parametrize(
    ("make", "degree"), [(lambda: shallow_network(2, 3, 3, seed=2, dtype=torch.float64), 2), (lambda: cubic(4), 3)]
)
@pytest.mark.parametrize("wrong", [False, True])
def test_gradients_to_eight_digits(make: Any, degree: int, wrong: bool) -> None:
    module = make()
    u = torch.tensor([[0.4, -0.3]], dtype=torch.float64, requires_grad=True)
    predicted = int(module(u).argmax())
    label = (predicted + 1) % 3 if wrong else predicted
    value = exact_margin(module, u, torch.tensor([label]), workers=1)
    value.sum().backward()
    assert (value.item() < 0) is wrong
    analytic = [p.grad.flatten().tolist() for p in module.parameters()] + [u.grad.flatten().tolist()]
    with mpmath.workdps(50):
        from polymargin import margin
        from polymargin.networks import from_torch

        found = margin(from_torch(module), [0.4, -0.3], proof=False, workers=1)
        pair = next(p for p in found.pairs if p.rival == (label if wrong else found.rival))
        rival = predicted if wrong else pair.rival
        shapes = [tuple(p.shape) for p in module.parameters()]
        flat = [[mpmath.mpf(v) for v in p.detach().flatten().tolist()] for p in module.parameters()]
        flat.append([mpmath.mpf(0.4), mpmath.mpf(-0.3)])
        step = mpmath.mpf(10) ** -15

        def at(values: list[list[Any]]) -> Any:
            nested = [
                list(v) if len(s) == 1 else [v[r * s[1] : (r + 1) * s[1]] for r in range(s[0])]
                for v, s in zip(values[:4], shapes, strict=True)
            ]
            return distance(nested, degree, values[4], label, rival, pair.point)

        for block, expected in zip(range(5), analytic, strict=True):
            for entry in range(len(flat[block])):
                moved = [[list(b) for b in flat] for _ in range(2)]
                moved[0][block][entry] += step
                moved[1][block][entry] -= step
                slope = float((at(moved[0]) - at(moved[1])) / (2 * step))
                assert expected[entry] == pytest.approx(slope, rel=1e-8, abs=1e-9)


METRIC = [[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 3.0]]
SIZES, BOX = [1.0, 10.0, 0.3], (-0.45, 0.45)
PLANE = [[1.0, 0.0], [2.0, 1.0], [0.0, -1.0]]
REGIONS: dict[str, Region] = {
    "linf": Linf(),
    "l1": L1(),
    "weights": L2(weights=SIZES),
    "weights linf": Linf(weights=SIZES),
    "weights l1": L1(weights=SIZES),
    "metric": L2(ellipsoid=METRIC),
    "movable": L2(movable=[0, 2]),
    "movable linf": Linf(movable=[0, 1]),
    "subspace": L2(subspace=PLANE),
    "subspace in a metric": L2(subspace=PLANE, ellipsoid=METRIC),
    "domain": L2(BOX),
    "domain and weights": L2(BOX, SIZES),
    "domain and metric": L2(BOX, ellipsoid=METRIC),
    "domain, movable": L2(BOX, movable=[1, 2]),
    "domain linf": Linf(BOX),
    "domain l1": L1(BOX),
    "domain linf weights": Linf(BOX, SIZES),
    "rivals": L2(),
}


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("near", REGIONS)
def test_gradients_with_every_option(near: str, wrong: bool) -> None:
    """Central differences of exact margins along each input and along a random direction in all weights."""
    module = shallow_network(3, 4, 3, seed=5, dtype=torch.float64)
    u = torch.tensor([[0.2, 0.1, -0.3]], dtype=torch.float64, requires_grad=True)
    order = module(u).argsort(descending=True)[0]
    label = order[1:2] if wrong else order[:1]
    options: dict[str, Any] = {"within": REGIONS[near]}
    options |= {"rivals": sorted(order[:2].tolist())} if near == "rivals" else {}
    value = exact_margin(module, u, label, workers=1, **options)
    assert torch.isfinite(value).all()
    value.sum().backward()
    generator, step = torch.Generator().manual_seed(0), 1e-5
    everything = [*module.parameters(), u]
    weights = [torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in module.parameters()]
    directions = [[*weights, torch.zeros_like(u)]]
    directions += [[*(torch.zeros_like(p) for p in weights), row[None]] for row in torch.eye(3, dtype=u.dtype)]
    for direction in directions:
        ends = []
        for sign in (-1, 1):
            with torch.no_grad():
                for parameter, along in zip(everything, direction, strict=True):
                    parameter += sign * step * along
                ends.append(exact_margin(module, u.detach(), label, workers=1, **options).item())
                for parameter, along in zip(everything, direction, strict=True):
                    parameter -= sign * step * along
        slope = (ends[1] - ends[0]) / (2 * step)
        assert sum(
            float((p.grad * along).sum()) for p, along in zip(everything, direction, strict=True)
        ) == pytest.approx(slope, rel=2e-5, abs=2e-6)


def test_weights_and_the_ellipse() -> None:
    """x² + 4y² = 4 at (.3, .25) with lengths √(δ₁² + 100 δ₂²): the slope in x, in closed form by Newton's method in 50 digits."""
    module = shallow_network(2, 2, 2, seed=0, dtype=torch.float64)
    with torch.no_grad():
        for parameter, values in zip(
            module.parameters(), (np.eye(2), np.zeros(2), [[1.0, 4.0], [0.0, 0.0]], [0.0, 4.0]), strict=True
        ):
            parameter.copy_(torch.tensor(values))
    u = torch.tensor([[0.3, 0.25]], dtype=torch.float64, requires_grad=True)
    exact_margin(module, u, within=L2(weights=[1.0, 10.0]), workers=1).sum().backward()

    def length(x: Any) -> Any:
        def equations(a: Any, b: Any, m: Any) -> list[Any]:
            return [a - x + m * 2 * a, 100 * (b - mpmath.mpf("0.25")) + m * 8 * b, a * a + 4 * b * b - 4]

        a, b, _ = mpmath.findroot(equations, (1.93, 0.2534, -0.42))
        return mpmath.sqrt((a - x) ** 2 + 100 * (b - mpmath.mpf("0.25")) ** 2)

    with mpmath.workdps(50):
        slope = mpmath.diff(length, mpmath.mpf(0.3))
    assert u.grad[0, 0].item() == pytest.approx(float(slope), rel=1e-9)


def test_options_without_a_gradient_are_refused() -> None:
    module, x = shallow_network(2, 3, 3, seed=0, dtype=torch.float64), torch.zeros(1, 2, dtype=torch.float64)
    for option in ({"abstain": 0.1}, {"checkpoint": "x"}, {"nonsense": 1}):
        with pytest.raises(TypeError, match=next(iter(option))):
            exact_margin(module, x, **option)
    top, second, last = module(x).argsort(descending=True)[0].tolist()
    with pytest.raises(InputError, match=f"ties of its class {last}: rivals= leaves it out"):
        exact_margin(module, x, torch.tensor([last]), rivals=[top, second])


def test_stated_values_and_no_nan() -> None:
    square = shallow_network(1, 1, 2, seed=0, dtype=torch.float64)
    with torch.no_grad():
        for parameter, values in zip(square.parameters(), ([[1.0]], [0.0], [[1.0], [0.0]], [0.0, 1.0]), strict=True):
            parameter.copy_(torch.tensor(values))
    x = torch.tensor([[0.5], [1.0], [-3.0]], dtype=torch.float64, requires_grad=True)
    found = exact_margin(square, x, torch.tensor([1, 1, 0]), workers=1)  # class 1 inside |x| < 1
    assert found.tolist() == pytest.approx([0.5, 0.0, 2.0])
    found.sum().backward()
    assert torch.isfinite(x.grad).all()
    with torch.no_grad():
        square[2].bias.copy_(torch.tensor([0.0, -1.0]))  # class 0 everywhere
    x.grad = None
    never = exact_margin(square, x, torch.tensor([0, 0, 1]), workers=1)
    assert never.tolist() == [np.inf, np.inf, -np.inf]
    losses = sum(loss(never[:2]) for loss in (margin_hinge(1.0), margin_softplus(1.0, 0.5), margin_step(1.0, 0.1)))
    losses.backward()
    assert all(torch.isfinite(p.grad).all() for p in square.parameters())


def test_a_touching_tie_has_a_gradient_for_the_input_alone() -> None:
    module = shallow_network(1, 1, 2, seed=0, dtype=torch.float64)
    with torch.no_grad():
        for parameter, values in zip(module.parameters(), ([[1.0]], [0.0], [[1.0], [0.0]], [0.0, 0.0]), strict=True):
            parameter.copy_(torch.tensor(values))
    x = torch.tensor([[2.0]], dtype=torch.float64, requires_grad=True)
    found = exact_margin(module, x, workers=1)
    found.sum().backward()
    assert found.item() == pytest.approx(2.0)
    assert x.grad.item() == pytest.approx(1.0)
    assert all(not parameter.grad.any() for parameter in module.parameters() if parameter.grad is not None)


def test_fine_tuning_widens_the_margins() -> None:
    generator = np.random.default_rng(0)
    x = torch.tensor(generator.normal(size=(128, 2)))
    x = x[x.abs().min(dim=1).values > 0.1]
    y = (x[:, 0] * x[:, 1] > 0).long()
    module = shallow_network(2, 4, 2, seed=1, dtype=torch.float64)
    train(module, x, y, steps=300, rate=2e-2)
    before = exact_margin(module, x, y, workers=1).detach()
    tuned = fine_tune(module, x, y, margin_softplus(1.0, 0.2), epochs=10, rate=5e-3, batch=32, workers=1)
    after = exact_margin(tuned, x, y, workers=1).detach()
    assert margin_softplus(1.0, 0.2)(after) < margin_softplus(1.0, 0.2)(before)
    assert after.median() > before.median()


def test_one_sentence_for_bad_input() -> None:
    module = shallow_network(2, 3, 2, seed=0)
    with pytest.raises(InputError, match="batch"):
        exact_margin(module, torch.zeros(2))
    with pytest.raises(InputError, match="within='l3'"):
        exact_margin(module, torch.zeros(1, 2), within="l3")
    with pytest.raises(InputError, match="one for each"):
        exact_margin(module, torch.zeros(2, 2), torch.zeros(1))


def test_distances_to_every_rival_agree_with_the_margin_of_the_pair() -> None:
    """Truth: `margin` of the network with the two classes alone."""
    from polymargin import margin

    module = shallow_network(3, 4, 4, seed=3, dtype=torch.float64)
    x = torch.tensor(np.random.default_rng(1).normal(size=(6, 3)), requires_grad=True)
    y = torch.tensor([0, 1, 2, 3, 0, 1])
    found = rival_margins(module, x, y)
    assert found.shape == (6, 3)
    for row, label in enumerate(y.tolist()):
        truth = []
        for rival in (k for k in range(4) if k != label):
            two = torch.nn.Sequential(module[0], module[1], torch.nn.Linear(4, 2).double())
            with torch.no_grad():
                two[2].weight.copy_(module[2].weight[[label, rival]])
                two[2].bias.copy_(module[2].bias[[label, rival]])
            one = margin(two, x[row].detach().numpy(), proof=False, workers=1)
            truth.append(one.radius if one.label == 0 else -one.radius)
        assert found[row].tolist() == pytest.approx(sorted(truth), rel=1e-9)
    assert torch.equal(rival_margins(module, x, y, nearest=2), found[:, :2])
    nearest = exact_margin(module, x, workers=1)
    predicted = module(x).argmax(dim=1)
    assert rival_margins(module, x, predicted).min(dim=1).values.tolist() == pytest.approx(nearest.tolist())
    found.sum().backward()
    step = 1e-6
    for parameter in [*module.parameters(), x]:
        index = next(iter(np.ndindex(*parameter.shape)))
        ends = []
        for sign in (1, -1):
            with torch.no_grad():
                parameter[index] += sign * step
                ends.append(rival_margins(module, x.detach(), y).sum().item())
                parameter[index] -= sign * step
        assert parameter.grad[index].item() == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5)


def test_fine_tuning_on_all_rivals_skips_ties_that_do_not_exist() -> None:
    module = shallow_network(1, 1, 3, seed=0, dtype=torch.float64)
    with torch.no_grad():  # class 0 is x², class 1 is 1, class 2 is −1: 0 and 2 never tie, 1 and 2 neither
        for parameter, values in zip(
            module.parameters(), ([[1.0]], [0.0], [[1.0], [0.0], [0.0]], [0.0, 1.0, -1.0]), strict=True
        ):
            parameter.copy_(torch.tensor(values))
    x, y = torch.tensor([[0.5], [2.0], [3.0], [0.1]], dtype=torch.float64), torch.tensor([1, 0, 2, 1])
    truth = [[0.5, np.inf], [1.0, np.inf], [-np.inf, -np.inf], [0.9, np.inf]]
    np.testing.assert_allclose(rival_margins(module, x, y).detach(), truth, rtol=1e-12)
    loss = soft_worst(margin_softplus(2.0, 0.3), 0.3)
    tuned = fine_tune(module, x, y, loss, epochs=2, batch=4, distances=rival_margins)
    assert all(torch.isfinite(p).all() for p in tuned.parameters())
