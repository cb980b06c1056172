"""How a run of the command line can end: every way has its status, one sentence, and none is taken for an answer."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import BrokenExecutor
from pathlib import Path

import numpy as np
import pytest
from problems import random_network
from typer.testing import CliRunner

import polymargin as pm
from polymargin.cli.app import app
from polymargin.cli.jobs import workers
from polymargin.processes import Terminated

COMMAND = [sys.executable, "-c", "from polymargin.cli import main; main()"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("endings")
    random_network([2, 4, 2], 3, seed=2).save(folder / "model.npz")
    np.save(folder / "points.npy", np.random.default_rng(0).normal(size=(8, 2)))
    return [str(folder / "model.npz"), str(folder / "points.npy")]


def ended(changes: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A run of the command line with a few lines of Python before it; a suite in the background ignores signals, it must not."""
    heard = "signal.signal(signal.SIGINT, signal.default_int_handler); signal.signal(signal.SIGHUP, signal.SIG_DFL)"
    script = f"import os, signal\n{heard}\n{changes}\nfrom polymargin.cli import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, check=False, timeout=60
    )


def at_row(number: int, action: str) -> str:
    """Python that does something when so many rows have been computed."""
    return (
        "import polymargin.margins.batch as batch\n"
        "compute_row, rows = batch.answer_or_failure, []\n"
        "def act():\n"
        f"    {action}\n"
        "def wrapped(session, row, tracker):\n"
        "    rows.append(row)\n"
        f"    if len(rows) > {number}: act()\n"
        "    return compute_row(session, row, tracker)\n"
        "batch.answer_or_failure = wrapped\n"
        "batch._together = lambda question, points, tracker: ([], [])\n"
    )


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("RuntimeError('x' * 5 + chr(10) + 'Traceback')", "unexpected RuntimeError (xxxxx Traceback, <string> line 3)"),
        ("RecursionError()", "unexpected RecursionError"),
        ("MemoryError()", "not enough memory"),
        ("EOFError()", "unexpected EOFError"),
        ("OSError(28, 'No space left on device', 'place')", "place: No space left on device"),
        ("ImportError('lost')", "a package cannot be loaded"),
        ("SystemError('odd')", "unexpected SystemError"),
    ],
)
def test_whatever_is_raised_is_one_sentence_and_status_2(files: list[str], error: str, words: str) -> None:
    changes = f"def load(*_, **__): raise {error}\nimport polymargin.cli.models as room\nroom.load = load"
    run = ended(changes, "verify", *files, "--radius", "0.1")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.count("\n") == 1
    assert words.partition(", <string>")[0] in run.stderr


def test_an_interruption_says_how_to_go_on(files: list[str], tmp_path: Path) -> None:
    for number, status, word in (
        ("SIGINT", 130, "interrupted"),
        ("SIGTERM", 143, "terminated"),
        ("SIGHUP", 129, "terminated"),
    ):
        stop = at_row(3, f"os.kill(os.getpid(), signal.{number})")
        lost = ended(stop, "margin", *files)
        assert lost.returncode == status
        assert lost.stdout.count("CERTIFIED") == 3  # rows appear as they finish
        assert word in lost.stderr
        assert "3 of 8 rows were done and are not kept; with --checkpoint FILE" in lost.stderr
        place = tmp_path / number
        kept = ended(stop, "margin", *files, "--checkpoint", str(place))
        assert kept.returncode == status
        assert f"3 of 8 rows are in {place}: the same command continues" in kept.stderr
        assert len(place.read_bytes().splitlines()) == 4
        assert ended("", "margin", *files, "--checkpoint", str(place)).returncode == 0


