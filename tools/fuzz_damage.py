"""Random damage to files, for fuzz_files.py: bytes and blocks, and the structure inside archives, ONNX files, JSON and text."""

from __future__ import annotations

import copy
import io
import json
import random
import warnings
import zipfile
from pathlib import Path
from typing import Any

POWERS = (0, 1, 2, 7, 127, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 10**6, 10**9)
NUMBERS = (*POWERS, -1, -(2**31), -(2**63))
WORDS = (
    *(
        "(",
        ")",
        "((((",
        "))))",
        "(* X_0 X_0)",
        "(or (and))",
        "(assert",
        "[1,1]",
        "[-1]",
        "[999999999]",
        "X_0",
        "Y[0,0]",
    ),
    *("1e999", "-1e-999", "nan", "inf", "0.0", "99999999999999999999", "1" * 500, "", " ", "\0", "é", ";", ",", '"'),
)
OPERATORS = (
    *(
        "Relu",
        "Pow",
        "Mul",
        "Div",
        "Sub",
        "Sum",
        "Reshape",
        "Transpose",
        "Gather",
        "Split",
        "Expand",
        "ConstantOfShape",
    ),
    *("Conv", "ReduceSum", "Shape", "Dropout", "Cast", "If", "Loop", "Pad", "Einsum", "MatMul"),
)


def damaged(kind: str, files: list[Path], chance: random.Random) -> tuple[bytes, str]:
    """The content of a changed file and the name of the file it came from."""
    source = chance.choice(files)
    content = source.read_bytes()
    inner = chance.random() < 0.7
    if kind == "onnx" and inner:
        content = _damaged_onnx(content, chance)
    elif source.suffix in (".npz", ".pt", ".skops") and inner:
        content = _damaged_archive(content, chance)
    elif source.suffix == ".safetensors" and inner:
        length = int.from_bytes(content[:8], "little")
        header = _damaged_json(content[8 : 8 + length], chance)
        content = len(header).to_bytes(8, "little") + header + content[8 + length :]
    elif source.suffix == ".json" and inner:
        content = _damaged_json(content, chance)
    elif source.suffix in (".vnnlib", ".csv") and inner:
        content = _damaged_text(content, chance)
    if not inner or chance.random() < 0.2:
        other = chance.choice(files).read_bytes()
        for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
            content = _damaged_bytes(content, other, chance)
    return content, source.name


def _damaged_bytes(content: bytes, other: bytes, chance: random.Random) -> bytes:
    data = bytearray(content)
    start, length = chance.randrange(len(data) + 1), min(2 ** chance.randrange(0, 12), len(data))
    match chance.randrange(8):
        case 0:
            del data[start:]
        case 1:
            del data[start : start + length]
        case 2:
            data[start:start] = data[start : start + length] * chance.choice((1, 2, 50))
        case 3:
            data[start : start + length] = chance.randbytes(min(length, 64))
        case 4:
            place = chance.randrange(len(other) + 1)
            data[start:start] = other[place : place + length]
        case 5:
            size = chance.choice((1, 2, 4, 8))
            number = chance.choice(NUMBERS) % 2 ** (8 * size)
            data[start : start + size] = number.to_bytes(size, chance.choice(("little", "big")))
        case _:
            for _ in range(chance.choice((1, 1, 4))):
                if data:
                    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data[: 1 << 20])


def _damaged_text(content: bytes, chance: random.Random) -> bytes:
    pieces = content.decode(errors="replace").replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split(" ")
    for _ in range(chance.choice((1, 1, 2, 5))):
        place = chance.randrange(len(pieces))
        match chance.randrange(5):
            case 0:
                del pieces[place]
            case 1:
                pieces[place] = chance.choice(WORDS)
            case 2:
                pieces[place:place] = [chance.choice(pieces)] * chance.choice((1, 3, 300))
            case 3:
                pieces[place] = str(chance.choice(NUMBERS)) + chance.choice(("", ".5", "e7", "e-400"))
            case _:
                other = chance.randrange(len(pieces))
                pieces[place], pieces[other] = pieces[other], pieces[place]
        pieces = pieces or [""]
    return " ".join(pieces)[: 1 << 20].encode()


