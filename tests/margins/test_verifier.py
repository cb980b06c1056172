"""A verifier is prepared once, asked often, by threads, in forks and after pickling, and nothing of it outlives it."""

from __future__ import annotations

import gc
import inspect
import multiprocessing
import os
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin_checker.checker import check

NETWORK = random_network([2, 4, 3], 3, seed=2)
POINTS = np.random.default_rng(0).normal(size=(6, 2))


def told(found: pm.Margins) -> list[tuple[float, float, str]]:
    return [(row.lower, row.upper, row.standing.name) for row in found]


def test_margins_are_proved_by_default(tmp_path: Path) -> None:
    found = pm.margin(NETWORK, POINTS)
    assert {row.standing for row in found} == {pm.Standing.CERTIFIED}
    numbers = pm.margin(NETWORK, POINTS, proof=False)
    assert numbers.certificates == [None] * len(POINTS)
    NETWORK.save(tmp_path / "model.npz")
    for row, number in zip(found, numbers, strict=True):
        assert row.lower <= row.radius <= row.upper <= row.lower * (1 + 1e-6)
        assert row.radius == pytest.approx(number.radius, rel=1e-9)
        assert row.rival == number.rival
        assert row.certificate is not None
        row.certificate.save(tmp_path / "proof.json")
        assert check(tmp_path / "model.npz", tmp_path / "proof.json").accepted


def test_a_batch_a_row_and_another_question_agree() -> None:
    verifier = pm.Verifier(NETWORK)
    batch_of_all = verifier.margin(POINTS)
    assert told(batch_of_all) == told(pm.Margins([verifier.margin(row.tolist()) for row in POINTS]))
    assert told(pm.margin(NETWORK, POINTS)) == told(batch_of_all)
    radius = 0.9 * batch_of_all[0].radius
    assert verifier.verify(POINTS[0].tolist(), radius).answer is pm.Answer.ROBUST
    assert verifier.verify(POINTS[0].tolist(), 1.3 * radius).answer is pm.Answer.VULNERABLE


def test_threads_and_other_verifiers_do_not_meet() -> None:
    one, other = pm.Verifier(NETWORK, workers=1), pm.Verifier(random_network([2, 4, 3], 3, seed=3), workers=1)
    alone = [told(each.margin(POINTS)) for each in (one, other)]
    fresh = [pm.Verifier(each.model, workers=1) for each in (one, other)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda each: told(each.margin(POINTS)), [*fresh, *fresh]))
    assert found == [*alone, *alone]


def test_a_pickled_verifier_answers_the_same() -> None:
    verifier = pm.Verifier(NETWORK, within=pm.L2(movable=[0]))
    asked = told(verifier.margin(POINTS[:2]))
    for each in (verifier, pm.Verifier(NETWORK, within=pm.L2(movable=[0]))):  # with what is prepared, and without
        assert told(pickle.loads(pickle.dumps(each)).margin(POINTS[:2])) == asked


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are of Unix")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_answers_the_same() -> None:
    verifier = pm.Verifier(NETWORK, workers=1)
    asked = told(verifier.margin(POINTS[:2]))
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(told(verifier.margin(POINTS[:2]))))
    child.start()
    assert receiver.poll(60)
    assert receiver.recv() == asked
    child.join()


def test_nothing_outlives_a_verifier() -> None:
    network = random_network([2, 4, 3], 3, seed=4)
    gone = weakref.ref(network)
    pm.margin(network, POINTS[:2], proof=False)
    pm.Verifier(network).margin(POINTS[:2], proof=False)
    del network
    gc.collect()
    assert gone() is None


def test_public_functions_take_at_most_twelve_options() -> None:
    for name in pm.__all__:
        value = getattr(pm, name)
        if inspect.isfunction(value):
            options = [p for p in inspect.signature(value).parameters.values() if p.kind is p.KEYWORD_ONLY]
            assert len(options) <= 12, name


def test_options_of_verifiers() -> None:
    for options, words in (
        ({"within": "l2"}, "within='l2'"),
        ({"workers": 0}, "workers 0"),
        ({"seed": -1}, "seed -1"),
        ({"rivals": [7]}, "classes 0 to 2"),
        ({"abstain": -1.0}, "abstain"),
    ):
        with pytest.raises(pm.InputError, match=words):
            pm.Verifier(NETWORK, **options)
    with pytest.raises(pm.InputError, match="a boundary alone has none"):
        pm.Verifier(pm.Boundary.from_expression("x**2 - 1"), rivals=[1])
