"""Runs of the command line as processes of their own, without paying for its imports every time.

This process imports everything once. For every line of JSON on its standard input it forks, and the child calls the entry point
of the command line with the words given: with files for its streams, limits on itself, and a signal after some seconds, if asked
for. The answer is one line with the exit status (negative for a signal), as `subprocess` gives it.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import json
import os
import resource
import signal
import sys
import time
from typing import Any

import typer.main

from polymargin.cli import main

SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def warm_up(folder: str) -> None:
    """What is imported on the way is imported here, once, by a run of each command in this process.

    Typer reads the signatures of all commands in every run, which is most of a short one: it remembers them here.
    """
    typer.main.get_params_from_function = functools.cache(typer.main.get_params_from_function)
    os.chdir(folder)
    for words in (["margin", "--json"], ["verify", "--json", "--radius", "0.5"]):
        sys.argv = ["polymargin", words[0], "model.npz", "points.npy", "--no-cache", "--threads", "1", *words[1:]]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main()
    gc.freeze()  # so that a collection in a child does not copy every page


def child(order: dict[str, Any]) -> None:
    """Become the command line."""
    os.chdir(order["folder"])
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), number)
    os.environ["POLYMARGIN_CACHE"] = os.path.join(order["folder"], "cache")
    sys.argv = ["polymargin", *order["words"]]
    for name, value in order["limits"].items():
        if name == "RLIMIT_AS":  # relative to what the process has
            with open("/proc/self/statm") as status:
                value += int(status.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(getattr(resource, name), (value, value))
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        main()
    except KeyboardInterrupt:  # before the command line could take it
        os._exit(130)
    except SystemExit as ended:
        # As at the end of a process, but without the destructors of a fork.
        sys.stderr.flush()
        os._exit(ended.code if isinstance(ended.code, int) else 1)
    os._exit(99)


def serve() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        # A signal that comes while the process is being made waits until it is the command line.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        process = os.fork()
        if process == 0:
            child(order)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        if order["signal"]:
            time.sleep(order["after"])
            os.kill(process, order["signal"])
        _, status = os.waitpid(process, 0)
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        print(json.dumps(code), flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup would have ignored
    warm_up(sys.argv[1])
    serve()
