"""The checker as a program, and what it says when it cannot finish: nothing is proved then."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest
from checker.certificate_makers import certificate, write

import polymargin as pm
from polymargin_checker import check, checker
from polymargin_checker.__main__ import USAGE, main

NET = pm.PolynomialNetwork([([[3.0, 4.0], [0.0, 0.0]], [5.0, 0.0])])


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    rivals = [{"rival": 1, "lower": "0x1p0", "proof": {"kind": "hyperplane"}}]
    document = certificate(NET, [0.0, 0.0], 0, {"kind": "robust", "radius": "0x1p0"}, rivals, None)
    model, file = write(tmp_path, NET, document)
    return str(model), str(file)


def test_one_sentence_says_what_is_proved(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(files) == 0
    sentence = "class 0 is robust: no other class ties or wins at an L2 distance below 1.0"
    sentence += " (no weights, no domain, 2 of 2 coordinates movable, 1 of 1 rivals)"
    assert capsys.readouterr().out == f"PROVED: {sentence}\n"
    assert check(*files).reason == sentence
    model, file = files
    document = certificate(NET, [0.0, 0.0], 0, {"kind": "vulnerable", "radius": "0x1p1"}, [], None)
    document["upper"] = {"kind": "counterexample", "rival": 1, "point": ["-0x1p0", "-0x1p0"]}
    write(Path(file).parent, NET, document)
    sentence = "class 0 is vulnerable: another class ties or wins at an L2 distance of at most 2.0"
    sentence += " (no weights, no domain, 2 of 2 coordinates movable, 1 of 1 rivals)"
    assert check(model, file).reason == sentence


def test_words_of_the_command_line(
    files: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, file = files
    monkeypatch.setattr(sys, "argv", ["checker", model, file, file])
    assert main() == 0
    assert capsys.readouterr().out.count("PROVED: ") == 2
    for words in ([model, "--fast", file], [model], [], ["-x", "-y"], ["--help", model]):
        assert main(words) == 2
        output = capsys.readouterr()
        assert (output.out, output.err) == ("", USAGE + "\n")
    for words in (["-h"], ["--help"]):
        assert main(words) == 0
        output = capsys.readouterr()
        assert (output.out, output.err) == (USAGE + "\n", "")


def test_without_floating_point_only_if_asked(files: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr("polymargin_checker.__main__.check", lambda *words: asked.append(words) or check(*words))
    model, file = files
    assert main(["--exact", model, file, file]) == 0
    assert main([model, file]) == 0
    assert asked == [(model, file, True), (model, file, True), (model, file, False)]
    assert main([model, "--exact", file]) == main(["--exact", "--exact", model, file]) == main(["--exact", model]) == 2


def test_the_worst_answer_is_the_status(files: tuple[str, str], tmp_path: Path) -> None:
    model, good = files
    bad, none = tmp_path / "bad.json", tmp_path / "none.json"
    bad.write_text(Path(good).read_text().replace('"upper"', '"uper"'))
    other = tmp_path / "other.json"
    other.write_text("{}")
    for certificates, status in (
        ([good], 0),
        ([bad, good], 1),
        ([none, bad], 2),
        ([bad, none, good], 2),
        ([none], 2),
        ([other, good], 2),
    ):
        assert main([model, *map(str, certificates)]) == status


def test_names_that_do_not_fit_the_terminal(files: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding="ascii"))
    assert main([files[0], "größe.json"]) == 2
    sys.stdout.flush()
    assert output.getvalue() == b"UNUSABLE: gr\\xf6\\xdfe.json: no such file\n"
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert main([files[0], "größe.json"]) == 2


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "the files need more memory than there is"),
        (RecursionError(), "the files need more memory than there is"),
        (ValueError("a\nb"), "the checker could not finish (ValueError: 'a\\nb')"),
        (OverflowError(), "the checker could not finish (OverflowError: '')"),
    ],
)
def test_a_checker_that_fails_has_proved_nothing(
    files: tuple[str, str], error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(checker, "_check_rows", fail)
    verdict = check(*files)
    assert (verdict.accepted, verdict.reason, verdict.usable) == (False, reason, True)
