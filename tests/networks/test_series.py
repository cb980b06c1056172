"""Activations in bases with a three-term recurrence: values, errors, files, proofs, each against explicit sums in Fractions."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explicit_polynomials import explicit

import polymargin as pm
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.recurrences import BASES
from polymargin.networks.stages import Polynomial
from polymargin.regions import L2
from polymargin.relaxation import RegionSearch
from polymargin_checker.checker import check
from polymargin_checker.exact import exact_logits
from polymargin_checker.stages import read_network

ORTHOGONAL = ("chebyshev", "legendre", "hermite", "hermite_e")
NUMPY = {
    "chebyshev": np.polynomial.Chebyshev,
    "legendre": np.polynomial.Legendre,
    "hermite": np.polynomial.Hermite,
    "hermite_e": np.polynomial.HermiteE,
}


def series_network(basis: str, coefficients: Any, inputs: int = 2, hidden: int = 3, scale: float = 0.5) -> Network:
    rng = np.random.default_rng(5)
    inner = Forms.of(scale * rng.normal(size=(hidden, inputs)), 0.3 * rng.normal(size=hidden))
    outer = np.hstack([np.zeros((2, inputs)), rng.normal(size=(2, hidden))])
    return Network([Polynomial(inner, tuple(coefficients), basis)], Forms.of(outer, [0.2, -0.1]))


def tame(basis: str, degree: int) -> list[float]:
    """Coefficients that fall as fast as the polynomials of a Hermite basis grow."""
    rng = np.random.default_rng(degree)
    signs, sizes = rng.choice([-1.0, 1.0], size=degree + 1), rng.uniform(0.5, 1.0, size=degree + 1)
    growth = np.ones(degree + 1)
    if basis.startswith("hermite"):
        each = np.sqrt(np.arange(1, degree + 1) * (2.0 if basis == "hermite" else 1.0))
        growth = np.concatenate([[1.0], np.cumprod(each)])
    return (signs * sizes / growth).tolist()


def truth(network: Network, point: Any) -> list[Fraction]:
    x = [Fraction(float(value)) for value in point]
    (stage,) = network.stages
    values = list(x)
    for bias, (columns, weights) in zip(stage.forms[0].bias, stage.forms[0].rows(), strict=True):
        z = Fraction(float(bias))
        z += sum(Fraction(w) * x[c] for c, w in zip(columns, weights, strict=True))
        values.append(sum(Fraction(c) * explicit(stage.basis, k, z) for k, c in enumerate(stage.coefficients)))
    rows = network.readout.rows()
    return [
        Fraction(float(bias)) + sum(Fraction(w) * values[c] for c, w in zip(columns, weights, strict=True))
        for (columns, weights), bias in zip(rows, network.readout.bias, strict=True)
    ]


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("degree", [1, 2, 7, 40])
def test_exact_logits_are_the_explicit_sums(basis: str, degree: int, tmp_path: Path) -> None:
    network = series_network(basis, tame(basis, degree))
    network.save(tmp_path / "model.npz")
    again = pm.load(tmp_path / "model.npz")
    assert again.fingerprint == network.fingerprint
    theirs = read_network(tmp_path / "model.npz")
    assert theirs.fingerprint == network.fingerprint
    assert network.degree == degree
    for point in ([0.25, -0.75], [1.5, 0.125]):
        expected = truth(network, point)
        assert network.exact_logits(point) == expected
        as_fractions = np.array([Fraction(v) for v in point], dtype=object)
        assert network.logits(as_fractions).tolist() == expected
        from flint import fmpq

        exact = exact_logits(theirs, [fmpq(*v.as_integer_ratio()) for v in point])
        assert [Fraction(int(v.p), int(v.q)) for v in exact] == expected


@pytest.mark.parametrize("basis", ORTHOGONAL)
@pytest.mark.parametrize("degree", [15, 60, 127])
def test_rounding_is_bounded_and_powers_would_have_lost_all_digits(basis: str, degree: int) -> None:
    """The bound of the errors holds, and Clenshaw's rule keeps digits where the same series in powers has none."""
    network = series_network(basis, tame(basis, degree))
    (stage,) = network.stages
    points = np.random.default_rng(degree).uniform(-1.2, 1.2, size=(12, 2))
    bounds = network.rounding_errors(points)
    lost = 0.0
    powers = np.array([float(Fraction(int(c.p), int(c.q))) for c in stage.recurrence.in_powers(stage.coefficients)])
    for point, found, bound in zip(points, network(points), bounds, strict=True):
        exact = network.exact_logits(point)
        size = max(1.0, max(abs(float(value)) for value in exact))
        errors = [abs(Fraction(float(a)) - b) for a, b in zip(found, exact, strict=True)]
        assert all(error <= Fraction(float(b)) for error, b in zip(errors, bound, strict=True))
        assert max(errors) <= 1e-11 * size
        assert not stage.recurrence.bounded or bound.max() < 1e-6 * size
        z = stage.forms[0]([point])
        expanded = np.polynomial.polynomial.polyval(z, powers)
        right = stage([point])
        lost = max(lost, float(np.abs(expanded - right).max() / max(1.0, np.abs(right).max())))
    if degree >= 60 and stage.recurrence.bounded:
        assert lost > 1e-6


