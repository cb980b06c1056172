"""The commands, one after the other, and the table they make."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from polymargin.cli import reproduce
from polymargin.cli.soundness import commands
from polymargin.errors import InputError
from polymargin.reproduce import table3
from polymargin.soundness import Setting, verification


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(commands, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


def test_score_of_our_own_results(planted: Path) -> None:
    status, text = run("score", str(planted), "--json")
    found = json.loads(text)
    assert status == 0
    assert found["unverifiable_instance_falsified_ratio"] == 1.0
    assert found["unverifiable_instance_verified_ratio"] == 0.0
    assert found["clean_instance_verified_ratio"] + found["clean_instance_falsified_ratio"] == 1.0


def test_a_verifier_that_always_says_robust_is_found_out(planted: Path, tmp_path: Path) -> None:
    file = tmp_path / "robust.csv"
    with (planted / "instances.csv").open() as lines, file.open("w") as out:
        csv.writer(out).writerows(["x", row[0], row[1], 0, "unsat", 0.1] for row in csv.reader(lines))
    status, text = run("score", str(planted), "--results", str(file))
    assert status == 1
    assert "soundness errors" in text
    status, text = run("score", str(planted), "--results", str(file), "--json")
    assert json.loads(text)["soundness_errors"] == 8


def test_generate_train_verify_score(tmp_path: Path) -> None:
    for module in ("torch", "onnx", "vnnlib"):
        pytest.importorskip(module)
    folder = str(tmp_path / "benchmark")
    sizes = ("--inputs", "3", "--hidden", "5", "--degree", "2", "--epsilon", "0.8", "--count", "1", "--epochs", "1500")
    assert run("generate", folder, *sizes)[0] == 0
    assert run("train", folder)[0] == 0
    status, text = run("verify", folder, "--json")
    assert status == 0
    found = json.loads(text)
    assert found["instances"] == 2
    assert all(item["proved"] for item in found["outcomes"])
    status, text = run("verify", folder)
    assert "2 of 2 certificates accepted by the checker" in text
    assert run("score", folder)[0] == 0


def test_the_exact_edition_refuses_options_of_the_other(tmp_path: Path) -> None:
    result = CliRunner().invoke(commands, ["generate", str(tmp_path), "--exact", "--epochs", "5000"])
    assert result.exit_code == 2
    assert "--epochs belongs to trained networks" in result.output
    with pytest.raises(InputError, match="--hidden '6;6'"):
        run("generate", str(tmp_path), "--hidden", "6;6")


def test_an_answer_without_an_accepted_certificate_is_no_answer(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "benchmark"
    shutil.copytree(planted, folder)
    monkeypatch.setattr(verification, "proved", lambda model, files: [False] * len(files))
    status, text = run("verify", str(folder), "--json")
    found = json.loads(text)
    assert status == 2
    assert (found["verified"], found["falsified"], found["undecided"]) == (0, 0, 15)
    assert {item["answer"] for item in found["outcomes"]} <= {"ROBUST", "VULNERABLE"}
    assert {item["result"] for item in found["outcomes"]} == {"unknown"}


def test_table3_puts_printed_values_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("torch", "onnx", "vnnlib"):
        pytest.importorskip(module)
    small = [Setting((10,), 2, 0.5, unverifiable=2, clean=2)]
    monkeypatch.setattr(table3, "paper_settings", lambda: small)
    words = ["table3", "--directory", str(tmp_path), "--epochs", "1500", "--json"]
    result = CliRunner().invoke(reproduce.commands, words)
    assert result.exit_code == 0
    (row,) = json.loads(result.stdout)["rows"]
    assert (row["falsified_unverifiable_printed"], row["falsified_clean_printed"]) == (1.0, 0.5)
    assert (row["seconds_mean_printed"], row["seconds_std_printed"]) == (0.0335, 0.0102)
    assert row["falsified_unverifiable"] == 1.0
    assert (row["proved"], row["instances"]) == (4, 4)
    with (tmp_path / "table3.csv").open(newline="") as lines:
        assert next(csv.DictReader(lines))["name"] == "n8-h10-k2-d2-eps0.5"
    readme = (tmp_path / "README.md").read_text()
    assert "seed 0, 1500 epochs" in readme
    assert "unverifiable_instance_falsified_ratio: 1" in readme


@pytest.mark.slow
def test_table3_in_full(tmp_path: Path) -> None:
    rows = table3.reproduce_table3(tmp_path)
    assert len(rows) == 8
    assert all(row["falsified_unverifiable"] == 1.0 and row["proved"] == row["instances"] == 20 for row in rows)
