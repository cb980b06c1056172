"""What is kept of stage 1: a file can cost time, never an answer. Every damage is made to a real file of a real margin."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
from copy import copy
from pathlib import Path

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.continuation import Tracker, TrackerSettings
from polymargin.enumeration import base_solutions
from polymargin.enumeration.cache import Cache, default_directory
from polymargin.errors import InputError
from polymargin.standing import Standing

NETWORK = random_network([2, 4, 2], 3, seed=2)
POINT = np.array([0.1, 0.2])
# Fewer critical points than the bound of its degree: complete by the trace test, not by number.
DEFICIENT = pm.Boundary.from_expression("x**3 + x*y - 1")


def margin(cache: Path) -> pm.Margin:
    """As another process would compute it, with nothing but the files."""
    return pm.Verifier(copy(NETWORK), workers=1, settings=pm.Settings(cache=cache)).margin(POINT, proof=False)


@pytest.fixture
def truth(tmp_path: Path) -> pm.Margin:
    return margin(tmp_path)


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def resummed(head: dict, body: bytes) -> bytes:
    """A file whose checksum is right, whatever it says."""
    rest = json.dumps({key: value for key, value in head.items() if key != "sum"})[1:].encode() + b"\n" + body
    return b'{"sum": "' + hashlib.sha256(rest).hexdigest().encode() + b'", ' + rest


def parts(file: Path) -> tuple[dict, bytes]:
    head, _, body = file.read_bytes().partition(b"\n")
    return json.loads(head), body


def test_stage_one_is_found_again(tmp_path: Path, truth: pm.Margin, monkeypatch: pytest.MonkeyPatch) -> None:
    before = only_file(tmp_path).read_bytes()
    monkeypatch.setattr(
        sys.modules["polymargin.enumeration.base_solutions"], "_solve_generic", None
    )  # not called again
    assert margin(tmp_path).to_dict() | {"seconds": 0} == truth.to_dict() | {"seconds": 0}
    assert only_file(tmp_path).read_bytes() == before


def test_deleted_solutions_are_noticed_although_the_sum_is_right(tmp_path: Path, truth: pm.Margin) -> None:
    head, body = parts(only_file(tmp_path))
    count, columns = head["shapes"]["solutions"]
    for kept in (0, 1, count - 1):
        head["shapes"]["solutions"] = [kept, columns]
        cut = body[: 16 * columns * (kept + 1)]
        only_file(tmp_path).write_bytes(resummed(head, cut))
        again = margin(tmp_path)
        assert (again.radius, again.standing, again.complex_count) == (truth.radius, Standing.NUMERICAL, count)


def test_the_trace_test_is_repeated_on_what_is_read(tmp_path: Path) -> None:
    tracker = Tracker(threads=1)
    base = base_solutions(DEFICIENT, tracker, seed=0, cache=Cache(tmp_path))
    count = len(base.solutions)
    assert DEFICIENT.degree < count < DEFICIENT.critical_bound
    assert base.are_all(0, tracker)
    head, body = parts(only_file(tmp_path))
    columns = head["shapes"]["solutions"][1]
    head["shapes"]["solutions"] = [count - 1, columns]
    only_file(tmp_path).write_bytes(resummed(head, body[: -16 * columns]))
    again = base_solutions(DEFICIENT, tracker, seed=0, cache=Cache(tmp_path))
    assert len(again.solutions) == count


@pytest.mark.parametrize("boundary", [DEFICIENT, pm.Boundary.from_network(NETWORK, 0, 1)], ids=["by trace", "by count"])
def test_an_ed_degree_does_not_believe_the_file(boundary: pm.Boundary, tmp_path: Path) -> None:
    truth = int(pm.ed_degree(boundary, method="numeric", cache=tmp_path))
    head, body = parts(only_file(tmp_path))
    count, columns = head["shapes"]["solutions"]
    for kept in (0, count - 1):
        head["shapes"]["solutions"] = [kept, columns]
        only_file(tmp_path).write_bytes(resummed(head, body[: len(body) - 16 * columns * (count - kept)]))
        assert int(pm.ed_degree(boundary, method="numeric", cache=tmp_path)) == truth > 0


def test_points_that_solve_nothing_or_twice_are_noticed(tmp_path: Path, truth: pm.Margin) -> None:
    head, body = parts(only_file(tmp_path))
    columns = head["shapes"]["solutions"][1]
    numbers = np.frombuffer(body, np.complex128).reshape(-1, columns).copy()
    for change in (
        numbers + 0.5,
        np.where(np.arange(len(numbers))[:, None] == 2, numbers[1], numbers),
        numbers * np.nan,
    ):
        only_file(tmp_path).write_bytes(resummed(head, change.tobytes()))
        assert margin(tmp_path).radius == truth.radius


def test_every_flip_and_every_cut_is_recomputed(tmp_path: Path, truth: pm.Margin) -> None:
    whole = only_file(tmp_path).read_bytes()
    key = parts(only_file(tmp_path))[0]["key"]
    cache, columns = Cache(tmp_path), 3
    assert cache.read(key, 100, columns) is not None
    generator = np.random.default_rng(0)
    for place in generator.integers(0, len(whole), 400):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(generator.integers(8))
        only_file(tmp_path).write_bytes(damaged)
        assert cache.read(key, 100, columns) is None
    for length in generator.integers(0, len(whole), 100):
        only_file(tmp_path).write_bytes(whole[:length])
        assert cache.read(key, 100, columns) is None
    assert margin(tmp_path).radius == truth.radius
    assert only_file(tmp_path).read_bytes() == whole


@pytest.mark.parametrize("head", [{}, [], 3, {"key": 1}, {"key": "?", "shapes": 3}, {"key": "?", "shapes": {"a": []}}])
def test_foreign_heads_with_a_right_sum(tmp_path: Path, truth: pm.Margin, head: object) -> None:
    key = parts(only_file(tmp_path))[0]["key"]
    text = json.dumps(head).replace('"?"', json.dumps(key))
    rest = text[1:].encode() + b"\n"
    only_file(tmp_path).write_bytes(b'{"sum": "' + hashlib.sha256(rest).hexdigest().encode() + b'", ' + rest)
    assert margin(tmp_path).radius == truth.radius


def test_a_pipe_or_a_folder_in_place_of_the_file(tmp_path: Path, truth: pm.Margin) -> None:
    file = only_file(tmp_path)
    file.unlink()
    os.mkfifo(file)
    assert margin(tmp_path).radius == truth.radius
    file.unlink()
    file.mkdir()
    assert margin(tmp_path).radius == truth.radius
    assert not list(tmp_path.glob("*.part"))


def test_sizes_are_judged_before_anything_is_read(tmp_path: Path, truth: pm.Margin) -> None:
    """A sparse file of a terabyte, and a head that promises as much."""
    head, body = parts(only_file(tmp_path))
    with only_file(tmp_path).open("r+b") as stream:
        stream.truncate(1 << 40)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert margin(tmp_path).radius == truth.radius
    head["shapes"]["solutions"] = [1 << 36, head["shapes"]["solutions"][1]]
    only_file(tmp_path).write_bytes(resummed(head, body))
    assert margin(tmp_path).radius == truth.radius
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes


def test_places_that_cannot_be_used_cost_nothing_but_time(tmp_path: Path, truth: pm.Margin) -> None:
    (tmp_path / "file").write_text("here is no folder")
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nothing/here"), Path("a\0b")):
        assert margin(place).radius == truth.radius


def test_nothing_unjudged_is_kept(tmp_path: Path, truth: pm.Margin) -> None:
    folder = tmp_path / "new"
    hurried = pm.Verifier(
        copy(NETWORK), settings=pm.Settings(cache=folder, tracker=TrackerSettings(most_steps=3))
    ).margin(POINT, proof=False)
    assert hurried.standing is not Standing.NUMERICAL
    assert not list(folder.glob("*"))
    assert margin(folder).radius == truth.radius


def test_the_settings_are_part_of_the_key(tmp_path: Path, truth: pm.Margin) -> None:
    pm.Verifier(copy(NETWORK), settings=pm.Settings(cache=tmp_path, tracker=TrackerSettings(contraction=0.02))).margin(
        POINT, proof=False
    )
    assert len(list(tmp_path.iterdir())) == 2
    pm.Verifier(copy(NETWORK), seed=1, settings=pm.Settings(cache=tmp_path)).margin(POINT, proof=False)
    assert len(list(tmp_path.iterdir())) == 3


def test_home_is_expanded_and_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    margin("~/kept")
    assert len(list((tmp_path / "kept").iterdir())) == 1
    monkeypatch.setenv("POLYMARGIN_CACHE", "~/elsewhere")
    assert default_directory() == tmp_path / "elsewhere"
    for nothing in ("", None, 3, "~no such user/folder"):
        with pytest.raises(InputError, match="cache="):
            margin(nothing)


def test_parts_of_killed_writers_are_removed(tmp_path: Path) -> None:
    """A process is killed between writing aside and moving into place."""
    script = (
        "import os, signal\n"
        "from polymargin.enumeration.cache import Cache\n"
        "from pathlib import Path\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"Cache(Path({str(tmp_path)!r})).write('key', {{}})\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert len(list(tmp_path.glob("*.part"))) == 1
    margin(tmp_path)
    assert not list(tmp_path.glob("*.part"))


def test_a_failed_move_leaves_nothing(tmp_path: Path, truth: pm.Margin, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", fail)
    assert margin(tmp_path / "new").radius == truth.radius
    assert not list((tmp_path / "new").iterdir())