@pytest.mark.parametrize("basis", ORTHOGONAL)
def test_values_against_multiple_precision(basis: str) -> None:
    mpmath = pytest.importorskip("mpmath")
    value = {"chebyshev": mpmath.chebyt, "legendre": mpmath.legendre, "hermite": mpmath.hermite}
    value["hermite_e"] = lambda n, z: mpmath.mpf(2) ** (-mpmath.mpf(n) / 2) * mpmath.hermite(n, z / mpmath.sqrt(2))
    with mpmath.workdps(60):
        for z in (-0.9375, 0.125, 0.75, 1.0, 1.25):
            for n in (1, 17, 90):
                row = (*[0.0] * n, 1.0)
                found = float(BASES[basis].sum(row, np.array([z]))[0])
                right = value[basis](n, mpmath.mpf(z))
                assert abs(found - right) <= 1e-12 * max(1, abs(right)) * n


@pytest.mark.parametrize("basis", BASES)
def test_whole_numbers_at_the_largest_degree(basis: str) -> None:
    rng = np.random.default_rng(3)
    row, recurrence = rng.integers(-9, 10, size=128).tolist(), BASES[basis]
    for z, exponent in ((11, 4), (-3, 1), (7, 0)):
        scale = 1 << (exponent + recurrence.spare_bits) * 127
        expected = sum(c * explicit(basis, k, Fraction(z, 1 << exponent)) for k, c in enumerate(row))
        assert Fraction(recurrence.whole(row, z, exponent), scale) == expected


@pytest.mark.parametrize("basis", ORTHOGONAL)
def test_conversions_are_exact(basis: str) -> None:
    row = tame(basis, 9)
    for rewritten, other in (("in_chebyshev", "chebyshev"), ("in_powers", "powers")):
        found = getattr(BASES[basis], rewritten)(row)
        for z in (Fraction(3, 7), Fraction(-5, 2)):
            ours = sum(Fraction(int(c.p), int(c.q)) * explicit(other, k, z) for k, c in enumerate(found))
            assert ours == sum(Fraction(c) * explicit(basis, k, z) for k, c in enumerate(row))


@pytest.mark.parametrize("basis", ORTHOGONAL)
def test_small_ones_are_exact_and_proved(basis: str, tmp_path: Path) -> None:
    network = series_network(basis, (0.5, -1.0, 0.25, 0.125), hidden=2)
    u = np.array([0.2, -0.1])
    margin = pm.margin(network, u, proof=False)
    assert margin.standing.name in ("NUMERICAL", "CERTIFIED")
    same = pm.margin(
        pm.PolynomialNetwork(
            [
                (network.stages[0].forms[0].matrix.toarray(), network.stages[0].forms[0].bias),
                (network.readout.matrix.toarray()[:, 2:], network.readout.bias),
            ],
            activations=[float(Fraction(int(c.p), int(c.q))) for c in BASES[basis].in_powers((0.5, -1.0, 0.25, 0.125))],
        ),
        u,
        proof=False,
    )
    assert margin.radius == pytest.approx(same.radius, rel=1e-9)
    network.save(tmp_path / "model.npz")
    for number, verdict in enumerate(
        [
            pm.verify(network, u, 0.9 * margin.radius),
            pm.verify(network, u, 1.1 * margin.radius),
            pm.verify(network, u, 0.4 * margin.radius, within=pm.Linf()),
        ]
    ):
        assert verdict.answer.name == ("VULNERABLE" if number == 1 else "ROBUST")
        verdict.certificate.save(tmp_path / "proof.json")
        assert check(tmp_path / "model.npz", tmp_path / "proof.json").accepted
    certified = pm.margin(network, u)
    certified.certificate.save(tmp_path / "proof.json")
    assert check(tmp_path / "model.npz", tmp_path / "proof.json").accepted
    assert certified.upper == pytest.approx(margin.radius, rel=1e-6)


