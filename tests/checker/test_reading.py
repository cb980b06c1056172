"""Model files and certificates are read to the letter, and what is wrong with one is said in words that fit."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import certificate, write

import polymargin as pm
from polymargin_checker import check, npy
from polymargin_checker.document import integer, items, read_documents
from polymargin_checker.dyadics import number
from polymargin_checker.npy import read_entries
from polymargin_checker.refusal import Refused, Unusable
from polymargin_checker.work import FLAT, PER_NUMBER, SHORTEST, limited_work, spend

NET = pm.PolynomialNetwork([([[3.0, 4.0], [0.0, 0.0]], [5.0, 0.0])])


def entry(value: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(value), allow_pickle=False)
    return stream.getvalue()


def test_constants_of_javascript_are_no_numbers(tmp_path: Path) -> None:
    rivals = [{"rival": 1, "lower": "0x1p0", "proof": {"kind": "hyperplane"}}]
    files = write(tmp_path, NET, certificate(NET, [0.0, 0.0], 0, {"kind": "robust", "radius": "0x1p0"}, rivals, None))
    assert check(*files).accepted
    for word in ("NaN", "Infinity", "-Infinity"):
        files[1].write_text(files[1].read_text().replace('"upper": null', f'"upper": {word}'))
        assert f"not valid JSON ({word} is not a JSON number)" in check(*files).reason
        files[1].write_text(files[1].read_text().replace(f'"upper": {word}', '"upper": null'))


def test_what_is_wrong_with_a_document(tmp_path: Path) -> None:
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    with pytest.raises(Refused, match="the certificate is nested too deeply"):
        read_documents(deep)
    for path, reason in (
        (tmp_path, "no such file"),
        (tmp_path / "none", "no such file"),
        ("a\0b", "null|no such file"),
    ):
        with pytest.raises(Unusable, match=reason):
            read_documents(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes in the file system")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    holder = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)  # so that nobody who opens it would wait
    try:
        os.write(holder, b"[]")
        with pytest.raises(Unusable, match="no such file"):
            read_entries(pipe)
        with pytest.raises(Unusable, match="no such file"):
            read_documents(pipe)
    finally:
        os.close(holder)


def test_files_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    NET.save(tmp_path / "model.npz")

    def refuse(*arguments: Any, **options: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(Unusable, match=r"model.npz: cannot read the file \(Permission denied\)"):
        read_entries(tmp_path / "model.npz")
    with pytest.raises(Unusable, match="cannot read the file"):
        read_documents(tmp_path / "model.npz")


def test_an_archive_with_a_damaged_entry(tmp_path: Path) -> None:
    NET.save(tmp_path / "model.npz")
    content = bytearray((tmp_path / "model.npz").read_bytes())
    content[content.index(b"NUMPY") + 80] ^= 1
    (tmp_path / "model.npz").write_bytes(content)
    with pytest.raises(Unusable, match=r"not a valid \.npz file"):
        read_entries(tmp_path / "model.npz")


def test_every_number_that_is_read_allows_more_work() -> None:
    unit = SHORTEST * SHORTEST.bit_length() ** 2
    with limited_work():
        spend(FLAT // unit, 1, "all of it")
        number(["0x1p0", "0x1p-80"], "one number")
        spend(PER_NUMBER // unit, 1, "what it allows")
        with pytest.raises(Refused):
            spend(1, 1, "one more")
    with limited_work(exact=True):
        spend(64 * FLAT // unit, 1, "all of it")
        number("0x1p0", "one number")
        spend(64 * PER_NUMBER // unit, 1, "what it allows")
        with pytest.raises(Refused):
            spend(1, 1, "one more")


def test_sums_of_other_things() -> None:
    for value in (["0x1p0", 1.5], [1.5, "0x1p0"]):
        with pytest.raises(Refused, match="must be hexadecimal floats in quotes"):
            number(value, "x")


def test_lengths_and_integers() -> None:
    assert items([1, 2], "x", 2) == [1, 2]
    assert items([], "x") == []
    for value in ("ab", {"a": 1, "b": 2}, None, 2):
        with pytest.raises(Refused, match="x: expected a list"):
            items(value, "x", 2)
    for value in ([1], [1, 2, 3]):
        with pytest.raises(Refused, match="x: expected 2 entries"):
            items(value, "x", 2)
    for value in (True, 1.0, -1, 4, None, "1"):
        with pytest.raises(Refused, match="from 0 to 3"):
            integer(value, "x", 0, 3)
    assert [integer(value, "x", 0, 3) for value in (0, 3)] == [0, 3]


def test_the_list_of_entries_is_bounded_by_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    NET.save(tmp_path / "model.npz")
    with zipfile.ZipFile(tmp_path / "model.npz") as archive:
        size = (tmp_path / "model.npz").stat().st_size - archive.start_dir - 22
    monkeypatch.setattr(npy, "_LARGEST_DIRECTORY", size)
    assert set(read_entries(tmp_path / "model.npz")) == {"header", "readout/bias", "readout/0"}
    monkeypatch.setattr(npy, "_LARGEST_DIRECTORY", size - 1)
    with pytest.raises(Unusable, match=f"a list of entries of {size} bytes; expected at most {size - 1}"):
        read_entries(tmp_path / "model.npz")
    (tmp_path / "short.npz").write_bytes(b"PK")
    with pytest.raises(Unusable, match="no plain end of a zip archive"):
        read_entries(tmp_path / "short.npz")
    with zipfile.ZipFile(tmp_path / "empty.npz", "w"):
        pass
    assert read_entries(tmp_path / "empty.npz") == {}


def archive_of(path: Path, entries: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path / "entries.npz", "w", method) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return path / "entries.npz"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_entries_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = entry(np.ones(3))
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        assert read_entries(archive_of(tmp_path, [("a.npy", one), ("b", one)], method)) == {"a": one, "b": one}
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with pytest.raises(Unusable, match=r"'a.npy' is compressed in an unknown way"):
            read_entries(archive_of(tmp_path, [("a.npy", one)], method))
    for names in (("a.npy", "a.npy"), ("a", "a.npy")):
        with pytest.raises(Unusable, match="two entries are named 'a'"):
            read_entries(archive_of(tmp_path, [(name, one) for name in names]))
    two = archive_of(tmp_path, [("a.npy", one), ("b.npy", one)])
    monkeypatch.setattr(npy, "LARGEST_FILE", 2 * len(one))
    assert len(read_entries(two)) == 2
    monkeypatch.setattr(npy, "LARGEST_FILE", 2 * len(one) - 1)
    with pytest.raises(Unusable, match="bytes unpacked"):
        read_entries(two)


def test_an_entry_that_does_not_begin_as_one(tmp_path: Path) -> None:
    one = entry(np.ones(3))
    for version in ((1, 0), (2, 0), (3, 0)):
        stream = io.BytesIO()
        np.lib.format.write_array(stream, np.array([1.0, 2.5]), version=version)
        assert npy.array(stream.getvalue(), "x", "<f8", 1).tolist() == [1.0, 2.5]
    for wrong in (
        b"\x93NUMPX" + one[6:],
        b"",
        one[:5],
        one[:11],
        b"\x93NUMPY\x04" + one[7:],
        b"\x93NUMPY\x00" + one[7:],
    ):
        with pytest.raises(Unusable, match=r"x: (not an .npy entry|unknown .npy version|an .npy header)"):
            npy.array(wrong, "x", "<f8", 1)


def test_numbers_of_one_type() -> None:
    table = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for order in ("C", "F"):
        found = npy.array(entry(np.array(table, order=order)), "x", "<f8", 2)
        assert np.array_equal(found, table)
        assert found.flags.c_contiguous
    for value, axes in ((table, 1), (table[0], 2), (table.astype("<f4"), 2), (table.astype(">f8"), 2), (table + 0j, 2)):
        with pytest.raises(Unusable, match="expected '<f8' with"):
            npy.array(entry(value), "x", "<f8", axes)
    for content in (entry(np.ones(3)) + bytes(8), entry(np.ones(3))[:-8]):
        with pytest.raises(Unusable, match="do not fit the shape"):
            npy.array(content, "x", "<f8", 1)
    fortran = entry(np.ones(3)).replace(b"'fortran_order': False", b"'fortran_order': True ")
    with pytest.raises(Unusable, match="not understood"):
        npy.array(fortran, "x", "<f8", 1)
