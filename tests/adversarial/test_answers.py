"""Never a wrong answer: families of networks that mislead floating point, with the truth found by other means."""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from adversarial.families import FAMILIES, Case, case

import polymargin as pm
from polymargin.standing import Standing

# What an answer that claims to be one may be off by.
ACCURACY = 1e-6
BLOCKS, CASES = 40, 50


def answered(case: Case) -> Standing:
    """The standing of the answer, which is right or brackets the truth."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = pm.margin(case.network, case.point, proof=False, workers=1)
    what = (case.family, found, case.truth)
    assert found.lower * (1 - 1e-9) <= case.truth <= found.upper * (1 + 1e-9) or _close(found.radius, case.truth), what
    if found.standing is not Standing.BRACKETED:
        assert _close(found.radius, case.truth), what
    return found.standing


def _close(value: float, truth: float) -> bool:
    return value == truth or abs(value - truth) <= ACCURACY * truth


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_answer_is_wrong(block: int) -> None:
    counts = Counter(answered(case(index)) for index in range(CASES * block, CASES * (block + 1)))
    assert counts[Standing.BRACKETED] <= 0.2 * CASES, counts


@pytest.mark.slow
def test_no_answer_is_wrong_at_length(request: pytest.FixtureRequest) -> None:
    """As many cases as POLYMARGIN_CASES says, 100,000 by default; the shares are kept under results/adversarial."""
    import os

    count = int(os.environ.get("POLYMARGIN_CASES", "100000"))
    shares: dict[str, Counter[str]] = {}
    for index in range(count):
        one = case(index, seed=1)
        shares.setdefault(one.family, Counter())[answered(one).name] += 1
    folder = Path(str(request.config.rootpath)) / "results" / "adversarial"
    folder.mkdir(parents=True, exist_ok=True)
    content = {"version": pm.__version__, "seed": 1, "cases": count, "wrong": 0, "standings": shares}
    (folder / "shares.json").write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")


@pytest.mark.parametrize("index", range(0, 60, 4))
def test_verdicts_next_to_the_margin(index: int) -> None:
    """ROBUST just below, VULNERABLE just above, or an honest UNKNOWN."""
    one = case(index, seed=2)
    if not 0 < one.truth < math.inf:
        return
    for share in (1 - 1e-6, 1 - 1e-12, 1 + 1e-12, 1 + 1e-6):
        verdict = pm.verify(one.network, one.point, share * one.truth, workers=1, timeout=2.0)
        wrong = "VULNERABLE" if share < 1 else "ROBUST"
        assert verdict.answer.name != wrong, (one.family, share, verdict)


W = np.array([[-2, 0, -2], [-3, 3, -3], [0, -2, 0], [-3, -2, -2.0]]) * [2**-20, 1, 1]
Net = pm.PolynomialNetwork
# name, network, point, truth; a pair of numbers is a bracket that was proved.
KNOWN = [
    (
        "parallel",
        Net([([[1, 1], [1, 1 + 2**-24]], [2, 0]), ([[-1, -2], [0, 0]], [3, 0])], degree=3),
        [0, -0.5],
        0.0107425065,
    ),
    (
        "dead input",
        Net([([[2**-20, 3], [-3 * 2**-20, 0]], [-3, -2]), ([[2, 1], [0, 0]], [-2, 0])], degree=4),
        [0.5, 1],
        0.5
        + 2**20
        * (2 - 2**0.25)
        / 3,  # y = 1.09 makes the first neuron zero, and then the second one is 2 to the power 1/4
    ),
    (
        "mixed scales",
        Net([(np.diag([1e8, 1e-8]), [0, 0]), ([[1e-24, 1e24], [0, 0]], [-1, 0])], degree=3),
        [0.1, 0.3],
        0.6996256364,
    ),
    ("high power", Net([(np.diag([1, 2.0**-13]), [0, 0]), ([[1, -1], [0, 0]], [1, 0])], degree=4), [0, 0], 8192),
    ("small circle", Net([([[1]], [0]), ([[1], [0]], [-1e-12, 0])], activations=[0] * 6 + [1, 1]), [0.5], 0.4900165429),
    (
        "expanded power",
        Net([([[1]], [0]), ([[1], [0]], [0, 0])], activations=[300**4 - 1, -4 * 300**3, 6 * 300**2, -1200, 1]),
        [295],
        4,
    ),
    (
        "nearly singular",
        Net([[[1, 0], [-1, 0], [0, 1], [0, -1]], ([[2, 3, 0.5, 0.5], [0] * 4], [2**-34, 0])], activations=[0, 0, 1, 1]),
        [1, 1],
        4.0300465322,
    ),
    (
        "complex pair",
        Net([[[1], [-1]], ([[(1e12 - 1) / 2, (1e12 + 1) / 2], [0, 0]], [1e12, 0])], activations=[0, 1, 1, 1]),
        [0],
        1e12,
    ),
    (
        "boundary alone",
        pm.Boundary.from_expression("x**4 - 4000*x**3 + 6000000*x**2 - 4000000000*x + 999999999999"),
        [1000.2],
        0.8,
    ),
    ("a prime", Net([[[1], [1]], ([[2.0**61, -1], [0, 0]], [0, 1])], degree=3), [0], 2.0 ** (-61 / 3)),
    (
        "hyperplane",
        Net([([[1], [1], [1]], [1, 0, -1]), ([[1, -2, 1], [0, 0, 0]], [-6, 0])], degree=3),
        [1249279.726343462],
        1249278.726343462,
    ),
    (
        "sign of a quadric",
        Net([([[1], [1]], [1e4, -1e4]), ([[1, 1], [0, 0]], [-2e8 - 2**-19, 0])], degree=2),
        [1],
        1 - 2**-10,
    ),
    ("flat quadric", Net([(np.diag([1, 2.0**-25]), [0, 0]), ([[1, -1], [0, 0]], [1, 0])], degree=2), [0, 0], 2.0**25),
    ("large weight", Net([([[1e20]], [0.0]), ([[1.0], [0]], [-0.512, 0])], degree=3), [0], 8e-21),
    ("linear, large", Net([([[1e160], [0]], [-1.0, 0])]), [0], 1e-160),
    ("linear, small", Net([([[1e-160], [0]], [-1.0, 0])]), [0], 1e160),
    (
        "weak first input",
        Net([(W, [2, -1, -1, -2]), ([[-3, 2, 0, 1], [0] * 4], [-3, 0])], degree=3),
        [-1.5, -0.5, 1],
        2.2177056,
    ),
]


@pytest.mark.parametrize(("model", "point", "truth"), [row[1:] for row in KNOWN], ids=[row[0] for row in KNOWN])
def test_answers_that_were_once_wrong(model: pm.Network | pm.Boundary, point: list[float], truth: float) -> None:
    found = pm.margin(model, point, proof=False, workers=1)
    if found.standing is Standing.BRACKETED:
        assert found.lower <= truth * (1 + 1e-7)
        assert truth <= found.upper * (1 + 1e-7)
    else:
        assert found.radius == pytest.approx(truth, rel=1e-7)


@pytest.mark.parametrize("family", ["near_acnode", "isolated_points_behind_a_rotation"])
def test_the_standing_does_not_depend_on_the_seed(family: str) -> None:
    made = None
    generator = np.random.default_rng(7)
    while made is None:
        made = FAMILIES[family](generator)
    network, point, truth = made
    found = [pm.margin(network, point, proof=False, workers=1, seed=seed) for seed in range(3)]
    assert len({one.standing for one in found}) == 1
    assert all(_close(one.radius, truth) for one in found)


@pytest.mark.parametrize("index", [2698, 4438, 8627, 13468, 13944, 20933, 21159, 21879, 30662, 53998])
def test_cases_of_the_long_run_that_were_once_wrong(index: int) -> None:
    answered(case(index, seed=1))