def _damaged_archive(content: bytes, chance: random.Random) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    for _ in range(chance.choice((1, 1, 2, 4))):
        place = chance.randrange(len(entries))
        name, data = entries[place]
        match chance.randrange(6):
            case 0:
                del entries[place]
            case 1:
                entries.append((chance.choice(entries)[0], data))
            case 2:
                entries[place] = (name.replace("weight", chance.choice(("bias", "activation", "weight_9"))), data)
            case 3 if name.endswith(".json"):
                entries[place] = (name, _damaged_json(data, chance))
            case 4 if data[:6] == b"\x93NUMPY":
                shape = ", ".join(str(chance.choice(NUMBERS)) for _ in range(chance.randrange(4)))
                kind = chance.choice(("<f8", "<f4", "<i8", "|O", "<U9", "<c16", "|V999999", ">f8", "<M8[s]"))
                header = (
                    f"{{'descr': '{kind}', 'fortran_order': {chance.choice((True, False))}, 'shape': ({shape},), }}\n"
                )
                entries[place] = (name, data[:8] + len(header).to_bytes(2, "little") + header.encode() + data[128:])
            case _:
                entries[place] = (name, _damaged_bytes(data, data, chance))
        if not entries:
            break
    result = io.BytesIO()
    method = chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with warnings.catch_warnings(), zipfile.ZipFile(result, "w", method) as archive:
        warnings.simplefilter("ignore")  # names that come twice are meant
        for name, data in entries:
            archive.writestr(name, data)
    return result.getvalue()


def _damaged_json(content: bytes, chance: random.Random) -> bytes:
    try:
        document = json.loads(content)
    except ValueError:
        return content
    for _ in range(chance.choice((1, 1, 2, 4))):
        places = _places(document)
        if not places:
            break
        container, key = chance.choice(places)
        match chance.randrange(5):
            case 0:
                del container[key]
            case 1:
                container[key] = copy.deepcopy(
                    chance.choice((None, True, [], {}, "", "0x1p0", "inf", [[]], 1e300, *NUMBERS))
                )
            case 2:
                container[key] = copy.deepcopy(chance.choice(chance.choice(places)[:1]))
            case 3 if isinstance(container, list):
                container[key:key] = [copy.deepcopy(container[key])] * chance.choice((1, 2, 40))
            case _:
                if isinstance(container[key], str):
                    container[key] = container[key][: chance.randrange(8)] + chance.choice(WORDS)
                else:
                    container[key] = chance.choice(NUMBERS)
        if len(json.dumps(document)) > 1 << 18:
            break
    return json.dumps(document).encode()


def _places(node: Any, depth: int = 0) -> list[tuple[Any, Any]]:
    keys = list(node.keys()) if isinstance(node, dict) else list(range(len(node))) if isinstance(node, list) else []
    found = [(node, key) for key in keys]
    return found + [place for key in keys if depth < 8 for place in _places(node[key], depth + 1)]


def _damaged_onnx(content: bytes, chance: random.Random) -> bytes:
    import onnx

    model = onnx.ModelProto.FromString(content)
    graph = model.graph
    names = [name for node in graph.node for name in (*node.input, *node.output)]
    for _ in range(chance.choice((1, 1, 2, 4))):
        node, tensor = chance.choice(graph.node), chance.choice(graph.initializer)
        match chance.randrange(11):
            case 0:
                graph.node.remove(node)
            case 1:
                graph.node.insert(chance.randrange(len(graph.node) + 1), copy.deepcopy(node))
            case 2 if node.input:
                node.input[chance.randrange(len(node.input))] = chance.choice((*names, "", "nowhere"))
            case 3:
                node.op_type = chance.choice(OPERATORS)
            case 4:
                del node.attribute[:]
            case 5 if node.attribute:
                entry = chance.choice(node.attribute)
                entry.i, entry.f = chance.choice(NUMBERS), float(chance.choice(NUMBERS))
                if entry.ints:
                    entry.ints[chance.randrange(len(entry.ints))] = chance.choice(NUMBERS)
            case 6 if tensor.dims:
                tensor.dims[chance.randrange(len(tensor.dims))] = chance.choice(NUMBERS)
            case 7:
                tensor.raw_data = _damaged_bytes(tensor.raw_data, tensor.raw_data, chance)
            case 8:
                tensor.data_type = chance.randrange(0, 30)
            case 9:
                dims = chance.choice((*graph.input, *graph.output)).type.tensor_type.shape.dim
                if dims:
                    dims[chance.randrange(len(dims))].dim_value = chance.choice(NUMBERS)
            case _:
                tensor.data_location = 1
                entry = tensor.external_data.add()
                entry.key, entry.value = "location", chance.choice(("../secret", "/etc/passwd", "square.npz", ".", ""))
        if not graph.node:
            break
    return bytes(model.SerializeToString())
