"""Checkpoints of real batches: interrupted, cut, flipped, replaced. Rows may be lost; none may change."""

from __future__ import annotations

import json
import math
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.continuation import TrackerSettings
from polymargin.errors import DamageWarning, InputError
from polymargin.margins import checkpoint
from polymargin.standing import Standing

NETWORK = random_network([2, 4, 2], 3, seed=4)
POINTS = np.random.default_rng(4).normal(size=(5, 2))


def batch(file: Path | None, points: np.ndarray = POINTS, **options: object) -> list[pm.Margin]:
    return pm.margin(NETWORK, points, proof=False, checkpoint=file, workers=1, **options)


def plain(rows: list[pm.Margin]) -> list[dict]:
    return [row.to_dict() | {"seconds": 0} for row in rows]


@pytest.fixture(autouse=True)
def rows_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polymargin.margins.batch.MOST_ROWS", 1)


@pytest.fixture(scope="module")
def whole() -> list[dict]:
    return plain(batch(None))


@pytest.fixture
def file(tmp_path: Path, whole: list[dict]) -> Path:
    assert plain(batch(tmp_path / "run.jsonl")) == whole
    return tmp_path / "run.jsonl"


def interrupted(file: Path, after: int) -> None:
    left = iter(range(after - 1))

    def stop(row: int, _: pm.Margin) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        batch(file, progress=stop)


def test_an_interrupted_batch_continues(tmp_path: Path, whole: list[dict]) -> None:
    file = tmp_path / "run.jsonl"
    interrupted(file, 3)
    assert len(file.read_text().splitlines()) == 4  # a header and three rows
    assert plain(batch(file)) == whole
    assert len([json.loads(line) for line in file.read_text().splitlines()]) == 6  # every line is JSON
    with pytest.raises(InputError, match="belongs to other points"):
        batch(file, POINTS + 1)
    with pytest.raises(InputError, match="belongs to other options"):
        batch(file, seed=5)
    other = pm.Verifier(NETWORK, settings=pm.Settings(tracker=TrackerSettings(contraction=0.02)))
    with pytest.raises(InputError, match="belongs to other options"):
        other.margin(POINTS, proof=False, checkpoint=file)
    with pytest.raises(InputError, match="belongs to another model and other points"):
        pm.margin(random_network([3, 4, 2], 3, seed=4), np.zeros((5, 3)), proof=False, checkpoint=file)


def test_the_same_numbers_in_another_shape_are_other_points(tmp_path: Path) -> None:
    checkpoint.Checkpoint.open(tmp_path / "run", "a model", np.zeros((4, 1)), {})
    with pytest.raises(InputError, match="other points"):
        checkpoint.Checkpoint.open(tmp_path / "run", "a model", np.zeros((2, 2)), {})


def test_nothing_is_ever_overwritten(file: Path, whole: list[dict]) -> None:
    """What kill -9 can destroy is what a reopened file is rewritten with: every old byte stays where it was."""
    content = file.read_bytes()
    for length in (len(content), len(content) - 5, content.index(b"\n") + 1, content.index(b"\n") + 40, 30, 0):
        file.write_bytes(content[:length])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DamageWarning)
            assert plain(batch(file)) == whole
        assert file.read_bytes()[:length] == content[:length]


def test_a_cut_anywhere_loses_at_most_what_was_cut(file: Path, whole: list[dict]) -> None:
    content = file.read_bytes()
    for length in np.linspace(0, len(content), 40).astype(int).tolist():
        file.write_bytes(content[:length])
        torn = length > content.index(b"\n") + 1 and content[length - 1 : length] != b"\n"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert plain(batch(file)) == whole
        assert [str(entry.message).partition(": ")[2] for entry in caught] == torn * [
            "1 damaged line dropped; the rows are computed again"
        ]


def test_no_flip_changes_a_row(file: Path, whole: list[dict]) -> None:
    content = file.read_bytes()
    generator = np.random.default_rng(0)
    for place in generator.integers(0, len(content), 150).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(generator.integers(8))
        file.write_bytes(damaged)
        with pytest.warns(DamageWarning, match="damaged line"):
            assert plain(batch(file)) == whole


def test_a_damaged_header_costs_no_rows(file: Path, whole: list[dict], monkeypatch: pytest.MonkeyPatch) -> None:
    content = file.read_bytes()
    file.write_bytes(b"#" + content[1:])
    monkeypatch.setattr("polymargin.margins.batch._together", None)  # no row is computed
    with pytest.warns(DamageWarning, match="1 damaged line dropped"):
        assert plain(batch(file)) == whole
    file.write_bytes(b"#" + content[1 : content.index(b"\n") + 1])
    with pytest.raises(InputError, match="its first line is damaged and it holds no rows"):
        batch(file)


