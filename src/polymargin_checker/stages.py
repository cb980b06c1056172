"""A network from a model file of version 2: stages, each computed from affine forms of the inputs and all earlier values.

    v⁰ = x,      vᵏ = left·right, σ(form) or a piecewise polynomial of a form,      logits = readout(v⁰, …, vᴷ).

A form is bias + Σ block_s vˢ. Blocks are kept as compressed sparse rows without zeros, however the file stores them; every
number is an exact double. The format and the fingerprint are in docs/files.md.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from polymargin_checker import npy
from polymargin_checker.refusal import Refused, Unusable
from polymargin_checker.words import shown

NAME, VERSION = "polymargin network", 2
LARGEST_HEADER = 1 << 20
MOST_STAGES = 1_000
MOST_INPUTS = 1 << 25
LARGEST_DEGREE = 127
MOST_BREAKPOINTS = 1_000
LARGEST_BLOCK = 1 << 24
"""Entries of a block as a dense matrix."""
BASES = ("powers", "chebyshev", "legendre", "hermite", "hermite_e")

Floats: TypeAlias = NDArray[np.float64]
Wholes: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Block:
    """A matrix as compressed sparse rows: weights[starts[i]:starts[i + 1]] in these columns; no weight is zero."""

    shape: tuple[int, int]
    starts: Wholes
    columns: Wholes
    weights: Floats

    @property
    def rows(self) -> Wholes:
        """Return the row of each weight."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.starts))

    @cached_property
    def dense(self) -> Floats:
        if self.shape[0] * self.shape[1] > LARGEST_BLOCK:
            raise Refused(f"a block of {self.shape[0]} by {self.shape[1]} weights; expected at most {LARGEST_BLOCK}")
        matrix = np.zeros(self.shape)
        matrix[self.rows, self.columns] = self.weights
        return matrix


@dataclass(frozen=True)
class Forms:
    """bias + Σ block @ values of its source, blocks as (source, block) with rising sources, none of them zero."""

    widths: tuple[int, ...]
    blocks: tuple[tuple[int, Block], ...]
    bias: Floats

    def __len__(self) -> int:
        return len(self.bias)


@dataclass(frozen=True)
class Product:
    """left·right, entry by entry."""

    left: Forms
    right: Forms

    kind = "product"

    @property
    def forms(self) -> tuple[Forms, ...]:
        return self.left, self.right


@dataclass(frozen=True)
class Polynomial:
    """Σ c_k P_k(form), P_k the polynomials of the basis."""

    form: Forms
    coefficients: Floats
    basis: str

    kind = "polynomial"

    @property
    def forms(self) -> tuple[Forms, ...]:
        return (self.form,)


@dataclass(frozen=True)
class Piecewise:
    """Row i of `pieces` are the coefficients of powers from breakpoint i − 1 on (there too) and below breakpoint i."""

    form: Forms
    breakpoints: Floats
    pieces: Floats

    kind = "piecewise"

    @property
    def forms(self) -> tuple[Forms, ...]:
        return (self.form,)

    @cached_property
    def agreements(self) -> NDArray[np.bool_]:
        """Return for each breakpoint whether the pieces on both sides have the same value there, without rounding."""
        return np.array(
            [
                _value(left, point) == _value(right, point)
                for point, left, right in zip(
                    self.breakpoints.tolist(), self.pieces[:-1].tolist(), self.pieces[1:].tolist(), strict=True
                )
            ]
        )


def _value(coefficients: list[float], point: float) -> fmpq:
    place, total = fmpq(*point.as_integer_ratio()), fmpq(0)
    for c in reversed(coefficients):
        total = total * place + fmpq(*c.as_integer_ratio())
    return total


Stage: TypeAlias = Product | Polynomial | Piecewise


@dataclass(frozen=True)
class Network:
    """The stages and the forms of the logits."""

    stages: tuple[Stage, ...]
    readout: Forms

    @property
    def dimension(self) -> int:
        return self.readout.widths[0]

    @property
    def class_count(self) -> int:
        return len(self.readout)

    @property
    def is_polynomial(self) -> bool:
        return not any(isinstance(stage, Piecewise) for stage in self.stages)

    @cached_property
    def fingerprint(self) -> str:
        digest = hashlib.sha256(f"{NAME} {VERSION}\ninputs {self.dimension}\n".encode())
        for stage in self.stages:
            digest.update(f"{stage.kind}\n".encode())
            for forms in stage.forms:
                _update(digest, forms)
            if isinstance(stage, Polynomial):
                digest.update(f"{stage.basis} {len(stage.coefficients)}\n".encode() + _bytes(stage.coefficients))
            if isinstance(stage, Piecewise):
                rows, columns = stage.pieces.shape
                digest.update(f"pieces {rows} {columns}\n".encode() + _bytes(stage.breakpoints) + _bytes(stage.pieces))
        digest.update(b"readout\n")
        _update(digest, self.readout)
        return digest.hexdigest()


