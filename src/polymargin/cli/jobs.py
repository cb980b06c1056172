"""`--jobs`: worker processes that take rows, or networks, from each other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager


@contextmanager
def workers(jobs: int) -> Iterator[Executor | None]:
    """None for one job, which is this process. Processes start afresh: torch does not survive a fork once it has threads."""
    if jobs == 1:
        yield None
        return
    from multiprocessing import get_context

    from polymargin.processes import die_with

    context = get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=die_with, initargs=(os.getpid(),))
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