@pytest.mark.parametrize("basis", ORTHOGONAL)
def test_large_ones_are_bounded(basis: str, tmp_path: Path) -> None:
    """Degree 30 in two inputs may have thousands of critical points: a bound below, a counterexample above, a proof between."""
    network = series_network(basis, tame(basis, 30), hidden=2, scale=0.25)
    u = np.array([0.2, -0.1])
    upper, label = pm.attack(network, u), int(network.predict(u))
    assert upper is not None
    lower = RegionSearch(network, u, label, [1 - label], L2().in_dimension(2)).largest(upper.distance)
    assert 0.3 * upper.distance < lower.radius <= upper.distance
    verdict = pm.verify(network, u, 0.5 * lower.radius, timeout=20)
    assert verdict.answer.name == "ROBUST"
    network.save(tmp_path / "model.npz")
    verdict.certificate.save(tmp_path / "proof.json")
    assert check(tmp_path / "model.npz", tmp_path / "proof.json").accepted


# -- ways in ---------------------------------------------------------------------------------------


def arrays(inputs: int = 3, hidden: int = 4) -> dict[str, Any]:
    rng = np.random.default_rng(8)
    shapes = {"fc1.weight": (hidden, inputs), "fc1.bias": hidden, "fc2.weight": (2, hidden), "fc2.bias": 2}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def expected_logits(given: dict[str, Any], series: Any, points: Any) -> Any:
    hidden = series(points @ given["fc1.weight"].T + given["fc1.bias"])
    return hidden @ given["fc2.weight"].T + given["fc2.bias"]


@pytest.mark.parametrize("basis", ORTHOGONAL)
def test_activation_names_the_basis(basis: str) -> None:
    given, row = arrays(), tame(basis, 11)
    points = np.random.default_rng(0).uniform(-1, 1, size=(200, 3))
    for activation, series in (
        ((basis, row), NUMPY[basis](row)),
        (NUMPY[basis](row, domain=(-4, 6)), NUMPY[basis](row, domain=(-4, 6))),
    ):
        network = pm.from_arrays(given, activation)
        assert network.stages[0].basis == basis
        right = expected_logits(given, series, points)
        assert np.abs(network(points) - right).max() <= 1e-12 * np.abs(right).max()
    powers = pm.from_arrays(given, np.polynomial.Polynomial([0.5, 0.0, 2.0]))
    assert powers.chain.activations == ((0.5, 0.0, 2.0),)


def test_arrays_that_say_their_basis(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from polymargin.networks.readers.torch_layers import Series

    torch.manual_seed(0)
    row = tame("legendre", 9)
    for domain in ((-1.0, 1.0), (-3.0, 5.0)):
        layers = torch.nn.Linear(3, 4), Series(row, "legendre", domain), torch.nn.Linear(4, 2)
        module = torch.nn.Sequential(*layers).double()
        torch.save(module.state_dict(), tmp_path / "state.pt")
        points = np.random.default_rng(1).uniform(-1, 1, size=(50, 3))
        right = module(torch.from_numpy(points)).detach().numpy()
        for network in (pm.from_torch(module), pm.load(tmp_path / "state.pt")):
            assert network.stages[0].basis == "legendre"
            assert np.abs(network(points) - right).max() <= 1e-12 * np.abs(right).max()


@pytest.mark.parametrize(
    ("activation", "message"),
    [
        ("laguerre", "expected 'square', 'relu', a degree, coefficients"),
        (("legendre", (1.0, np.nan)), "expected 'square'"),
        (("legendre", np.ones(129)), "expected 1 to 128"),
        (np.polynomial.Legendre([0, 1], domain=(-2, 2), window=(0, 1)), "the window"),
        (np.polynomial.Legendre([0, 1], domain=(2, -2)), "the lower one first"),
        (np.polynomial.Polynomial([0, 1], domain=(-2, 2)), "powers with a domain"),
    ],
)
def test_other_series_get_one_sentence(activation: Any, message: str) -> None:
    with pytest.raises(pm.InputError, match=message):
        pm.from_arrays(arrays(), activation)


def test_the_command_line_names_them_too(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from polymargin.cli.app import app

    np.savez(tmp_path / "weights.npz", **arrays(2, 2))
    np.save(tmp_path / "points.npy", np.array([[0.1, 0.2]]))
    words = ["margin", str(tmp_path / "weights.npz"), str(tmp_path / "points.npy"), "--no-cache", "--outputs", "rows"]
    for text, activation in (
        ("legendre:0,0.5,0.25", ("legendre", (0.0, 0.5, 0.25))),
        ("hermite_e(-2,2):0,0.5,0.25", np.polynomial.HermiteE([0.0, 0.5, 0.25], domain=(-2, 2))),
    ):
        answer = CliRunner().invoke(app, [*words, "--activation", text])
        radius = pm.margin(pm.from_arrays(arrays(2, 2), activation, outputs="rows"), [0.1, 0.2], proof=False).radius
        assert answer.exit_code == 0, answer.output
        assert f"{radius:.10f}"[:9] in answer.output
    wrong = CliRunner().invoke(app, [*words, "--activation", "laguerre:0,1"])
    assert "or a basis with its coefficients such as legendre:0,0.5,0.25" in str(wrong.exception) + wrong.output
