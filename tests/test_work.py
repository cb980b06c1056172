"""Work through executors: everything once, whatever happens to the workers."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context, parent_process

import pytest

from polymargin.work import completed


def square(number: int) -> int:
    return number * number


def square_or_die(number: int) -> int:
    """Kills the worker it runs in at number 3; in the main process it is harmless."""
    if number == 3 and parent_process() is not None:
        os._exit(1)
    return number * number


def fail_at_two(number: int) -> int:
    if number == 2:
        raise ValueError("two")
    return number


def test_without_an_executor_in_order() -> None:
    assert list(completed(square, [3, 1, 2])) == [(0, 9), (1, 1), (2, 4)]


def test_threads_and_processes_do_everything_once() -> None:
    for make in (lambda: ThreadPoolExecutor(2), lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn"))):
        with make() as executor:
            assert dict(completed(square, range(20), executor)) == {i: i * i for i in range(20)}


def test_a_killed_worker_loses_nothing_and_doubles_nothing() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        found = list(completed(square_or_die, range(12), executor))
    assert Counter(index for index, _ in found) == Counter(range(12))
    assert dict(found) == {i: i * i for i in range(12)}


def test_errors_of_the_work_itself_are_not_hidden() -> None:
    with ThreadPoolExecutor(1) as executor, pytest.raises(ValueError, match="two"):
        list(completed(fail_at_two, range(4), executor))
