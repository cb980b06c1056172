"""Zip archives from strangers: what they say about their size is looked at before anything becomes an object.

`zipfile` makes an object of every entry in the list at the end of an archive before they can be counted; it reads the list
in one piece, so that a file which hands out no longer piece while the archive is opened bounds their number.
"""

from __future__ import annotations

import contextlib
import io
import lzma
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from polymargin.errors import InputError

LARGEST_FILE = 1 << 30
MOST_ENTRIES = 10_000
LARGEST_LIST = 1 << 21
"""Bytes of the list of entries, some two hundred for each that may be there."""
# What zipfile, zlib and NumPy's reader of headers raise for damaged files.
ARCHIVE_DAMAGE = (
    *(ValueError, KeyError, EOFError, TypeError, OverflowError, MemoryError, RuntimeError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError),
)


class _Listing(io.BufferedReader):
    """The file of an archive; while it is `listed` no long piece is read."""

    listed = True

    def read(self, size: int | None = -1, /) -> bytes:
        if self.listed and size is not None and size > LARGEST_LIST:
            raise InputError(
                f"{self.name}: a list of entries of {size} bytes, more than the {LARGEST_LIST} this reader accepts"
            )
        return super().read(size)


@contextlib.contextmanager
def bounded_archive(path: Any) -> Iterator[zipfile.ZipFile]:
    """Open an archive with limited entries and bytes, and no name given twice."""
    with _Listing(io.FileIO(path)) as stream, zipfile.ZipFile(stream) as archive:
        stream.listed = False
        entries = archive.infolist()
        size = sum(entry.file_size for entry in entries)
        if size > LARGEST_FILE or len(entries) > MOST_ENTRIES:
            raise InputError(
                f"{path}: {size} bytes unpacked in {len(entries)} entries, more than the {LARGEST_FILE} bytes or "
                f"{MOST_ENTRIES} entries this reader accepts"
            )
        if len({entry.filename for entry in entries}) < len(entries):
            raise InputError(f"{path}: an entry occurs twice; the file is damaged")
        yield archive
