"""`--jobs` and `--cluster`: worker processes here, or workers of a Dask cluster elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from polymargin.errors import InputError, MissingExtraError
from polymargin.work import Workers

# Seconds to wait for a scheduler.
PATIENCE = 10
_ADDRESS = re.compile(r"(\w+://)?[^\s/]+:\d{1,5}")


@contextmanager
def workers(jobs: int, cluster: str | None = None) -> Iterator[Workers | None]:
    """Yield the workers; None for one job, which is this process."""
    if cluster is not None:
        if jobs != 1:
            raise InputError(
                f"--jobs {jobs} and --cluster {cluster}: expected one of them; a cluster has its own workers"
            )
        with _client(cluster) as client:
            yield client
    elif jobs == 1:
        yield None
    else:
        with _processes(jobs) as pool:
            yield pool


@contextmanager
def _client(address: str) -> Iterator[Workers]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise MissingExtraError("--cluster needs Dask: pip install 'polymargin[dask]'") from None
    if not _ADDRESS.fullmatch(address):  # a client that cannot read it would wait for itself when it is given up
        raise InputError(f"--cluster {address}: not an address; expected one such as tcp://host:8786")
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:  # no such host, no scheduler there, not an address
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"--cluster {address}: no Dask scheduler answers there ({reason})") from None
    try:
        yield client
    finally:
        client.close()


@contextmanager
def _processes(jobs: int) -> Iterator[Workers]:
    """Yield fresh processes: torch does not survive a fork once it has threads.

    What cuts the work short ends them: a pool would wait for what they are at, and that may take minutes.
    """
    from multiprocessing import active_children, get_context

    from polymargin.processes import die_with

    context, others = get_context("spawn"), set(active_children())
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=die_with, initargs=(os.getpid(),))
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(active_children()) - others:
            process.terminate()
        raise
    pool.shutdown()