def test_an_interruption_ends_the_workers_of_jobs(tmp_path: Path) -> None:
    """A worker that would never finish what it is at."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(Terminated), workers(2) as pool:  # noqa: PT012 - what happens inside is the test
        reading = pool.submit(Path.read_bytes, pipe)
        writing = os.open(pipe, os.O_WRONLY)  # open once the worker reads; there is nothing to read until it is closed
        raise Terminated(143)
    with pytest.raises(BrokenExecutor):
        reading.result(timeout=60)
    os.close(writing)


def test_memory_that_runs_out_keeps_the_rows(files: list[str], tmp_path: Path) -> None:
    run = ended(at_row(3, "raise MemoryError"), "margin", *files, "--checkpoint", str(tmp_path / "rows"))
    assert run.returncode == 2
    assert "not enough memory; 3 of 8 rows are in" in run.stderr


def test_a_closed_or_full_output_is_an_error(files: list[str]) -> None:
    for words in (["margin", *files], ["verify", *files, "--radius", "0.001", "--json"], ["--version"]):
        closed = subprocess.run(
            [*COMMAND, *words], stderr=subprocess.PIPE, text=True, check=False, preexec_fn=lambda: os.close(1)
        )
        assert closed.returncode == 2
        assert "standard output is closed" in closed.stderr
        with open("/dev/full", "w") as full:
            run = subprocess.run(
                [*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60
            )
        assert (run.returncode, run.stderr.count("\n")) == (2, 1)
        assert "No space left on device" in run.stderr


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_reader_that_stops_is_no_answer(files: list[str], words: list[str]) -> None:
    for command in (["margin", *files], ["verify", *files, "--radius", "0.001"], ["--help"]):
        reading, writing = os.pipe()
        os.close(reading)
        options = words if command != ["--help"] else []
        run = subprocess.run(
            [*COMMAND, *command, *options], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
        )
        os.close(writing)
        assert (run.returncode, run.stderr) == (141, "")


def test_closed_standard_error_is_borne(files: list[str]) -> None:
    run = subprocess.run(
        [*COMMAND, "margin", "no such file", files[1]],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: os.close(2),
    )
    assert (run.returncode, run.stdout) == (2, "")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measures the process in /proc")
@pytest.mark.parametrize("spare", [0, 2, 20])
def test_no_limit_of_memory_looks_like_an_answer(files: list[str], spare: int) -> None:
    limit = (
        "import resource\n"
        "import polymargin.cli.app, polymargin.cli.rows\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        f"resource.setrlimit(resource.RLIMIT_AS, (size + ({spare} << 20), -1))"
    )
    run = ended(limit, "margin", *files, "--no-cache")
    assert run.returncode in (0, 2)
    assert run.returncode == 0 or run.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of addresses")
@pytest.mark.parametrize("limit", [100, 200, 240, 280])
def test_libraries_are_not_loaded_where_they_could_hang(files: list[str], limit: int) -> None:
    said = subprocess.run(
        ["sh", "-c", f'ulimit -v {limit << 10}; exec "$@"', "sh", *COMMAND, "margin", *map(str, files)],
        capture_output=True, text=True, check=False, timeout=60, env=os.environ | {"OPENBLAS_NUM_THREADS": "8"},
    )  # fmt: skip
    assert said.returncode == 2
    assert f"may have {limit} MB of addresses, and its libraries need 288" in said.stderr


def test_libraries_that_end_the_process_do_not_answer(files: list[str]) -> None:
    """OpenBLAS ends with 1 where it gets no memory."""
    leave = "import ctypes, polymargin.cli.models as room\nroom.load = lambda *_, **__: ctypes.CDLL(None).exit(1)"
    assert ended(leave, "margin", *files).returncode == 2


def test_names_of_files_give_no_orders_to_the_terminal(files: list[str], tmp_path: Path) -> None:
    odd = tmp_path / "a\x1b[31m\nPROVED [red]\udcff.npz"
    odd.write_bytes(Path(files[0]).read_bytes())
    for words in (
        ["margin", odd, files[1]],
        ["margin", tmp_path / "no\x1b\nPROVED", files[1]],
        ["margin", files[0], odd],
    ):
        run = subprocess.run([*COMMAND, *words], capture_output=True, check=False, timeout=60)
        printed = run.stdout + run.stderr
        assert b"\x1b" not in printed
        assert not any(line.startswith(b"PROVED") for line in printed.splitlines())
    shown = subprocess.run(
        [*COMMAND, "margin", odd, files[1]], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert r"a\x1b[31m\nPROVED [red]\udcff.npz" in shown


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["margin", "points.npy", "model.npz"], "the model comes before the points"),
        (["margin", "empty.onnx", "points.npy"], "the file is empty; expected a model"),
        (["margin", "nan.npz", "points.npy", "--activation", "square"], "fc1.weight contains nan"),
        (["margin", "square.npz", "points.npy", "--activation", "square"], "--outputs on the command line"),
        (["margin", "square.npz", "points.npy", "--activation", "square", "--outputs", "up"], "'rows' or 'columns'"),
        (["margin", "model.npz", "points.npy", "--outputs", "rows"], "leave outputs= (--outputs) out"),
        (["margin", "model.npz", "points.npy", "--cluster", "nonsense"], "expected one such as tcp://host:8786"),
        (["verify", "model.npz", "points.npy", "--radius", "1", "--certificates", "model.npz"], "expected a folder"),
        (["report", "model.npz", "points.npy", "--certificates", "model.npz"], "expected a folder"),
        (["discriminant", "square.npz"], "read with activation= (--activation)"),
    ],
)
def test_what_new_users_get_wrong_is_one_sentence(tmp_path: Path, words: list[str], sentence: str) -> None:
    pm.PolynomialNetwork([np.eye(2), np.eye(2)], degree=2).save(tmp_path / "model.npz")
    np.save(tmp_path / "points.npy", np.ones((1, 2)))
    (tmp_path / "empty.onnx").write_bytes(b"")
    for name, entry in (("nan", np.nan), ("square", 1.0)):
        np.savez(tmp_path / f"{name}.npz", **{"fc1.weight": np.full((2, 2), entry), "fc2.weight": np.eye(2)})
    places = [str(tmp_path / word) if "." in word and "//" not in word else word for word in words]
    raised = CliRunner().invoke(app, places).exception  # told and turned into status 2 by `run_cleanly`
    assert isinstance(raised, pm.InputError)
    assert sentence in str(raised)
    assert "\n" not in str(raised)
