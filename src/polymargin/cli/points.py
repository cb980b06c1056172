"""Points from a file: .npy, .npz (an array named `points`, or the only one) or .csv (numbers, optional header)."""

from __future__ import annotations

import csv
import io
import math
import re
import tokenize
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import real_array
from polymargin.errors import InputError
from polymargin.networks.readers.archives import LARGEST_FILE
from polymargin.networks.readers.npz import read_arrays

FILES = (".npy", ".npz", ".csv")
# How every .npy file begins.
_NPY = b"\x93NUMPY"
# What csv and NumPy's reader of headers raise for damaged files.
_DAMAGE = (
    TypeError,
    ValueError,
    EOFError,
    OSError,
    MemoryError,
    SyntaxError,
    RecursionError,
    csv.Error,
    tokenize.TokenError,
)


def read_points(path: Path) -> NDArray[np.float64]:
    """Return the points as an array (m, n), images row by row. Rows may hold NaN: margins report those row by row."""
    array = np.atleast_2d(read_array(path, "points"))
    if 0 in array.shape:
        raise InputError(f"{path}: points of shape {array.shape}; expected rows of numbers, or images")
    return array.reshape(len(array), -1)


def read_data(path: Path) -> NDArray[np.float64]:
    """Return the same where images keep their shape: (m, n), (m, h, w), (m, h, w, 3) or (m, 3, h, w)."""
    array = np.atleast_2d(read_array(path, "points"))
    if array.ndim > 4 or 0 in array.shape:
        raise InputError(f"{path}: points of shape {array.shape}; expected rows of numbers, or images")
    return array


def read_labels_of(data: Path | None, labels: Path | None) -> NDArray[Any] | None:
    """Return the right classes, one per row, numbers or words: those of their own file, or `labels` of the points."""
    if labels is None and not (
        data is not None and data.suffix == ".npz" and data.is_file() and "labels" in read_arrays(data)
    ):
        return None
    array = read_array(labels or data or Path(), "labels", words=True)
    return array.ravel() if 1 in array.shape else array


def read_array(path: Path, name: str, *, words: bool = False) -> NDArray[Any]:
    """Return the array of this name, of whatever shape: real numbers, or `words` where these may stand for them."""
    if path.is_dir():
        raise InputError(f"{path}: a folder; expected a .npy, .npz or .csv file of {name}")
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    readers = {".npy": _from_npy, ".npz": _from_npz, ".csv": _from_csv}
    if path.suffix not in FILES:
        raise InputError(f"{path}: unknown kind of {name} file {path.suffix!r}; expected .npy, .npz or .csv")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty; expected {name}, one per row")
    if path.stat().st_size > LARGEST_FILE:
        raise InputError(f"{path}: {path.stat().st_size} bytes, more than the {LARGEST_FILE} this reader accepts")
    try:
        found = readers[path.suffix](path, name) if path.suffix != ".csv" else _from_csv(path, name, words)
        is_text = words and np.asarray(found).dtype.kind == "U"
        return np.asarray(found) if is_text else real_array(found, f"{path}: the {name}")
    except _DAMAGE as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot read {name} ({' '.join(str(error).split())[:200]})") from None


def _from_npy(path: Path, name: str) -> Any:
    with path.open("rb") as stream:
        if stream.read(len(_NPY)) != _NPY:  # NumPy takes anything else for a pickle
            raise InputError(f"{path}: not a .npy file; expected an array of {name}, written by numpy.save")
    try:
        return np.array(
            np.load(path, allow_pickle=False, mmap_mode="r")
        )  # mapped first: a false size is refused unread
    except ValueError as error:
        if "Python objects" not in str(error):
            raise
        raise InputError(f"{path}: an array of Python objects; expected an array of real numbers") from None


def _from_npz(path: Path, name: str) -> Any:
    arrays = read_arrays(path)
    if name in arrays:
        return arrays[name]
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    raise InputError(f"{path}: holds {', '.join(sorted(arrays)) or 'nothing'}; expected an array named {name!r}")


def _from_csv(path: Path, name: str, words: bool = False) -> Any:
    rows = [row for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"))) if row]
    if words and len(rows) > 1 and not any(_is_number(entry) for row in rows[1:] for entry in row):
        return [[entry.strip() for entry in row] for row in rows]
    _refuse_other_separators(path, rows)
    if rows and not any(_is_number(entry) for entry in rows[0]):
        rows = rows[1:]
    if not rows:
        raise InputError(f"{path}: no row of numbers; expected {name}, one per row")
    width = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise InputError(f"{path}: row {number} has {len(row)} entries, row 1 has {width}")
        for entry in row:
            if not _is_number(entry):
                raise InputError(
                    f"{path}: row {number} contains {entry!r}, which is not a number; expected numbers alone"
                )
    return [[float(entry) for entry in row] for row in rows]


def _refuse_other_separators(path: Path, rows: list[list[str]]) -> None:
    for number, row in enumerate(rows, start=1):
        for entry in row:
            parts = [part for part in re.split(r"[;\s]+", entry) if part]
            if len(parts) > 1 and all(map(_is_number, parts)):
                raise InputError(f"{path}: row {number} contains {entry!r}; expected numbers separated by commas")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def interval(text: str) -> tuple[float, float]:
    """Return the two numbers of --domain."""
    low, high = numbers(text, "--domain", "two numbers lo,hi such as 0,1", 2)
    return low, high


def parse_window(text: str) -> tuple[float, float, float, float]:
    """Return the four numbers of --window."""
    left, right, bottom, top = numbers(text, "--window", "four numbers left,right,bottom,top such as -3,3,-3,3", 4)
    return left, right, bottom, top


def numbers(text: str, option: str, expected: str, count: int | None = None) -> list[float]:
    """Return numbers separated by commas."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = [math.nan]
    if not all(map(math.isfinite, found)) or count not in (None, len(found)):
        raise InputError(f"{option} {text!r}: expected {expected}")
    return found


def whole_numbers(text: str, option: str, expected: str) -> list[int]:
    """Return whole numbers separated by commas."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{option} {text!r}: expected {expected}") from None


def image_shape(text: str | None) -> tuple[int, ...] | str | None:
    """Return the lengths of --image; None and "none" as they are."""
    if text is None or text == "none":
        return text
    sizes = text.split("x")
    if not all(size.isascii() and size.isdigit() for size in sizes):
        raise InputError(f"--image {text!r}: expected a shape such as 28x28 or 3x32x32, or none")
    return tuple(map(int, sizes))


def check_pictures(files: list[Path] | None) -> list[Path]:
    """Return the files of --plot; refuse what cannot be drawn before the work begins."""
    for file in files or []:
        if file.suffix not in (".png", ".svg"):
            raise InputError(f"--plot {file}: expected a name that ends in .png or .svg")
    return files or []
