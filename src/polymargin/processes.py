"""Child processes that end with their parent, and work on as many threads and processes as the system can start.

SIGTERM and SIGHUP usually end a process at once, without the `finally` blocks that stop its children and remove their folders.
`ending_cleanly` turns the signal into an exception. If a parent is killed outright, the system ends the children that have
requested it at their start (Linux only).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from types import FrameType
from typing import TypeVar

Job = TypeVar("Job")
Answer = TypeVar("Answer")

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>; what was asked for stays valid through exec


class Terminated(SystemExit):
    """Raised when the process receives a signal to end; the exit status is 128 plus the number of the signal."""


@contextlib.contextmanager
def ending_cleanly() -> Iterator[None]:
    """Raise `Terminated` on SIGTERM and SIGHUP inside the block, unless the program handles them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted = [signal.SIGTERM, signal.SIGHUP] if hasattr(signal, "SIGHUP") else [signal.SIGTERM]
    taken = [number for number in wanted if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _terminate)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated(128 + number)


def dying_with_us(command: Sequence[str]) -> list[str]:
    """Return the command of a child that the system ends when this process dies."""
    if not sys.platform.startswith("linux") or not sys.executable:
        return list(command)
    script = (
        f"import ctypes, os; ctypes.CDLL(None).prctl({PR_SET_PDEATHSIG}, {int(signal.SIGKILL)})\n"
        f"if os.getppid() == {os.getpid()}: os.execv({command[0]!r}, {list(command)!r})"
    )
    return [sys.executable, "-I", "-S", "-c", script]


def die_with(parent: int) -> None:
    """End with the parent, as the first act of a pool worker; take signals as a plain process does."""
    import ctypes

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def startable_threads(most: int) -> int:
    """Return how many threads the system can start now, up to `most`."""
    leave = threading.Event()
    started: list[threading.Thread] = []
    try:
        with contextlib.suppress(RuntimeError):
            for _ in range(most):
                thread = threading.Thread(target=leave.wait, daemon=True)
                thread.start()
                started.append(thread)
    finally:
        leave.set()
        for thread in started:
            thread.join()
    return len(started)


def in_processes(work: Callable[[Job], Answer], jobs: Sequence[Job], processes: int) -> list[Answer]:
    """Return the answers in order from child processes; compute them here if processes cannot start or one is killed."""
    pool = ProcessPoolExecutor(processes, initializer=die_with, initargs=(os.getpid(),))
    workers = pool._processes
    try:
        with pool:
            return list(pool.map(work, jobs))
    except (OSError, RuntimeError):
        # Workers that did start would wait for work forever, and this process for them at its end.
        for worker in list(workers.values()):
            worker.kill()
            worker.join()
    return [work(job) for job in jobs]
