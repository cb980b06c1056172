"""`ed-degree`, `chambers` and `reproduce` on the command line, in a process of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polymargin as pm


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from polymargin.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_all_ways_of_counting_agree() -> None:
    result = run("ed-degree", "--architecture", "3,3,2,2", "--degree", 2, "--method", "all", "--json")
    assert result.returncode == 0, result.stderr
    data = json.loads(result.stdout)
    assert data["version"] == pm.__version__
    assert data["ed_degree"] == 36
    assert "no formula applies" in data["methods"]["formula"]["refused"]
    assert data["methods"]["numeric"]["trace"]["passed"]
    assert {data["methods"][way]["ed_degree"] for way in ("numeric", "symbolic")} == {36}


def test_the_architecture_is_named_with_its_classes() -> None:
    result = run("ed-degree", "--architecture", "2,2,3", "--degree", 2)
    assert result.stdout.splitlines()[0].strip() == "architecture 2-2-3, activation of degree 2"


def test_attention_as_a_table() -> None:
    result = run("ed-degree", "--attention", "2,2,1,1")
    assert result.returncode == 0, result.stderr
    assert "17" in result.stdout
    assert "passed" in result.stdout
    assert "NUMERICAL" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "expected one of MODEL, --expression, --architecture or --attention"),
        (("--architecture", "3,3,2,2"), "needs --degree"),
        (("--architecture", "3,x,2", "--degree", "2"), "expected inputs, hidden widths, classes"),
        (("--attention", "2,2,1"), "four numbers"),
        (("--attention", "2,2,1,1", "--architecture", "2,2,2"), "--architecture and --attention given"),
        (
            ("--attention", "2,2,1,1", "--method", "guess"),
            "expected one of auto, formula, numeric, symbolic, all",
        ),
        (("--attention", "2,2,1,1", "--method", "formula"), "no formula is known"),
    ],
)
def test_bad_questions_are_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    result = run("ed-degree", *arguments)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_the_limit_that_a_refusal_names_can_be_raised(tmp_path: Path) -> None:
    layers = [[[1.0, 2.0], [0.5, -1.0]], ([[1.0, 2.0], [0.0, 0.0]], [-1.0, 0.0])]
    pm.PolynomialNetwork(layers, degree=3).save(tmp_path / "cubic.npz")
    for command in (("ed-degree",), ("chambers", "--samples", 20)):
        refused = run(*command, tmp_path / "cubic.npz", "--limit", 8)
        assert refused.returncode == 2
        assert "more than the limit of 8" in refused.stderr
        assert "raise limit= (--limit)" in refused.stderr
        counted = run(*command, tmp_path / "cubic.npz", "--limit", 9)
        assert counted.returncode == 0, counted.stderr


def test_chambers_of_an_ellipse(tmp_path: Path) -> None:
    pm.PolynomialNetwork([np.eye(2), ([[1, 4], [0, 0]], [0, 4])], degree=2).save(tmp_path / "ellipse.npz")
    files = [tmp_path / "chambers.png", tmp_path / "chambers.svg"]
    plots = [part for file in files for part in ("--plot", file)]
    result = run("chambers", tmp_path / "ellipse.npz", "--samples", 500, "--window=-3,3,-4,4", *plots, "--json")
    assert result.returncode == 0, result.stderr
    data = json.loads(result.stdout)
    assert data["version"] == pm.__version__
    assert data["total"] == 4
    assert set(data["shares"]) == {"2", "4"}
    assert files[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in files[1].read_text()
    drawn = run("chambers", tmp_path / "ellipse.npz", "--samples", 50, *plots)
    assert drawn.stdout.splitlines()[-2:] == [f"wrote {file}" for file in files]
    for command in ("chambers", "discriminant"):
        bad = run(command, tmp_path / "ellipse.npz", "--window", "1,2,3")
        assert bad.returncode == 2
        assert "four numbers left,right,bottom,top" in bad.stderr
        assert "left,right,bottom,top" in run(command, "--help").stdout


def test_pictures_and_boundaries_that_make_no_sense(tmp_path: Path) -> None:
    pm.PolynomialNetwork([np.eye(2), ([[1, 4], [0, 0]], [0, 4])], degree=2).save(tmp_path / "ellipse.npz")
    pm.PolynomialNetwork([(np.eye(2), [0.0, 1.0])]).save(tmp_path / "line.npz")
    for command in ("chambers", "discriminant"):
        bad = run(command, tmp_path / "ellipse.npz", "--plot", tmp_path / "picture.foo")
        assert bad.returncode == 2
        assert "ends in .png or .svg" in bad.stderr
    drawn = run("discriminant", tmp_path / "ellipse.npz", "--plot", tmp_path / "picture.png")
    assert f"wrote {tmp_path / 'picture.png'}: the regions in which the number of real critical" in drawn.stdout
    flat = run("chambers", tmp_path / "line.npz")
    assert flat.returncode == 2
    assert "is a hyperplane" in flat.stderr


def test_reproduce_a_table_and_continue_it(tmp_path: Path) -> None:
    first = run("reproduce", "table2", "--largest-degree", 17, "--directory", tmp_path)
    assert first.returncode == 0, first.stderr
    assert "14 of 14 rows agree" in first.stdout
    again = run("reproduce", "table2", "--largest-degree", 17, "--directory", tmp_path, "--json")
    rows = json.loads(again.stdout)["rows"]
    assert {row["ours"] for row in rows} == {7, 12, 17}
    assert (tmp_path / "table2-seed0.csv").read_text().count("\n") == 15


def test_expressions_on_the_command_line() -> None:
    ellipse = ("--expression", "x**2 + 4*y**2 = 4")
    counted = json.loads(run("ed-degree", *ellipse, "--json").stdout)
    assert (counted["ed_degree"], counted["standing"]) == (4, "CERTIFIED")
    assert json.loads(run("ed-degree", *ellipse, "--metric", "1,4", "--json").stdout)["ed_degree"] == 2
    assert json.loads(run("ed-degree", *ellipse, "--metric", "5,4;4,5", "--json").stdout)["ed_degree"] == 4
    variety = run("ed-degree", "--expression", "x**2+y**2+z**2=1", "--expression", "x*y=z", "--json")
    assert json.loads(variety.stdout)["ed_degree"] == 8
    parabola = run("discriminant", "--expression", "y = x**2", "--json")
    assert json.loads(parabola.stdout)["generators"] == ["16*u2^3 - 27*u1^2 - 24*u2^2 + 12*u2 - 2"]
    family = run("discriminant", "--expression", "a*x**2 + y**2 = b", "--variables", "x y", "--parameters", "--json")
    assert json.loads(family.stdout)["factors"] == ["a", "a - 1", "b"]
    regions = json.loads(run("chambers", *ellipse, "--samples", 200, "--json").stdout)
    assert set(regions["shares"]) == {"2", "4"}


def test_critical_points_of_an_expression() -> None:
    found = run("critical-points", "--expression", "x**2 + y**2 = 4", "--point", "1.5,2", "--json")
    assert found.returncode == 0, found.stderr
    data = json.loads(found.stdout)
    assert data["complete"]
    assert [point["distance"] for point in data["points"]] == pytest.approx([0.5, 4.5])
    table = run(
        "critical-points", "--expression", "x**2 + y**2 + z**2 = 4", "--expression", "z = 0", "--point", "3,0,4"
    )
    assert "4.123105626" in table.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("critical-points", "--point", "1,2"), "expected MODEL or --expression"),
        (("critical-points", "--expression", "x*y-1", "--point", "a,b"), "numbers separated by commas"),
        (("critical-points", "--expression", "x*y-1", "--point", "1,2,3"), "expected 2 finite numbers"),
        (("ed-degree", "--expression", "x**2+y**2-1", "--metric", "one"), "--metric 'one'"),
        (("ed-degree", "--expression", "x**2 + I*y"), "imaginary unit"),
        (("discriminant", "--expression", "x**3 + y", "--parameters"), "degree at most two"),
    ],
)
def test_bad_expressions_are_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
