"""How many parts an ONNX file has, counted on its bytes before they become a message.

protobuf makes an object of every part, so that a file of 2²⁸ bytes may take many times its size. The wire format is a list of
fields: a key (number and kind) and a value, which for nested messages is a length and again such a list. Walking over it needs
no memory, skips weights in one step, and stops at the first part that is too many.
"""

from __future__ import annotations

from typing import Any

from polymargin.errors import InputError
from polymargin.networks.readers.foreign import Foreign

MOST_NODES = 10_000
"""Nodes or initializers of a graph."""
MOST_FIELDS = 50 * MOST_NODES
"""Fields of all messages together; a node has ten or twenty."""
DEEPEST = 100
"""Messages in messages, the limit of protobuf itself."""

_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5


def check_sizes(content: bytes, descriptor: Foreign, path: Any) -> None:
    """Refuse what has too many parts; `descriptor` is the one of ModelProto."""
    counts: dict[str, int] = {"node": 0, "initializer": 0}
    fields = 0
    waiting = [(descriptor, 0, len(content), 1)]
    while waiting:
        message, place, end, depth = waiting.pop()
        while place < end:
            key, place = _varint(content, place, end, path)
            fields += 1
            if fields > MOST_FIELDS:
                raise InputError(f"{path}: more than {MOST_FIELDS} fields in the messages of the file")
            field, kind = message.fields_by_number.get(key >> 3), key & 7
            if kind == _LENGTH:
                length, place = _varint(content, place, end, path)
                if field is not None and field.message_type is not None:
                    if depth == DEEPEST:
                        raise InputError(f"{path}: more than {DEEPEST} messages in one another")
                    if message.name == "GraphProto" and field.name in counts:
                        counts[field.name] += 1
                        if counts[field.name] > MOST_NODES:
                            raise InputError(f"{path}: more than {MOST_NODES} {field.name}s")
                    waiting.append((field.message_type, place, min(place + length, end), depth + 1))
                place += length
            elif kind == _VARINT:
                _, place = _varint(content, place, end, path)
            elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
                place += 8 if kind == _EIGHT_BYTES else 4
            else:
                raise _damaged(path)
        if place > end:
            raise _damaged(path)


def _varint(content: bytes, place: int, end: int, path: Any) -> tuple[int, int]:
    """Return an unsigned integer, seven bits in a byte, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if place >= end:
            break
        byte = content[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
    raise _damaged(path)


def _damaged(path: Any) -> InputError:
    return InputError(f"{path}: not a valid ONNX file (a field goes on after its end, or has no known kind)")
