"""The command line as a user meets it: real processes, real files, exit statuses."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from problems import random_network

import polymargin as pm


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from polymargin.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    random_network([2, 4, 2], 3, seed=1).save(tmp_path / "model.npz")
    return tmp_path / "model.npz"


@pytest.fixture
def points(tmp_path: Path) -> Path:
    np.save(tmp_path / "points.npy", np.array([[0.1, 0.2], [0.5, -0.5]]))
    return tmp_path / "points.npy"


def test_version_and_help() -> None:
    assert run("--version").stdout.strip() == f"polymargin {pm.__version__}"
    assert "distance from each point" in run("--help").stdout
    assert "Example:" in run("margin", "--help").stdout


def test_margin_table_and_json_say_the_same(model: Path, points: Path) -> None:
    table = run("margin", model, points)
    assert table.returncode == 0, table.stderr
    data = json.loads(run("margin", model, points, "--json", "--threads", "1", "--seed", "3").stdout)
    direct = pm.margin(pm.load(model), np.load(points), proof=False)
    assert data["seed"] == 3
    for row, expected in zip(data["margins"], direct, strict=True):
        assert row["radius"] == pytest.approx(expected.radius, rel=1e-9)
        assert (row["label"], row["rival"], row["standing"]) == (expected.label, expected.rival, "CERTIFIED")
        assert f"{expected.radius:.8f}"[:9] in table.stdout


@pytest.mark.parametrize("name", ["points.csv", "header.csv", "named.npz", "single.npz", "vector.npy"])
def test_kinds_of_points_files(model: Path, tmp_path: Path, name: str) -> None:
    rows = np.array([[0.1, 0.2], [0.5, -0.5]])
    file = tmp_path / name
    match name:
        case "points.csv":
            np.savetxt(file, rows, delimiter=",")
        case "header.csv":
            np.savetxt(file, rows, delimiter=",", header="a,b", comments="")
        case "named.npz":
            np.savez(file, points=rows, labels=np.zeros(2))
        case "single.npz":
            np.savez(file, anything=rows)
        case "vector.npy":
            np.save(file, rows[0])
    data = json.loads(run("margin", model, file, "--json").stdout)
    assert len(data["margins"]) == (1 if name == "vector.npy" else 2)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.csv", None, "no such file"),
        ("empty.csv", b"", "empty"),
        ("empty.npy", b"", "empty"),
        ("text.csv", b"a,b\nc,d\n", "not a number"),
        ("header.csv", b"a,b\n", "no row of numbers"),
        ("semicolons.csv", b"1;2\n", "row 1 contains '1;2'; expected numbers separated by commas"),
        ("decimal_commas.csv", b"1,5;2,5\n", "row 1 contains '5;2'; expected numbers separated by commas"),
        ("blanks.csv", b"x y\n1 2\n", "row 2 contains '1 2'; expected numbers separated by commas"),
        ("text.npy", b"1,2\n", "not a .npy file; expected an array of points, written by numpy.save"),
        ("ragged.csv", b"1,2\n3\n", "row 2 has 1 entries"),
        ("binary.csv", b"\xff\xfe\x00", "cannot read points"),
        ("bad.npy", b"\x93NUMPY garbage", "cannot read points"),
        ("bad.npz", b"PK garbage", "not a valid .npz"),
        ("points.txt", b"1,2\n", "unknown kind of points file"),
    ],
)
def test_bad_points_files(model: Path, tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    result = run("margin", model, file)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_points_that_are_a_folder_or_python_objects(model: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.npy").mkdir()
    np.save(tmp_path / "objects.npy", np.array([{}, 1], dtype=object))
    np.savez(tmp_path / "objects.npz", points=np.array([{}, 1], dtype=object))
    for name, message in (
        ("folder.npy", "a folder; expected a .npy, .npz or .csv file of points"),
        ("objects.npy", "an array of Python objects; expected an array of real numbers"),
        ("objects.npz", "holds Python objects; expected numbers"),
    ):
        result = run("margin", model, tmp_path / name)
        assert result.returncode == 2
        assert message in result.stderr


def test_bad_models(model: Path, points: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"PK garbage")
    (tmp_path / "empty.npz").write_bytes(b"")
    with np.load(model) as arrays:
        np.savez(tmp_path / "nan.npz", **(dict(arrays) | {"readout/bias": np.array([np.nan, 0.0])}))
    for file, message in (
        (broken, "not a valid .npz"),
        (tmp_path / "empty.npz", "the file is empty"),
        (tmp_path / "nan.npz", "readout/bias contains a number that is not finite"),
        ("no.onnx", "no such"),
    ):
        result = run("margin", file, points)
        assert (result.returncode, "Traceback" in result.stderr) == (2, False)
        assert message in result.stderr


def test_a_bad_row_fails_alone_with_status_2(model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.array([[0.1, 0.2], [np.nan, 0.0]]))
    result = run("margin", model, tmp_path / "p.npy")
    assert result.returncode == 2
    assert "CERTIFIED" in result.stdout
    assert "point 1: point [nan, 0.0] contains nan" in result.stdout


def test_images_may_keep_their_shape(model: Path, points: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "images.npy", np.load(points).reshape(2, 1, 1, 2))
    for words in (["margin"], ["verify", "--radius", "1e-3"]):
        flat, shaped = (run(words[0], model, file, *words[1:], "--json") for file in (points, tmp_path / "images.npy"))
        rows = [next(v for k, v in json.loads(done.stdout).items() if isinstance(v, list)) for done in (flat, shaped)]
        assert [row["label"] for row in rows[0]] == [row["label"] for row in rows[1]]
        assert (flat.returncode, len(rows[1])) == (shaped.returncode, 2)
    np.save(tmp_path / "images.npy", np.zeros((2, 3, 3)))
    assert "points of 9 numbers for a network with 2 inputs" in run("margin", model, tmp_path / "images.npy").stderr


def test_wrong_width_and_limit(model: Path, tmp_path: Path, points: Path) -> None:
    np.save(tmp_path / "p.npy", np.zeros((1, 5)))
    for words in (["margin"], ["verify", "--radius", "1"]):
        wide = run(words[0], model, tmp_path / "p.npy", *words[1:])
        assert (wide.returncode, wide.stdout) == (2, "")
        assert "points of 5 numbers for a network with 2 inputs" in wide.stderr
    bounded = run("margin", model, points, "--limit", "3", "--no-cache", "--json")
    assert bounded.returncode == 0
    assert "more than the limit of 3" in bounded.stdout
    assert "FAILED" not in bounded.stdout


def test_norms_and_domains(model: Path, points: Path) -> None:
    data = json.loads(run("margin", model, points, "--norm", "linf", "--domain", "-9,9", "--json").stdout)
    plain = json.loads(run("margin", model, points, "--json").stdout)
    for other, row in zip(data["margins"], plain["margins"], strict=True):
        assert (other["norm"], row["norm"]) == ("linf", "l2")
        assert other["radius"] <= row["radius"]
    for words, sentence in ((("--norm", "l7"), "norm 'l7'"), (("--domain", "1"), "two numbers")):
        refused = run("margin", model, points, *words)
        assert refused.returncode == 2
        assert sentence in refused.stderr


def test_unknown_options_are_refused(model: Path, points: Path) -> None:
    result = run("margin", model, points, "--thread", "2")
    assert result.returncode == 2
    assert "No such option" in result.stderr


def test_checkpoints_continue(model: Path, points: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    first = run("margin", model, points, "--checkpoint", file, "--json")
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:2]))  # as if interrupted after the first row
    second = run("margin", model, points, "--checkpoint", file, "--json")
    radii = [[row["radius"] for row in json.loads(result.stdout)["margins"]] for result in (first, second)]
    assert radii[0] == radii[1]
    other = run("margin", model, points, "--checkpoint", file, "--seed", "5")
    assert other.returncode == 2
    assert "choose a new file" in other.stderr


def test_demo() -> None:
    result = run("demo", "--radius", "0.2")
    assert result.returncode == 0, result.stderr
    for word in ("ROBUST", "VULNERABLE", "CERTIFIED", "continuation"):
        assert word in result.stdout
    data = json.loads(run("demo", "--json").stdout)
    assert set(data["networks"]) == {"moons", "spheres", "cubic8"}
    for rows in data["networks"].values():
        assert all(row["standing"] == "CERTIFIED" for row in rows)


def test_verify_and_check(model: Path, points: Path, tmp_path: Path) -> None:
    margins = pm.margin(pm.load(model), np.load(points), proof=False)
    small, large = 0.9 * min(m.radius for m in margins), 1.1 * max(m.radius for m in margins)
    proofs = tmp_path / "proofs"
    robust = run("verify", model, points, "--radius", small, "--certificates", proofs)
    assert robust.returncode == 0, robust.stdout + robust.stderr
    assert "2 points: 2 ROBUST" in robust.stdout
    files = sorted(proofs.glob("point-*.json"))
    assert sorted(proofs.iterdir()) == [proofs / "model.npz", *files]
    command = robust.stdout.splitlines()[-1].partition("with: polymargin ")[2]
    checked = run(*shlex.split(command))
    assert checked.returncode == 0, checked.stdout
    assert checked.stdout.count("PROVED") == 2
    assert "2 of 2 certificates proved" in checked.stdout
    vulnerable = run("verify", model, points, "--radius", large, "--json", "--certificates", proofs)
    assert vulnerable.returncode == 1
    rows = json.loads(vulnerable.stdout)["verdicts"]
    assert [row["answer"] for row in rows] == ["VULNERABLE", "VULNERABLE"]
    assert run("check", model, rows[0]["certificate"]).returncode == 0
    files[0].write_text(files[0].read_text().replace('"robust"', '"margin"').replace('"vulnerable"', '"robust"'))
    assert run("check", model, files[0]).returncode != 0


def test_verify_with_bad_rows_and_options(model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.array([[0.1, 0.2], [np.nan, 0.0]]))
    result = run("verify", model, tmp_path / "p.npy", "--radius", "1e-3")
    assert result.returncode == 2
    assert "point 1: point [nan, 0.0] contains nan" in result.stdout
    assert "2 points: 1 ROBUST, 1 FAILED" in result.stdout
    assert run("verify", model, tmp_path / "p.npy").returncode == 2
    negative = run("verify", model, tmp_path / "p.npy", "--radius=-1")
    assert negative.returncode == 2
    assert "Traceback" not in negative.stderr


def test_quadrics_on_the_command_line(tmp_path: Path, model: Path) -> None:
    ellipse = pm.PolynomialNetwork([np.eye(2), ([[1, 4], [0, 0]], [0, 4])], degree=2)
    ellipse.save(tmp_path / "ellipse.npz")
    table = run("discriminant", "--parameters", tmp_path / "ellipse.npz")
    assert table.returncode == 0, table.stderr
    assert "ellipse" in table.stdout
    data = json.loads(run("ed-degree", tmp_path / "ellipse.npz", "--json").stdout)
    assert (data["ed_degree"], data["standing"]) == (4, "CERTIFIED")
    assert "ED degree" in run("ed-degree", tmp_path / "ellipse.npz").stdout
    refused = run("discriminant", "--parameters", model)
    assert refused.returncode == 2
    assert "degree at most two" in refused.stderr
    for words in (("--parameters",), ()):
        assert (
            json.loads(run("discriminant", *words, tmp_path / "ellipse.npz", "--json").stdout)["version"]
            == pm.__version__
        )
    evolute = run("discriminant", tmp_path / "ellipse.npz")
    assert "degree 6" in evolute.stdout
    assert "64*u1^6" in evolute.stdout
    assert run("ed-degree", tmp_path / "ellipse.npz", "--rival", "7").returncode == 2


def test_files_as_spreadsheets_write_them(model: Path, tmp_path: Path) -> None:
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbf0.1,0.2\n0.3,-0.1\n")
    assert len(json.loads(run("margin", model, tmp_path / "bom.csv", "--json").stdout)["margins"]) == 2
    (tmp_path / "typo.csv").write_text("O.1,0.2\n0.3,-0.1\n")
    assert run("margin", model, tmp_path / "typo.csv").returncode == 2


def test_places_that_cannot_be_written(model: Path, points: Path, tmp_path: Path) -> None:
    for options in (["--checkpoint", tmp_path], ["--checkpoint", tmp_path / "no" / "file"], ["--checkpoint", model]):
        result = run("margin", model, points, *options)
        assert (result.returncode, "Traceback" in result.stderr) == (2, False), options
    result = run("verify", model, points, "--radius", "0.001", "--certificates", model)
    assert (result.returncode, "Traceback" in result.stderr) == (2, False)
