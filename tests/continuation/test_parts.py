"""Work in parts: every part once, on however many threads there are, and a failure is not swallowed."""

from __future__ import annotations

from threading import Thread

import pytest

from polymargin.continuation.parts import for_each, slices


def test_slices_cover_everything_once() -> None:
    for count, at_a_time in ((0, 3), (1, 3), (6, 3), (7, 3)):
        covered = [number for part in slices(count, at_a_time) for number in range(count)[part]]
        assert covered == list(range(count))


@pytest.mark.parametrize("threads", [1, 2, 50])
def test_every_part_is_worked_on_once(threads: int) -> None:
    done: list[int] = []
    for_each(range(200), done.append, threads)
    assert sorted(done) == list(range(200))


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("failure", [ValueError, IndexError, KeyboardInterrupt])
def test_a_failure_ends_the_work_and_is_raised(failure: type[BaseException], threads: int) -> None:
    def work(part: int) -> None:
        if part == 3:
            raise failure

    with pytest.raises(failure):
        for_each(range(10_000), work, threads)


def test_threads_that_the_system_does_not_give_are_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", refused)
    done: list[int] = []
    for_each(range(20), done.append, 4)
    assert done == list(range(20))
