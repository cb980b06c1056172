"""`polymargin explore`: serves until interrupted, exports a page, one sentence for what is wrong."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from problems import random_network

pytest.importorskip("waitress")

COMMAND = [sys.executable, "-c", "from polymargin.cli import main; main()", "explore"]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random_network([2, 4, 2], 3, seed=1).save(tmp_path / "model.npz")
    np.save(tmp_path / "points.npy", np.array([[0.1, 0.2], [0.5, -0.5]]))
    return tmp_path


# Whoever runs the tests in the background has interruptions ignored, for the children too.
LISTENING = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "


def test_it_serves_until_interrupted(folder: Path) -> None:
    words = [COMMAND[0], "-c", LISTENING + COMMAND[2], "explore", str(folder / "model.npz"), "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(address + "answer?at=0.1,0.2", timeout=60) as answer:
                assert answer.status == 200
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, said) == (0, "")


def test_a_terminated_explorer_speaks_of_its_page(folder: Path) -> None:
    words = [*COMMAND, str(folder / "model.npz"), "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, said) == (143, "polymargin: terminated; the page is no longer served\n")


def test_it_exports(folder: Path) -> None:
    done = run(folder / "model.npz", "--export", folder / "page.html")
    assert done.returncode == 0, done.stderr
    assert "page.html: " in done.stdout
    assert '"kind":"solve"' in (folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--export", "page.pdf"), "ends in .html"),
        (("--plane", "0,1"), "three rows such as"),
        (("--plane", "0,1,2"), "its own plane"),
        (("--window", "1,0,0,1"), "each increasing"),
        (("--timeout", "0"), "positive"),
        (("--image", "huge"), "expected a shape"),
    ],
)
def test_one_sentence_for_what_is_wrong(folder: Path, words: tuple[str, ...], sentence: str) -> None:
    done = run(folder / "model.npz", folder / "points.npy", "--no-browser", *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
