"""BLAS works on one thread while a network is asked, unless it is asked with more, and on as many as before afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from problems import random_network
from threadpoolctl import threadpool_info, threadpool_limits

import polymargin as pm
from polymargin.blas import blas_threads
from polymargin.margins import case, network_margins
from polymargin.margins.faces import margins

NETWORK = random_network([3, 4, 2], 3, seed=0)
POINT = np.random.default_rng(0).normal(size=3)
WATCHED = {"margin": network_margins, "margin in a box": margins, "verify": case}


def threads_of_blas() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.parametrize(("options", "expected"), [({}, {1}), ({"workers": 2}, {2})])
@pytest.mark.parametrize("answer", ["margin", "margin in a box", "verify"])
def test_threads_of_blas_are_those_of_the_call(
    answer: str, options: dict[str, int], expected: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[int]] = []
    watched = WATCHED[answer]
    original = getattr(watched, "rounding_noise" if answer == "margin" else "check_terms")

    def spy(*given: object, **more: object) -> object:
        seen.append(threads_of_blas())
        return original(*given, **more)

    monkeypatch.setattr(watched, original.__name__, spy)
    with threadpool_limits(limits=3, user_api="blas"):
        before = threads_of_blas()
        if answer == "verify":
            pm.verify(NETWORK, POINT, 0.01, **options)
        else:
            region = pm.Linf(domain=(-5, 5)) if answer == "margin in a box" else None
            pm.Verifier(NETWORK, within=region, settings=pm.Settings(limit=3), **options).margin(POINT, proof=False)
        assert threads_of_blas() == before
    assert seen
    assert all(found == expected for found in seen)


def test_limits_inside_each_other() -> None:
    with threadpool_limits(limits=3, user_api="blas"):
        with blas_threads(2):
            with blas_threads():
                assert threads_of_blas() == {1}
            assert threads_of_blas() == {2}
        assert threads_of_blas() == {3}
