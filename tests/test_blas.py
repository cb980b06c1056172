"""BLAS works on one thread while a network is asked, unless it is asked with more, and on as many as before afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from problems import random_network
from threadpoolctl import threadpool_info, threadpool_limits

import polymargin as pm
from polymargin.blas import blas_threads

NETWORK = random_network([6, 8, 3], 2, seed=0)
POINTS = np.random.default_rng(0).normal(size=(4, 6))


def threads_of_blas() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.parametrize("ask", [pm.margin, lambda *rest, **more: pm.verify(*rest, 0.01, **more)])
@pytest.mark.parametrize(("options", "expected"), [({}, {1}), ({"threads": 2}, {2})])
def test_threads_of_blas_are_those_of_the_call(ask: object, options: dict[str, int], expected: set[int]) -> None:
    seen: list[set[int]] = []
    with threadpool_limits(limits=3, user_api="blas"):
        before = threads_of_blas()
        ask(NETWORK, POINTS, cache=False, on_row=lambda *_: seen.append(threads_of_blas()), **options)  # type: ignore[operator]
        assert threads_of_blas() == before
    assert all(found == expected for found in seen)
    assert seen


def test_limits_inside_each_other() -> None:
    with threadpool_limits(limits=3, user_api="blas"):
        with blas_threads(2):
            with blas_threads():
                assert threads_of_blas() == {1}
            assert threads_of_blas() == {2}
        assert threads_of_blas() == {3}
