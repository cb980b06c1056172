"""One file format for all networks, version 2: named arrays in an .npz archive (docs/files.md).

    header            uint8: a JSON object in UTF-8 that says what the stages are
    stage1/left/bias  (h,)            stage1/left/0     dense operator (h, values of source 0)
    stage1/right/…                    stage1/left/2/data, /indices, /indptr    the same as compressed sparse rows
    stage2/form/…     and stage2/coefficients (d + 1,), or stage2/breakpoints (m,) and stage2/pieces (m + 1, d + 1)
    readout/bias, readout/3, …

Stages are numbered from 1, as sources are. The header decides which arrays there are; a file with any other is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.errors import InputError
from polymargin.networks.forms import Forms, Operator
from polymargin.networks.recurrences import basis_named
from polymargin.networks.stages import Piecewise, Polynomial, Product, Stage

Json: TypeAlias = dict[str, Any]
AnyArray: TypeAlias = NDArray[Any]
Arrays: TypeAlias = Mapping[str, AnyArray]

NAME, VERSION = "polymargin network", 2
HEADER = "header"
LARGEST_HEADER = 1 << 20
MOST_STAGES = 1_000
MOST_INPUTS = 1 << 25
KINDS: dict[type, tuple[str, tuple[str, ...]]] = {
    Product: ("product", ("left", "right")),
    Polynomial: ("polynomial", ("form",)),
    Piecewise: ("piecewise", ("form",)),
}
SIDES = dict(KINDS.values())


@dataclass(frozen=True)
class Description:
    """What a file says about a network beside its numbers: names of classes and layers, where it came from, its structure."""

    classes: tuple[str, ...] | None = None
    layers: tuple[str, ...] | None = None
    origin: str = ""
    structure: Json | None = None


def written(stages: Sequence[Stage], readout: Forms, description: Description) -> dict[str, AnyArray]:
    """Return the arrays of a file."""
    header: Json = {"format": NAME, "version": VERSION, "inputs": readout.widths[0], "stages": []}
    arrays: dict[str, AnyArray] = {HEADER: np.zeros(0, dtype=np.uint8)}
    for number, stage in enumerate(stages, start=1):
        kind, sides = KINDS[type(stage)]
        header["stages"].append({"kind": kind, **({"basis": stage.basis} if isinstance(stage, Polynomial) else {})})
        for side, forms in zip(sides, stage.forms, strict=True):
            arrays |= _forms_arrays(f"stage{number}/{side}", forms)
        if isinstance(stage, Polynomial):
            arrays[f"stage{number}/coefficients"] = np.array(stage.coefficients)
        if isinstance(stage, Piecewise):
            arrays[f"stage{number}/breakpoints"] = np.array(stage.breakpoints)
            arrays[f"stage{number}/pieces"] = stage.table
    arrays |= _forms_arrays("readout", readout)
    header |= {name: value for name, value in vars(description).items() if value}
    arrays[HEADER] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    return arrays


def read(arrays: Arrays) -> tuple[list[Stage], Forms, Description]:
    """Return the stages, the read-out and the description of a file's arrays, or one sentence about what is wrong."""
    header = _header(arrays)
    reader = _Reader(arrays, header["inputs"])
    stages = [reader.stage(number, stage) for number, stage in enumerate(header["stages"], start=1)]
    readout = reader.forms("readout")
    if unknown := sorted(set(arrays) - reader.used):
        raise InputError(f"an unknown array {unknown[0]!r}; a network has exactly the arrays that its header names")
    return stages, readout, _description(header, len(readout))


def fingerprint(stages: Sequence[Stage], readout: Forms) -> str:
    """Return the SHA-256 of the exact numbers, however they are stored (docs/files.md)."""
    digest = hashlib.sha256(f"{NAME} {VERSION}\ninputs {readout.widths[0]}\n".encode())
    for stage in stages:
        digest.update(f"{KINDS[type(stage)][0]}\n".encode())
        for forms in stage.forms:
            _update(digest, forms)
        if isinstance(stage, Polynomial):
            digest.update(f"{stage.basis} {len(stage.coefficients)}\n".encode())
            digest.update(_bytes(np.array(stage.coefficients)))
        if isinstance(stage, Piecewise):
            digest.update("pieces {} {}\n".format(*stage.table.shape).encode())
            digest.update(_bytes(np.array(stage.breakpoints)) + _bytes(stage.table))
    digest.update(b"readout\n")
    _update(digest, readout)
    return digest.hexdigest()


