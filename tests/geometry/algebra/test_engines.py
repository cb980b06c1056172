"""Engines as programs: found, run, stopped, cleaned up."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from geometry.algebra.engines_here import needs_msolve, needs_singular

import polymargin.geometry.algebra.engines as engines
from polymargin.errors import MissingExtraError
from polymargin.geometry.algebra import EngineError, OutOfTimeError, Ring, System, find_engine
from polymargin.geometry.algebra.counting import msolve_count
from polymargin.geometry.algebra.singular import eliminated_primes

PRIME = 1073741789


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts a shell script on the PATH as an engine."""

    def install(name: str, script: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return install


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_an_engine_on_the_path_is_found_and_reads_its_files(engine, scratch: Path) -> None:
    engine("echoing", 'cat "$1" > answer; echo printed')
    assert engines.run_engine("echoing", ["question"], {"question": "2*x"}, timeout=10, output="answer") == "2*x"
    assert engines.run_engine("echoing", ["question"], {"question": "2*x"}, timeout=10) == "printed\n"
    assert list(scratch.iterdir()) == []


def test_a_missing_engine_says_what_to_install() -> None:
    assert find_engine("no-such-engine") is None
    with pytest.raises(MissingExtraError, match=r"no-such-engine.*polymargin\[symbolic\]"):
        engines.run_engine("no-such-engine", [], {}, timeout=1)


def test_out_of_time_ends_the_whole_process_group(engine, scratch: Path) -> None:
    """The child keeps the pipe open: the call could not return before the child's end unless the group is killed."""
    engine("slow", "sleep 1000 & sleep 1000; wait")
    with pytest.raises(OutOfTimeError, match=r"slow did not finish within 0.2 s.*timeout="):
        engines.run_engine("slow", [], {}, timeout=0.2)
    assert list(scratch.iterdir()) == []


def test_a_failing_engine_is_reported_with_its_last_words(engine) -> None:
    engine("failing", "echo bad luck; exit 3")
    with pytest.raises(EngineError, match=r"failing ended with status 3: bad luck"):
        engines.run_engine("failing", [], {}, timeout=10)
    engine("silent", "true")
    with pytest.raises(EngineError, match="silent wrote no answer"):
        engines.run_engine("silent", [], {}, timeout=10, output="answer")


@needs_msolve
def test_msolve_counts() -> None:
    ring = Ring(("x", "y"), PRIME)
    x, y = ring.variables

    def count(*polynomials) -> int | None:
        return msolve_count(System(ring, polynomials), timeout=60)

    assert count(x**2 - 1, y**3 - x) == 6
    assert count(x**3 - x**2, y**2 - 2 * y + 1) == 6  # with multiplicity
    assert count(x - 1, x - 2, 0 * x) == 0
    assert count(x * y, x) is None
    assert count(x / 2 - y / 3, x - 1) == 1


@needs_singular
def test_singular_eliminates() -> None:
    """The parabola from its parametrisation, and a point of it that saturation removes."""
    ring = Ring(("t", "x", "y"))
    t, x, y = ring.variables
    primes = eliminated_primes(System(ring, (x - t, y - t**2, t * (t - 1))), 2, saturate=(t,), timeout=60)
    assert [(dimension, sorted(map(str, prime))) for dimension, prime in primes] == [(0, ["x - 1", "y - 1"])]
    primes = eliminated_primes(System(ring, (x - t, y - t**2)), 2, saturate=(ring.constant(1),), timeout=60)
    assert [(dimension, list(map(str, prime))) for dimension, prime in primes] == [(1, ["x^2 - y"])]


@needs_singular
def test_trouble_in_singular_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    import polymargin.geometry.algebra.singular as singular

    monkeypatch.setattr(singular, "SATURATE", "no such command;\n")
    ring = Ring(("x", "y"))
    with pytest.raises(EngineError, match="Singular stopped"):
        eliminated_primes(System(ring, ring.variables), 1, saturate=ring.variables, timeout=60)


def test_an_unreadable_answer_of_msolve(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines.importlib.util, "find_spec", lambda name: None)
    engine("msolve", "echo 'Prime is too large' > answer")
    ring = Ring(("x",), PRIME)
    with pytest.raises(EngineError, match="cannot be read: 'Primeistoolarge"):
        msolve_count(System(ring, ring.variables), timeout=10)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system ends orphans on Linux only")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_an_engine_dies_with_its_parent(tmp_path: Path, number: int) -> None:
    """The engine holds a pipe open as long as it lives; the pipe ends when the engine does."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "scratch").mkdir()
    os.mkfifo(tmp_path / "pipe")
    script = tmp_path / "bin" / "endless"
    script.write_text(f"#!/bin/sh\nexec > {tmp_path}/pipe\necho running\nexec sleep 1000\n")
    script.chmod(0o755)
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); "  # it is ignored where tests run under nohup
            "import polymargin.geometry.algebra.engines as e; e.run_engine('endless', [], {}, timeout=900)",
        ],
        env=os.environ | {"PATH": f"{script.parent}:{os.environ['PATH']}", "TMPDIR": str(tmp_path / "scratch")},
    )
    with open(tmp_path / "pipe", "rb") as pipe:
        assert pipe.readline() == b"running\n"
        assert len(list((tmp_path / "scratch").iterdir())) == 1
        parent.send_signal(number)
        assert parent.wait(timeout=30) == (-9 if number == signal.SIGKILL else 128 + number)
        assert select.select([pipe], [], [], 30)[0]
        assert pipe.read() == b""
    if number != signal.SIGKILL:
        assert not list((tmp_path / "scratch").iterdir())