def _update(digest: Any, forms: Forms) -> None:
    digest.update(f"forms {len(forms)}\n".encode() + _bytes(forms.bias))
    for source, block in forms.blocks:
        digest.update(f"block {source} {len(block.weights)}\n".encode())
        digest.update(
            block.rows.astype("<i8").tobytes() + block.columns.astype("<i8").tobytes() + _bytes(block.weights)
        )


def _bytes(values: Floats) -> bytes:
    """Return the numbers as bytes, little-endian, without negative zeros."""
    return (values + 0.0).astype("<f8").tobytes()


# -- the file ----------------------------------------------------------------------------------------


def read_network(source: Any) -> Network:
    """Read an .npz file, or the bytes of one."""
    return network_of(npy.read_entries(source), "the model" if isinstance(source, bytes) else str(source))


def network_of(entries: Mapping[str, bytes], path: str) -> Network:
    """Return the network in the unpacked entries of a file."""
    header = _header(entries, path)
    reader = _Reader(entries, header["inputs"])
    stages = tuple(reader.stage(number, entry) for number, entry in enumerate(header["stages"], start=1))
    readout = reader.forms("readout")
    if len(readout) < 2:
        raise Unusable("the network has one class; a margin needs at least two")
    for name in entries:
        if name not in reader.used:
            raise Unusable(f"the entry {shown(name)} is not part of the network that the header describes")
    return Network(stages, readout)


