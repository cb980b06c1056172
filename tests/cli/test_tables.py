"""Tables that grow row by row, remarks that are said once, colours on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.cli.margin import cells, presentation
from polymargin.cli.remarks import MOST, remarks
from polymargin.cli.row_table import Column, RowTable, widened
from polymargin.standing import Standing

COLUMNS = (Column("size", 8, right=True), Column("why"))


def test_rows_are_printed_in_order_as_soon_as_they_can_be(capsys: pytest.CaptureFixture[str]) -> None:
    with RowTable("title [red]", COLUMNS, 3) as table:
        table.add(1, ["2", "second"])
        assert capsys.readouterr().out == ""
        table.add(0, ["1", "first"])
        lines = capsys.readouterr().out.splitlines()
        assert lines == ["title [red]", "point      size  why", "    0         1  first", "    1         2  second"]
        table.add(2, ["123456789", "third\x1b[31m"])
        assert capsys.readouterr().out == "    2  123456789  third\\x1b[31m\n"
    assert table.finished == 3


def test_a_silent_table_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with RowTable("title", COLUMNS, 1, silent=True) as table:
        table.add(0, ["1", "first"])
        table.say("a remark")
    assert capsys.readouterr().out == ""


def test_equal_remarks_are_said_once() -> None:
    rows = [(row, f"point [{row}, nan] contains nan") for row in (0, 1, 2, 7)]
    assert remarks(rows) == ["points 0–2, 7: point […] contains nan"]
    assert remarks([(3, "point [nan] contains nan")]) == ["point 3: point [nan] contains nan"]
    domain = [(row, f"the tie at [{row}, 2] leaves [0, 1], where the input is") for row in range(2)]
    assert remarks(domain) == ["points 0–1: the tie at […] leaves [0, 1], where the input is"]
    many = remarks((row, f"remark {row}") for row in range(100))
    assert len(many) == MOST + 1
    assert many[-1] == f"… and {100 - MOST} more remarks; --json has all of them"
    assert remarks((2 * row, "odd") for row in range(100)) == ["points 0, 2, 4, 6, 8, 10, 12, 14 and 92 others: odd"]


def margin(radius: float, method: str = "continuation", **given: Any) -> pm.Margin:
    values = {"lower": radius, "upper": radius, "standing": Standing.NUMERICAL} | given
    return pm.Margin(
        radius, point=None, label=0, rival=1, method=method, seconds=0.0, complex_count=9, real_count=3, **values
    )


def test_cells_of_margins() -> None:
    assert cells(margin(0.5))[2:5] == ["0.5000000000", "continuation", "NUMERICAL"]
    assert cells(margin(961387168205160854615090003968.0))[2] == "9.613871682e+29"


def test_brackets_fit_their_column(capsys: pytest.CaptureFixture[str]) -> None:
    network = random_network([2, 4, 2], 3, seed=1)
    with RowTable("title", widened(presentation().columns, network), 2) as table:
        table.add(0, cells(margin(0.5)))
        bracket = {"lower": 0.01427551, "upper": 0.01429841, "standing": Standing.BRACKETED}
        table.add(1, cells(margin(0.014298, **bracket)))
    head, first, second = capsys.readouterr().out.splitlines()[1:]
    assert "0.0142755 … 0.0142984  continuation" in second
    assert head.index("method") == first.index("continuation") == second.index("continuation")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a pseudo-terminal")
def test_colours_and_a_labelled_clock_on_a_terminal(tmp_path: Path) -> None:
    random_network([2, 4, 2], 3, seed=1).save(tmp_path / "model.npz")
    np.save(tmp_path / "points.npy", np.array([[0.1, 0.2], [0.5, -0.5]]))
    words = ["verify", tmp_path / "model.npz", tmp_path / "points.npy", "--radius", "1e-3"]
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment |= {"TERM": "xterm-256color", "COLUMNS": "120"}
    reading, writing = pty.openpty()
    command = [sys.executable, "-c", "from polymargin.cli import main; main()", *map(str, words)]
    process = subprocess.Popen(command, stdout=writing, stderr=writing, env=environment)
    os.close(writing)
    shown = b""
    while True:
        try:
            piece = os.read(reading, 4096)
        except OSError:  # the terminal is closed with its last user
            break
        if not piece:
            break
        shown += piece
    os.close(reading)
    assert process.wait() == 0
    assert b"\x1b[1;32mROBUST\x1b[0m" in shown
    assert b"time left: not known yet" in shown


def test_completion_knows_the_commands() -> None:
    environment = {
        **os.environ,
        "_POLYMARGIN_COMPLETE": "complete_bash",
        "COMP_WORDS": "polymargin mar",
        "COMP_CWORD": "1",
    }
    script = "import sys; sys.argv[0] = 'polymargin'\nfrom polymargin.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.split() == ["margin"]
