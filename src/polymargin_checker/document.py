"""Certificate files as data from strangers: a bounded JSON file, and typed access to its parts.

Unknown and repeated keys are refused: a certificate that says something the checker does not read would seem to
prove more than was checked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from polymargin_checker.refusal import Refused, Unusable
from polymargin_checker.words import shown

LARGEST_FILE = 1 << 27
LARGEST_VALUE = 1 << 30
"""Bytes that the parsed file may take; a file of empty lists takes thirty times its own size."""
_BYTES = {b",": 40, b"[": 96, b"{": 320, b'"': 32}
"""Of memory at most for what each character stands for in JSON: an entry, a list, an object, half of a string."""


def read_documents(source: Any) -> list[Any]:
    """Return the JSON values in a file, or in the bytes of one: a single one, or one in each line."""
    content, name = (source, "the certificate") if isinstance(source, bytes) else (_content(source), source)
    if len(content) > LARGEST_FILE:
        raise Refused(f"the certificate has more than {LARGEST_FILE} bytes")
    if len(content) + sum(content.count(mark) * size for mark, size in _BYTES.items()) > LARGEST_VALUE:
        raise Refused(f"the certificate may take more than {LARGEST_VALUE} bytes of memory")
    lines = content.splitlines()
    try:
        return [_value(line) for line in lines if line.strip()] if _is_lines(lines) else [_value(content)]
    except RecursionError:
        raise Refused("the certificate is nested too deeply") from None
    except ValueError as error:
        why = "it is empty" if not content.strip() else str(error)
        raise Unusable(f"{name}: not a certificate, as it is not valid JSON ({why})") from None


def _is_lines(lines: list[bytes]) -> bool:
    """Return whether the first of several lines is a value by itself."""
    if len(lines) < 2:
        return False
    try:
        _value(lines[0])
    except ValueError:
        return False
    return True


def _value(text: bytes) -> Any:
    return json.loads(text.decode("utf-8"), object_pairs_hook=_without_repetition, parse_constant=_no_constant)


def _content(path: Any) -> bytes:
    """Return the bytes of a file, at most one more than the limit, so that its length tells."""
    file = Path(path)
    try:
        if not file.is_file():
            raise Unusable(f"{path}: no such file")
        with file.open("rb") as stream:
            return stream.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise Unusable(f"{path}: cannot read the file ({error})") from None


def fields(value: Any, name: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a JSON object with exactly the expected keys."""
    if not isinstance(value, dict):
        raise Refused(f"{name}: expected an object, got {shown(value)}")
    for key in required:
        if key not in value:
            raise Refused(f"{name}: the key {key!r} is missing")
    if len(value) > len(required):
        for key in value:
            if key not in required and key not in optional:
                raise Refused(f"{name}: unknown key {shown(key)}")
    return value


def items(value: Any, name: str, length: int | None = None) -> list[Any]:
    """Return a JSON array, of the given length."""
    if not isinstance(value, list):
        raise Refused(f"{name}: expected a list, got {shown(value)}")
    if length is not None and len(value) != length:
        raise Refused(f"{name}: expected {length} entries, got {len(value)}")
    return value


def integer(value: Any, name: str, least: int, most: int) -> int:
    """Return a JSON integer from least to most; true and 1.0 are not integers."""
    if type(value) is not int or not least <= value <= most:
        raise Refused(f"{name}: expected an integer from {least} to {most}, got {shown(value)}")
    return value


def kind(value: Any, name: str, known: tuple[str, ...]) -> str:
    """Return the "kind" of a JSON object."""
    if not isinstance(value, dict):
        raise Refused(f"{name}: expected an object, got {shown(value)}")
    word = value.get("kind")
    if not isinstance(word, str) or word not in known:
        raise Refused(f"{name}: unknown kind {shown(word)}; expected one of {', '.join(known)}")
    return word


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise Refused("the certificate is not valid JSON (a key occurs twice in one object)")
    return result


def _no_constant(word: str) -> NoReturn:
    raise Refused(f"the certificate is not valid JSON ({word} is not a JSON number)")