def test_a_row_of_another_run_is_not_taken(file: Path, whole: list[dict], tmp_path: Path) -> None:
    other = tmp_path / "other"
    batch(other, POINTS + 1)
    lines = file.read_bytes().splitlines(keepends=True)
    lines[2] = other.read_bytes().splitlines(keepends=True)[2]
    file.write_bytes(b"".join(lines))
    with pytest.warns(DamageWarning, match="1 damaged line"):
        assert plain(batch(file)) == whole


@pytest.mark.parametrize(
    "entry",
    [
        [],
        3,
        {},
        {"row": 0},
        {"row": 0, "margin": 3},
        {"row": "0", "margin": {}},
        {"row": 99},
        {"f8": 3},
        {"f8": "AAAA"},
    ],
)
def test_rows_of_another_form_with_a_right_sum(file: Path, whole: list[dict], entry: object) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    lines[1] = checkpoint._line(lines[0], entry)
    file.write_bytes(b"".join(lines))
    with pytest.warns(DamageWarning, match="1 damaged line"):
        assert plain(batch(file)) == whole


def test_the_header_is_on_the_disk_before_the_first_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda _: synced.append((tmp_path / "run").read_bytes()))
    batch(tmp_path / "run")
    (header,) = synced
    assert header.count(b"\n") == 1
    assert header.endswith(b"\n")


def test_pipes_devices_and_folders_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", tmp_path, Path("/dev/full"), Path("/dev/zero")):
        with pytest.raises(InputError, match="not a regular file"):
            batch(place)
    for place in (tmp_path / "no" / "folder", tmp_path / "pipe" / "below"):
        with pytest.raises(InputError, match=r"the checkpoint cannot be used \(.*\); expected a file in a folder"):
            batch(place)
    for name in ("", "a\0b", 3):
        with pytest.raises(InputError, match=r"expected a file|not a name"):
            batch(name)


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    for content in (b"x" * 100, b"\n", b"{}\n", b'{"sum": "', NETWORK_FILE):
        (tmp_path / "mine").write_bytes(content)
        if not content.startswith(b'{"sum"'):  # that is how every header begins: a cut one
            with pytest.raises(InputError, match="not a checkpoint"):
                batch(tmp_path / "mine")
            assert (tmp_path / "mine").read_bytes() == content


NETWORK_FILE = b"PK\x03\x04" + bytes(range(256)) * 4


def test_a_file_that_vanishes_is_not_started_without_a_header(tmp_path: Path) -> None:
    file = tmp_path / "run"
    with pytest.raises(InputError, match="cannot be used"):
        batch(file, progress=lambda *_: file.unlink(missing_ok=True))
    assert not file.exists()


def test_one_point_has_a_checkpoint_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = pm.margin(NETWORK, POINTS[0], proof=False, checkpoint=tmp_path / "one")
    monkeypatch.setattr("polymargin.margins.network_margins.NetworkMargins.ordinary", None)
    monkeypatch.setattr("polymargin.margins.network_margins.NetworkMargins.margin_at", None)
    again = pm.margin(NETWORK, POINTS[0], proof=False, checkpoint=tmp_path / "one")
    assert again.to_dict() == first.to_dict()


def test_long_vectors_are_short_and_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten classes of 400 inputs: doubles in base64, a point for each rival."""
    wide = random_network([400, 5, 10], 2, seed=1)
    points = np.random.default_rng(1).normal(size=(3, 400))
    known = pm.margin(wide, points, proof=False, checkpoint=tmp_path / "run")
    assert (tmp_path / "run").stat().st_size < 3 * (10 * 400 * 11 + 5_000)
    monkeypatch.setattr("polymargin.margins.batch._together", None)  # no row is computed
    again = pm.margin(wide, points, proof=False, checkpoint=tmp_path / "run")
    assert [row.to_dict() for row in again] == [row.to_dict() for row in known]
    with pytest.raises(InputError, match="belongs to other options"):
        pm.margin(wide, points, checkpoint=tmp_path / "run")


def test_failed_rows_are_tried_again(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    points = np.array([[math.nan, 0.0], POINTS[0]])
    for _ in range(2):
        assert [row.standing for row in batch(file, points)] == [Standing.FAILED, Standing.NUMERICAL]
        assert len(file.read_text().splitlines()) == 2, "a header and the row that has an answer"


def test_another_limit_is_another_run(tmp_path: Path) -> None:
    """Beyond the limit there are bounds instead of an answer: such rows must not turn up under another limit."""
    few = pm.Verifier(NETWORK, settings=pm.Settings(limit=2))
    few.margin(POINTS[:1], proof=False, checkpoint=tmp_path / "run")
    with pytest.raises(pm.InputError, match="other"):
        batch(tmp_path / "run", POINTS[:1])
