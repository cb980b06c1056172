"""Gröbner engines as programs: where they are and how they are run.

Singular and msolve come inside PyPI wheels as ordinary executables (`sage_wheels/bin` in site-packages); nothing of Sage is
imported. An engine on the PATH serves as well. It runs in a process group of its own, which is killed as a whole when time is
up or the caller is interrupted or told to end, and in a temporary directory that is removed afterwards.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from polymargin.errors import MissingExtraError, PolymarginError
from polymargin.processes import dying_with_us, ending_cleanly

DEFAULT_TIMEOUT = 600.0


class OutOfTimeError(PolymarginError):
    """A symbolic computation did not finish in the time it was given."""


class EngineError(PolymarginError):
    """An engine ended without an answer."""


def find_engine(name: str) -> Path | None:
    """Return the executable `Singular` or `msolve`: in the wheels of the running interpreter, else on the PATH.

    >>> find_engine("no such engine") is None
    True
    """
    wheels = importlib.util.find_spec("sage_wheels")
    for folder in (wheels.submodule_search_locations or ()) if wheels else ():
        candidate = Path(folder) / "bin" / name
        if os.access(candidate, os.X_OK):
            return candidate
    found = shutil.which(name)
    return Path(found) if found else None


def run_engine(
    name: str, arguments: list[str], files: dict[str, str], *, timeout: float, output: str | None = None
) -> str:
    """Run an engine in a folder with the given text files; the text of the file `output`, or what was printed."""
    program = find_engine(name)
    if program is None:
        raise MissingExtraError(f"this computation needs {name}; install it with: pip install 'polymargin[symbolic]'")
    with ending_cleanly(), tempfile.TemporaryDirectory(prefix="polymargin-") as folder:
        for file, text in files.items():
            (Path(folder) / file).write_text(text, encoding="ascii")
        process = subprocess.Popen(
            dying_with_us([str(program), *arguments]),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            printed, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            raise OutOfTimeError(
                f"{name} did not finish within {timeout:g} s: the problem may be out of reach; "
                f"give it more time with timeout= (--timeout), or use a numerical method"
            ) from None
        finally:
            _end(process)
        if process.returncode != 0:
            raise EngineError(f"{name} ended with status {process.returncode}: {printed.strip()[-300:]}")
        if output is None:
            return printed
        path = Path(folder) / output
        if not path.exists():
            raise EngineError(f"{name} wrote no answer: {printed.strip()[-300:]}")
        return path.read_text(encoding="ascii")


def _end(process: subprocess.Popen[str]) -> None:
    """Kill the whole group if it still runs, and wait for it."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
