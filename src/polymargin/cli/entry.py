"""Errors, signals and streams of every command line of the package.

Status 1 is an answer ("not robust"), so nothing but an answer may end with it. Whatever is raised becomes one sentence on
standard error and status 2; an interruption 130 (Ctrl-C) or 128 and the number of the signal, with how to go on; a reader that
stopped reading 141, as for every program in a pipe. An answer that cannot be written is no answer: a closed or full standard
output is an error.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from polymargin.errors import DamageWarning, PolymarginError, printable
from polymargin.processes import Terminated, ending_cleanly

resource: Any
try:
    resource = import_module("resource")
except ImportError:  # not on Windows, where nothing limits addresses either
    resource = None

FAILED, INTERRUPTED, BROKEN_PIPE = 2, 130, 141

_LEAST_ADDRESSES = 288 << 20
"""Bytes of addresses below which NumPy and SciPy cannot be loaded."""
_ROOM_FOR_THREADS = 1 << 30
"""Below it OpenBLAS gets one thread: it waits for ever where one of several gets no memory."""
_ROOM_FOR_BLAS = 64 << 20
"""What OpenBLAS takes when it first multiplies; up to 0.3.29 it tries for ever if it cannot have it."""


class Passed(Exception):  # noqa: N818 - no error of its own
    """Carries past typer what it would answer itself: a silent 130 for an interruption, 1 for a broken pipe."""


def run_cleanly(commands: Callable[[], Any]) -> None:
    """Run what ends in an exit status, and end with that or with the status of what went wrong."""
    status = FAILED
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    if sys.stdout is None:
        _say("standard output is closed, so the answer cannot be written; give it a place")
        sys.exit(FAILED)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names need not fit the terminal's encoding
    warnings.simplefilter("always", DamageWarning)
    warnings.showwarning = _show
    with ending_cleanly():
        try:
            _check_addresses()
            from polymargin import _core

            _core.end_with(FAILED)  # for libraries that end the process themselves
            _make_room_for_blas()
            commands()
        except BaseException as error:
            status = _status(error)
        try:
            sys.stdout.flush()
        except BaseException as error:
            status = _status(error)
    if (core := sys.modules.get("polymargin._core")) is not None:
        core.end_with(-1)
    sys.exit(status)


def _check_addresses() -> None:
    """Refuse to load libraries with too little memory: they may hang."""
    if resource is None or "numpy" in sys.modules:
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY or limit >= _ROOM_FOR_THREADS:
        return
    if limit < _LEAST_ADDRESSES:
        have, need = limit >> 20, _LEAST_ADDRESSES >> 20
        raise PolymarginError(
            f"the process may have {have} MB of addresses, and its libraries need {need}; raise the limit (ulimit -v)"
        )
    os.environ["OPENBLAS_NUM_THREADS"] = "1"


def _make_room_for_blas() -> None:
    """Multiply matrices once if addresses are limited, while there is memory for BLAS."""
    used = Path("/proc/self/statm")
    if resource is None or not used.exists():
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    if limit - int(used.read_text().split()[0]) * resource.getpagesize() < _ROOM_FOR_BLAS:
        raise MemoryError
    import numpy as np

    np.ones((64, 64)) @ np.ones((64, 64))


@contextlib.contextmanager
def going_on(how: Callable[[], str]) -> Iterator[None]:
    """Say how to resume if the block is interrupted."""
    try:
        yield
    except (KeyboardInterrupt, Terminated, MemoryError) as error:
        error.add_note(how())
        raise


def _status(error: BaseException) -> int:
    """Report an exception, and return its exit status."""
    if isinstance(error, Passed) and error.__cause__ is not None:
        error = error.__cause__
    how = "; ".join(getattr(error, "__notes__", ["the same command starts over"]))
    match error:
        case Terminated():
            _say(f"terminated; {how}")
            return error.code if isinstance(error.code, int) else FAILED
        case SystemExit():
            return error.code if isinstance(error.code, int) else 0 if error.code is None else FAILED
        case KeyboardInterrupt():
            _say(f"interrupted; {how}")
            return INTERRUPTED
        case BrokenPipeError():
            _abandon_output()
            return BROKEN_PIPE
        case PolymarginError():
            _say(str(error))
        case MemoryError():
            error.__traceback__ = None  # with it goes what the failed computation held
            _say(f"not enough memory; {how}")
        case ImportError():
            _say(
                f"a package cannot be loaded ({_described(error)}): either memory is short or the installation is damaged"
            )
        case OSError():
            place = error.filename if error.filename is not None else "standard output or a file"
            _say(f"{os.fsdecode(place) if isinstance(place, (str, bytes)) else place}: {error.strerror or error}")
            _abandon_output()
        case _:
            _say(
                f"{_described(error)}; this is a defect of polymargin, please report it with the command and its files"
            )
    return FAILED


def _described(error: BaseException) -> str:
    """Return the text of an unexpected exception: its kind, its message and its line."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = "" if last is None else f", {Path(last.tb_frame.f_code.co_filename).name} line {last.tb_lineno}"
    return f"unexpected {type(error).__name__} ({' '.join(str(error).split())[:300]}{place})"


def _show(message: Any, category: Any, *place: Any, **more: Any) -> None:
    _say(str(message))


def _say(text: str) -> None:
    """Write one line on standard error; ignore a failure, which the exit status reports."""
    with contextlib.suppress(OSError, ValueError):
        print(f"polymargin: {printable(text)}", file=sys.stderr, flush=True)


def _abandon_output() -> None:
    """Discard the buffered output, which would fail again when the process ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