def _update(digest: Any, forms: Forms) -> None:
    digest.update(f"forms {len(forms)}\n".encode() + _bytes(forms.bias))
    for source, block in forms.blocks:
        rows, columns, weights = _triples(block)
        digest.update(f"block {source} {len(weights)}\n".encode())
        digest.update(_bytes(rows, "<i8") + _bytes(columns, "<i8") + _bytes(weights))


def _triples(block: Operator) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return rows, columns and values of all entries that are not zero, row by row."""
    if sparse.issparse(block):
        return np.repeat(np.arange(block.shape[0]), np.diff(block.indptr)), block.indices, block.data
    rows, columns = np.nonzero(block)
    return rows, columns, block[rows, columns]


def _bytes(array: AnyArray, kind: str = "<f8") -> bytes:
    """Return the numbers as bytes, little-endian, without negative zeros."""
    return np.ascontiguousarray(array + 0, dtype=kind).tobytes()


def _forms_arrays(name: str, forms: Forms) -> dict[str, AnyArray]:
    arrays: dict[str, AnyArray] = {f"{name}/bias": forms.bias}
    for source, block in forms.blocks:
        if sparse.issparse(block):
            for part, kind in (("data", np.float64), ("indices", np.int64), ("indptr", np.int64)):
                arrays[f"{name}/{source}/{part}"] = np.asarray(getattr(block, part), dtype=kind)
        else:
            arrays[f"{name}/{source}"] = block
    return arrays


# -- reading ---------------------------------------------------------------------------------------


def _header(arrays: Arrays) -> Json:
    array = arrays.get(HEADER)
    if array is None or array.dtype != np.uint8 or array.ndim != 1 or array.size > LARGEST_HEADER:
        raise InputError(
            "no header of a polymargin network; plain weights are read with activation= (--activation): 'square', a degree or "
            "coefficients"
        )
    try:
        header: Any = json.loads(array.tobytes().decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the header is not valid JSON ({error})") from None
    known = {"format", "version", "inputs", "stages", *vars(Description())}
    found = [header.get(key) for key in ("format", "version")] if isinstance(header, dict) else []
    if found != [NAME, VERSION] or type(found[1]) is not int:
        raise InputError(f"a header of {str(header)[:60]}; expected the format {NAME!r}, version {VERSION}")
    if unknown := sorted(header.keys() - known):
        raise InputError(f"an unknown entry {unknown[0]!r} of the header")
    if type(header.get("inputs")) is not int or not 1 <= header["inputs"] <= MOST_INPUTS:
        raise InputError(f"{str(header.get('inputs'))[:20]} inputs; expected a whole number from 1 to {MOST_INPUTS}")
    stages = header.get("stages")
    if not isinstance(stages, list) or len(stages) > MOST_STAGES:
        raise InputError(f"the header lists no stages, or more than {MOST_STAGES}")
    return dict(header)


def _once(pairs: list[tuple[str, Any]]) -> Json:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


class _Reader:
    """Forms in their order; each knows how many values there are before it."""

    def __init__(self, arrays: Arrays, inputs: int) -> None:
        self._arrays, self._widths = arrays, [inputs]
        self.used = {HEADER}

    def stage(self, number: int, entry: Any) -> Stage:
        kind = entry.get("kind") if isinstance(entry, dict) else None
        keys = {"kind", "basis"} if kind == "polynomial" else {"kind"}
        if kind not in SIDES or entry.keys() != keys:
            raise InputError(f"stage {number} is {str(entry)[:60]!r}; expected one of the kinds {', '.join(SIDES)}")
        forms = [self.forms(f"stage{number}/{side}") for side in SIDES[kind]]
        made = _MAKERS[kind](self, f"stage{number}", entry, forms)
        self._widths.append(len(made))
        return made

    def forms(self, name: str) -> Forms:
        bias = self.floats(f"{name}/bias", 1)
        if not bias.size:
            raise InputError(f"{name} has no forms; expected at least one")
        sources = [source for source in range(len(self._widths)) if self._has(f"{name}/{source}")]
        blocks = tuple((source, self._block(f"{name}/{source}", len(bias), self._widths[source])) for source in sources)
        return Forms(tuple(self._widths), blocks, bias)

    def floats(self, name: str, axes: int) -> NDArray[np.float64]:
        array = self._array(name)
        if array.dtype.newbyteorder("=") != np.float64 or array.ndim != axes:
            raise InputError(f"{name} has shape {array.shape} of {array.dtype}; expected float64 with {axes} axes")
        if not np.isfinite(array).all():
            raise InputError(f"{name} contains a number that is not finite")
        return array.astype(np.float64)

    def _has(self, name: str) -> bool:
        return name in self._arrays or f"{name}/data" in self._arrays

    def _block(self, name: str, height: int, width: int) -> Operator:
        if name in self._arrays:
            block = self.floats(name, 2)
            if block.shape != (height, width):
                raise InputError(f"{name} has shape {block.shape}; expected {(height, width)}")
            return block
        data, indices, starts = (
            self.floats(f"{name}/data", 1),
            *(self._whole(f"{name}/{p}") for p in ("indices", "indptr")),
        )
        if starts.shape != (height + 1,) or indices.shape != data.shape:
            raise InputError(
                f"{name}: {starts.size} row starts for {height} rows, {indices.size} columns for {data.size} numbers"
            )
        if starts[0] != 0 or starts[-1] != data.size or np.any(np.diff(starts) < 0):
            raise InputError(f"{name}/indptr must rise from 0 to the number of weights, {data.size}")
        first = np.zeros(data.size, dtype=bool)
        first[starts[:-1][starts[:-1] < data.size]] = True
        if np.any((indices < 0) | (indices >= width)) or not np.all((np.diff(indices, prepend=-1) > 0) | first):
            raise InputError(f"{name}/indices must rise within a row and lie between 0 and {width - 1}")
        return sparse.csr_array((data, indices, starts), shape=(height, width))

    def _whole(self, name: str) -> NDArray[np.int64]:
        array = self._array(name)
        if array.dtype.newbyteorder("=") != np.int64 or array.ndim != 1:
            raise InputError(f"{name} has shape {array.shape} of {array.dtype}; expected int64 in one row")
        return array.astype(np.int64)

    def _array(self, name: str) -> AnyArray:
        if name not in self._arrays:
            raise InputError(f"no array {name!r} in the file")
        self.used.add(name)
        return self._arrays[name]


def _polynomial(reader: _Reader, name: str, entry: Any, forms: list[Forms]) -> Stage:
    basis = basis_named(entry["basis"]).name
    return Polynomial(forms[0], tuple(reader.floats(f"{name}/coefficients", 1).tolist()), basis)


def _piecewise(reader: _Reader, name: str, entry: Any, forms: list[Forms]) -> Stage:
    breakpoints, pieces = reader.floats(f"{name}/breakpoints", 1), reader.floats(f"{name}/pieces", 2)
    return Piecewise(forms[0], tuple(breakpoints.tolist()), tuple(tuple(piece) for piece in pieces.tolist()))


_MAKERS: dict[str, Callable[[_Reader, str, Any, list[Forms]], Stage]] = {
    "product": lambda reader, name, entry, forms: Product(*forms),
    "polynomial": _polynomial,
    "piecewise": _piecewise,
}


def _description(header: Json, class_count: int) -> Description:
    names: dict[str, tuple[str, ...] | None] = {}
    for key, expected in (("classes", class_count), ("layers", len(header["stages"]) + 1)):
        given = header.get(key)
        if given is not None and not (isinstance(given, list) and all(isinstance(name, str) for name in given)):
            raise InputError(f"{key} {str(given)[:60]!r} of the header; expected a list of texts")
        if given is not None and len(given) != expected:
            raise InputError(f"{len(given)} {key} in the header; expected {expected}")
        names[key] = None if given is None else tuple(given)
    origin, structure = header.get("origin", ""), header.get("structure")
    if not isinstance(origin, str) or not isinstance(structure, dict | None):
        raise InputError("the origin in the header is no text, or its structure no object")
    return Description(names["classes"], names["layers"], origin, structure)
