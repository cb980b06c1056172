"""IDX files: what is well formed is read, and everything else is refused in one sentence. No torch needed."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymargin.errors import InputError
from polymargin.learning import read_idx


def idx(kind: int, shape: tuple[int, ...], data: bytes) -> bytes:
    return bytes([0, 0, kind, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + data


IMAGES = idx(0x08, (3, 2, 2), bytes(range(12)))


@pytest.mark.parametrize("packed", [False, True])
def test_images_are_read(tmp_path: Path, packed: bool) -> None:
    file = tmp_path / "images"
    file.write_bytes(gzip.compress(IMAGES) if packed else IMAGES)
    assert np.array_equal(read_idx(file), np.arange(12, dtype=np.uint8).reshape(3, 2, 2))
    assert np.array_equal(read_idx(file, rows=1), [[[0, 1], [2, 3]]])
    assert read_idx(file, rows=99).shape == (3, 2, 2)
    assert read_idx(file, rows=0).shape == (0, 2, 2)


@pytest.mark.parametrize(("kind", "name"), [(0x09, ">i1"), (0x0B, ">i2"), (0x0C, ">i4"), (0x0D, ">f4"), (0x0E, ">f8")])
def test_every_type_of_entry(tmp_path: Path, kind: int, name: str) -> None:
    values = np.array([-3, 0, 5], dtype=name)
    file = tmp_path / "values"
    file.write_bytes(idx(kind, (3,), values.tobytes()))
    found = read_idx(file)
    assert found.dtype == values.dtype.newbyteorder("=")
    assert found.tolist() == [-3, 0, 5]


HOSTILE = {
    "empty": (b"", "not an IDX file"),
    "other magic": (b"\x89PNG\r\n", "not an IDX file"),
    "unknown type": (idx(0x0A, (1,), b"\0"), "not an IDX file"),
    "no axes": (idx(0x08, (), b""), "0 axes"),
    "many axes": (bytes([0, 0, 8, 255]) + b"\0" * 1020, "255 axes"),
    "short header": (IMAGES[:9], "header ends early"),
    "short data": (IMAGES[:-1], "11 bytes of data where the header announces 12"),
    "long data": (IMAGES + b"\0", "more data than"),
    "announces too much": (idx(0x0E, (1 << 31, 1 << 31), b""), "more than the"),
    "huge times zero": (idx(0x08, (0, 1 << 31, 1 << 31, 1 << 31), b""), "more than the"),
    "broken gzip": (gzip.compress(IMAGES)[:-12], "damaged gzip"),
    "gzip header only": (b"\x1f\x8b", "damaged gzip"),
    "gzip checksum": (gzip.compress(IMAGES)[:-8] + b"\1" * 8, "damaged gzip"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_defects_are_named(tmp_path: Path, name: str) -> None:
    content, message = HOSTILE[name]
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_idx(file)


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """Far more data than announced: the reader stops one byte after what the header says."""
    file = tmp_path / "bomb"
    file.write_bytes(gzip.compress(IMAGES + b"\0" * (1 << 26)))
    with pytest.raises(InputError, match="more data than"):
        read_idx(file)


def test_missing_files_and_bad_counts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_idx(tmp_path / "nothing")
    with pytest.raises(InputError, match="cannot read"):
        read_idx(tmp_path)
    with pytest.raises(InputError, match="rows -1"):
        read_idx(tmp_path / "nothing", rows=-1)


@given(content=st.binary(max_size=64), packed=st.booleans())
def test_noise_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes, packed: bool) -> None:
    file = tmp_path_factory.getbasetemp() / "noise"
    for start in (b"", b"\0\0\x08\x01", b"\0\0\x0e\x03"):
        file.write_bytes(gzip.compress(start + content) if packed else start + content)
        try:
            read_idx(file)
        except InputError:
            continue