def _header(entries: Mapping[str, bytes], path: str) -> dict[str, Any]:
    if "header" not in entries:
        raise Unusable(f"{path}: not a polymargin network, the entry 'header' is missing")
    content = npy.array(entries["header"], "header", "|u1", 1)
    if content.size > LARGEST_HEADER:
        raise Unusable(f"{path}: a header of more than {LARGEST_HEADER} bytes")
    try:
        header = json.loads(content.tobytes().decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Unusable(f"{path}: the header is not valid JSON") from None
    if not isinstance(header, dict) or header.get("format") != NAME:
        raise Unusable(f"{path}: not a polymargin network; expected the format {NAME!r}")
    if type(header.get("version")) is not int or header["version"] != VERSION:
        raise Unusable(f"{path}: version {shown(header.get('version'))} of the format; expected {VERSION}")
    described = ("classes", "layers", "origin", "structure")  # say nothing about the logits
    for key in header:
        if key not in ("format", "version", "inputs", "stages", *described):
            raise Unusable(f"{path}: an unknown entry {shown(key)} of the header")
    if type(header.get("inputs")) is not int or not 1 <= header["inputs"] <= MOST_INPUTS:
        raise Unusable(f"{path}: {shown(header.get('inputs'))} inputs; expected an integer from 1 to {MOST_INPUTS}")
    if not isinstance(header.get("stages"), list) or len(header["stages"]) > MOST_STAGES:
        raise Unusable(f"{path}: the header lists no stages, or more than {MOST_STAGES}")
    return header


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key occurs twice")
    return result


def _no_constant(word: str) -> Any:
    raise ValueError(word)


class _Reader:
    """Forms in their order; each may use the values before it."""

    def __init__(self, entries: Mapping[str, bytes], inputs: int) -> None:
        self._entries, self._widths = entries, [inputs]
        self.used = {"header"}

    def stage(self, number: int, entry: Any) -> Stage:
        kind = entry.get("kind") if isinstance(entry, dict) else None
        name, keys = f"stage{number}", {"kind", "basis"} if kind == "polynomial" else {"kind"}
        if kind not in ("product", "polynomial", "piecewise") or set(entry) != keys:
            raise Unusable(f"stage {number}: expected one of the kinds product, polynomial (with its basis), piecewise")
        made: Stage
        if kind == "product":
            made = Product(self.forms(f"{name}/left"), self.forms(f"{name}/right"))
            if len(made.left) != len(made.right):
                raise Unusable(f"stage {number}: a product of {len(made.left)} and {len(made.right)} forms")
        elif kind == "polynomial":
            made = self._polynomial(name, entry["basis"])
        else:
            made = self._piecewise(name)
        self._widths.append(len(made.forms[0]))
        return made

    def _polynomial(self, name: str, basis: Any) -> Polynomial:
        if not isinstance(basis, str) or basis not in BASES:
            raise Unusable(f"{name}: unknown basis {shown(basis)}; expected one of {', '.join(BASES)}")
        coefficients = self._floats(f"{name}/coefficients", 1)
        count = len(coefficients)
        if not 1 <= count <= LARGEST_DEGREE + 1 or (count > 1 and coefficients[-1] == 0):
            raise Unusable(f"{name}: expected 1 to {LARGEST_DEGREE + 1} coefficients, the last not zero")
        return Polynomial(self.forms(f"{name}/form"), coefficients, basis)

    def _piecewise(self, name: str) -> Piecewise:
        breakpoints, pieces = self._floats(f"{name}/breakpoints", 1), self._floats(f"{name}/pieces", 2)
        if not 1 <= len(breakpoints) <= MOST_BREAKPOINTS or not np.all(breakpoints[1:] > breakpoints[:-1]):
            raise Unusable(f"{name}: expected 1 to {MOST_BREAKPOINTS} breakpoints that rise")
        if len(pieces) != len(breakpoints) + 1 or not 1 <= pieces.shape[1] <= LARGEST_DEGREE + 1:
            raise Unusable(f"{name}: expected one piece more than breakpoints, of degree at most {LARGEST_DEGREE}")
        used = np.flatnonzero(pieces.any(axis=0))  # zeros at the end of all pieces do not count
        return Piecewise(self.forms(f"{name}/form"), breakpoints, pieces[:, : used[-1] + 1 if used.size else 1])

    def forms(self, name: str) -> Forms:
        bias = self._floats(f"{name}/bias", 1)
        if not bias.size:
            raise Unusable(f"{name}: no forms")
        blocks = []
        for source, width in enumerate(self._widths):
            block = self._block(f"{name}/{source}", (bias.size, width))
            if block is not None and block.weights.size:
                blocks.append((source, block))
        return Forms(tuple(self._widths), tuple(blocks), bias)

    def _block(self, name: str, shape: tuple[int, int]) -> Block | None:
        if name in self._entries:
            dense = self._floats(name, 2)
            if dense.shape != shape:
                raise Unusable(f"{name}: shape {dense.shape}; expected {shape}")
            rows, columns = np.nonzero(dense)
            return Block(shape, _starts(rows, shape[0]), columns, dense[rows, columns])
        if f"{name}/data" not in self._entries:
            return None
        weights = self._floats(f"{name}/data", 1)
        columns, starts = (self._array(f"{name}/{part}", "<i8", 1) for part in ("indices", "indptr"))
        if starts.size != shape[0] + 1 or columns.size != weights.size:
            raise Unusable(f"{name}: the lengths of its parts do not fit {shape[0]} rows")
        if starts[0] != 0 or starts[-1] != weights.size or np.any(starts[1:] < starts[:-1]):
            raise Unusable(f"{name}: the starts do not rise from 0 to the number of weights")
        rows = np.repeat(np.arange(shape[0]), np.diff(starts))
        rises = (columns[1:] > columns[:-1]) | (rows[1:] > rows[:-1])
        if np.any((columns < 0) | (columns >= shape[1])) or not np.all(rises):
            raise Unusable(f"{name}: the columns of a row do not rise within 0 and {shape[1] - 1}")
        used = weights != 0
        return Block(shape, _starts(rows[used], shape[0]), columns[used], weights[used])

    def _floats(self, name: str, axes: int) -> Floats:
        values: Floats = self._array(name, "<f8", axes)
        if not np.isfinite(values).all():
            raise Unusable(f"{name}: a number that is not finite")
        return values

    def _array(self, name: str, descr: str, axes: int) -> NDArray[Any]:
        if name not in self._entries:
            raise Unusable(f"the entry {name!r} is missing")
        self.used.add(name)
        return npy.array(self._entries[name], name, descr, axes)


def _starts(rows: Wholes, height: int) -> Wholes:
    return np.searchsorted(rows, np.arange(height + 1)).astype(np.int64)
