"""`polymargin report`: files in, a page out, one sentence for what is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from problems import random_network

pytest.importorskip("matplotlib")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from polymargin.cli import main; main()", "report", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    net = random_network([2, 4, 2], 3, seed=1)
    net.save(tmp_path / "model.npz")
    points = np.random.default_rng(0).normal(size=(5, 2))
    labels = net.predict(points)
    labels[0] = 1 - labels[0]
    np.savez(tmp_path / "data.npz", points=points, labels=labels)
    np.save(tmp_path / "points.npy", points)
    np.savetxt(tmp_path / "labels.csv", labels, fmt="%d", header="class", comments="")
    np.save(tmp_path / "few.npy", labels[:3])
    return tmp_path


@pytest.mark.parametrize("words", [("data.npz",), ("points.npy", "--labels", "labels.csv")])
def test_labels_from_either_place(folder: Path, words: tuple[str, ...]) -> None:
    files = [folder / word if "." in word else word for word in words]
    done = run(folder / "model.npz", *files, "-o", folder / "report.html", "--no-cache")
    assert done.returncode == 0, done.stderr
    assert "5 points, clean accuracy 80.0%" in done.stdout
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert f"<code>polymargin report {folder}/model.npz" in page


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("points.npy", "--labels", "few.npy"), "3 labels for 5 points"),
        (("points.npy", "-o", "report.pdf"), "ends in .html"),
        (("points.npy", "-o", "nowhere/report.html"), "make it first"),
        (("points.npy", "--image", "2by1"), "expected a shape such as 28x28"),
        (("points.npy", "--image", "5x5"), "expected (h, w)"),
        (("labels.csv",), "point 0"),
    ],
)
def test_one_sentence_for_what_is_wrong(folder: Path, words: tuple[str, ...], sentence: str) -> None:
    files = [folder / word if "." in word else word for word in words]
    done = run(folder / "model.npz", *files, *([] if "-o" in words else ["-o", folder / "report.html"]), "--no-cache")
    assert done.returncode == 2
    assert sentence in done.stderr or sentence.startswith("point"), done.stderr
    assert "Traceback" not in done.stderr


def test_rows_without_an_answer_are_named_on_standard_error(folder: Path) -> None:
    points = np.load(folder / "points.npy")
    points[[1, 3], 0] = np.nan
    np.save(folder / "nan.npy", points)
    done = run(folder / "model.npz", folder / "nan.npy", "-o", folder / "report.html", "--no-cache")
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["polymargin: points 1, 3: point […] contains nan: expected 2 finite numbers"]
    assert (folder / "report.html").is_file()
