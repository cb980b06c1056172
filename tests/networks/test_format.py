"""The file format: what is written is read, and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_stages import random_stages
from scipy import sparse

import polymargin as pm
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import Piecewise, Polynomial, Product

Arrays = dict[str, Any]


def header_of(arrays: Arrays) -> dict[str, Any]:
    return dict(json.loads(arrays["header"].tobytes()))


def with_header(arrays: Arrays, **entries: Any) -> Arrays:
    text = json.dumps({**header_of(arrays), **entries}) if entries else entries
    return arrays | {"header": np.frombuffer(str(text).encode(), dtype=np.uint8)}


@pytest.mark.parametrize("seed", range(20))
def test_a_file_keeps_every_bit(seed: int, tmp_path: Path) -> None:
    network = random_stages(seed)
    network.save(tmp_path / "model.npz")
    again = Network.load(tmp_path / "model.npz")
    assert again.fingerprint == network.fingerprint
    assert {name: value.tolist() for name, value in again.to_arrays().items()} == {
        name: value.tolist() for name, value in network.to_arrays().items()
    }
    point = np.full(network.dimension, 0.375)
    assert again.exact_logits(point) == network.exact_logits(point)
    assert repr(again) == repr(network)


def test_names_are_kept(tmp_path: Path) -> None:
    stage = Polynomial(Forms.of([[1.0, 2.0]]), (0.0, 0.0, 1.0))
    options: dict[str, Any] = {
        "class_names": ("cat", "dog"),
        "origin": "read as rows",
        "layer_names": ("/conv1/Conv", "/fc/Gemm"),
    }
    network = Network([stage], Forms.of(np.eye(2, 3)), **options)
    network.save(tmp_path / "model.npz")
    again = Network.load(tmp_path / "model.npz")
    assert {name: getattr(again, name) for name in options} == options
    assert again.fingerprint == Network([stage], network.readout).fingerprint  # names do not count


def mixed() -> Network:
    """One stage of each kind, with a dense and a sparse block."""
    wide = np.zeros((2, 6))
    wide[0, 1], wide[1, 4] = 0.5, -2.0
    first = Product(Forms.of(wide, [0.25, 1.0]), Forms.of(np.arange(12.0).reshape(2, 6)))
    second = Polynomial(Forms((6, 2), ((1, [[1.0, 2.0]]),), [0.5]), (0.5, 0.25, 1.0), "chebyshev")
    third = Piecewise(Forms((6, 2, 1), ((2, [[3.0], [1.0]]),), [0.0, 1.0]), (0.0, 2.0), ((0.0,), (0.0, 1.0), (2.0,)))
    return Network([first, second, third], Forms((6, 2, 1, 2), ((3, np.eye(2)),), [0.0, 0.125]))


def test_the_arrays_are_those_of_the_documented_format() -> None:
    arrays = mixed().to_arrays()
    assert header_of(arrays) == {
        "format": "polymargin network",
        "version": 2,
        "inputs": 6,
        "stages": [{"kind": "product"}, {"kind": "polynomial", "basis": "chebyshev"}, {"kind": "piecewise"}],
    }
    found = {name: (value.shape, value.dtype.name) for name, value in arrays.items() if name != "header"}
    assert found == {
        "stage1/left/bias": ((2,), "float64"),
        "stage1/left/0/data": ((2,), "float64"),
        "stage1/left/0/indices": ((2,), "int64"),
        "stage1/left/0/indptr": ((3,), "int64"),
        "stage1/right/bias": ((2,), "float64"),
        "stage1/right/0": ((2, 6), "float64"),
        "stage2/form/bias": ((1,), "float64"),
        "stage2/form/1": ((1, 2), "float64"),
        "stage2/coefficients": ((3,), "float64"),
        "stage3/form/bias": ((2,), "float64"),
        "stage3/form/2": ((2, 1), "float64"),
        "stage3/breakpoints": ((2,), "float64"),
        "stage3/pieces": ((3, 2), "float64"),
        "readout/bias": ((2,), "float64"),
        "readout/3": ((2, 2), "float64"),
    }


def test_the_fingerprint_is_that_of_the_documentation() -> None:
    """Written down once more, from docs/files.md."""
    arrays, text = mixed().to_arrays(), hashlib.sha256(b"polymargin network 2\ninputs 6\n")

    def forms(name: str, blocks: dict[int, Any]) -> None:
        text.update(f"forms {len(arrays[name + '/bias'])}\n".encode() + arrays[name + "/bias"].tobytes())
        for source, block in blocks.items():
            triples = [(i, j, v) for (i, j), v in np.ndenumerate(block) if v != 0]
            text.update(f"block {source} {len(triples)}\n".encode())
            for part, kind in zip(zip(*triples, strict=True), ("<i8", "<i8", "<f8"), strict=True):
                text.update(np.array(part, dtype=kind).tobytes())

    text.update(b"product\n")
    sparse_parts = [arrays[f"stage1/left/0/{part}"] for part in ("data", "indices", "indptr")]
    forms("stage1/left", {0: sparse.csr_array(tuple(sparse_parts), shape=(2, 6)).toarray()})
    forms("stage1/right", {0: arrays["stage1/right/0"]})
    text.update(b"polynomial\n")
    forms("stage2/form", {1: arrays["stage2/form/1"]})
    text.update(b"chebyshev 3\n" + arrays["stage2/coefficients"].tobytes())
    text.update(b"piecewise\n")
    forms("stage3/form", {2: arrays["stage3/form/2"]})
    text.update(b"pieces 3 2\n" + arrays["stage3/breakpoints"].tobytes() + arrays["stage3/pieces"].tobytes())
    text.update(b"readout\n")
    forms("readout", {3: arrays["readout/3"]})
    assert text.hexdigest() == mixed().fingerprint


def test_the_fingerprint_does_not_depend_on_storage_and_on_nothing_else() -> None:
    arrays = mixed().to_arrays()
    own = Network.from_arrays_dict(arrays).fingerprint
    dense = np.zeros((2, 6))
    dense[0, 1], dense[1, 4], dense[1, 1] = 0.5, -2.0, -0.0
    others = {name: value for name, value in arrays.items() if not name.startswith("stage1/left/0")}
    assert Network.from_arrays_dict(others | {"stage1/left/0": dense}).fingerprint == own
    big_endian = {name: value.astype(value.dtype.newbyteorder(">")) for name, value in arrays.items()}
    assert Network.from_arrays_dict(big_endian).fingerprint == own
    found, changed = {own}, 1
    for name, value in arrays.items():
        if value.dtype == np.float64:
            for place in np.ndindex(value.shape):
                if name == "stage3/pieces" and place != (2, 0):
                    continue  # would jump
                other = value.copy()
                other[place] = np.nextafter(other[place], 99.0)
                found.add(Network.from_arrays_dict(arrays | {name: other}).fingerprint)
                changed += 1
    assert len(found) == changed > 30


Change = Callable[[Arrays], Arrays]


def without(name: str) -> Change:
    return lambda arrays: {key: value for key, value in arrays.items() if key != name}


def replaced(name: str, value: Any) -> Change:
    return lambda arrays: arrays | {name: value}


def header(**entries: Any) -> Change:
    return lambda arrays: with_header(arrays, **entries)


def raw_header(text: bytes) -> Change:
    return replaced("header", np.frombuffer(text, dtype=np.uint8))


TWICE = {"stage1/left/0/indptr": np.array([0, 2, 2]), "stage1/left/0/indices": np.array([4, 4])}
STAGES = [{"kind": "product"}, {"kind": "polynomial", "basis": "chebyshev"}, {"kind": "piecewise"}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("header"), "no header.*activation="),
        (replaced("header", np.zeros(3)), "no header"),
        (raw_header(b"{"), "not valid JSON"),
        (raw_header(b"\xff"), "not valid JSON"),
        (raw_header(b'{"format": "polymargin network", "format": 1}'), "key occurs twice"),
        (raw_header(b'{"version": NaN}'), "NaN is not a number"),
        (raw_header(b"[" * 100_000), "not valid JSON"),
        (raw_header(b"[1]"), "expected the format"),
        (header(format="other"), "expected the format"),
        (header(version=1), "version 2"),
        (header(version=2.0), "version 2"),
        (header(inputs=0), "whole number from 1"),
        (header(inputs=1 << 40), "whole number from 1"),
        (header(inputs=5), r"shape \(2, 6\); expected \(2, 5\)|between 0 and 4"),
        (header(more=1), "unknown entry 'more'"),
        (header(stages=3), "lists no stages"),
        (header(stages=[{}] * 1001), "more than 1000"),
        (header(stages=STAGES[:2]), "source|unknown array"),
        (header(stages=[*STAGES, {"kind": "softmax"}]), "stage 4 is"),
        (header(stages=[{"kind": "product", "basis": "powers"}, *STAGES[1:]]), "stage 1 is"),
        (header(stages=[STAGES[0], {"kind": "polynomial"}, STAGES[2]]), "stage 2 is"),
        (header(stages=[STAGES[0], {"kind": "polynomial", "basis": "sine"}, STAGES[2]]), "basis 'sine'"),
        (header(classes=["a"]), "1 classes"),
        (header(classes=["a", "a"]), "expected 2 different names"),
        (header(classes="ab"), "list of texts"),
        (header(layers=["a"]), "1 layers in the header; expected 4"),
        (header(origin=3), "origin"),
        (header(structure=[]), "structure"),
        (without("stage1/left/bias"), "no array 'stage1/left/bias'"),
        (without("stage2/coefficients"), "no array"),
        (without("stage1/left/0/indptr"), "no array"),
        (replaced("stage1/left/1", np.zeros((2, 2))), "unknown array 'stage1/left/1'"),
        (replaced("stage1/left/0", np.ones((2, 6))), "unknown array 'stage1/left/0/data'"),
        (replaced("stage4/form/bias", np.zeros(1)), "unknown array"),
        (replaced("stage1/right/0", np.ones((2, 5))), r"shape \(2, 5\); expected \(2, 6\)"),
        (replaced("stage1/right/0", np.ones((2, 6), dtype=np.float32)), "expected float64"),
        (replaced("stage1/right/0", np.full((2, 6), np.nan)), "not finite"),
        (replaced("readout/bias", np.array([np.inf, 0.0])), "not finite"),
        (replaced("readout/bias", np.zeros(1)), "expected"),
        (replaced("stage1/left/bias", np.zeros(0)), "no forms"),
        (replaced("stage1/left/0/indices", np.array([1, 6])), "between 0 and 5"),
        (replaced("stage1/left/0/indices", np.array([-1, 4])), "between 0 and 5"),
        (replaced("stage1/left/0/indices", np.array([1.0, 4.0])), "expected int64"),
        (replaced("stage1/left/0/indptr", np.array([0, 2, 1])), "must rise"),
        (replaced("stage1/left/0/indptr", np.array([1, 1, 2])), "must rise"),
        (replaced("stage1/left/0/indptr", np.array([0, 2])), "2 row starts for 2 rows"),
        (lambda arrays: arrays | TWICE, "rise within a row"),
        (replaced("stage2/coefficients", np.array([1.0, 0.0])), "the last not 0"),
        (replaced("stage3/breakpoints", np.array([2.0, 0.0])), "increasing"),
        (replaced("stage3/pieces", np.ones((2, 2))), "one more piece"),
        (replaced("stage3/pieces", np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]])), "jumps"),
    ],
)  # fmt: skip
def test_anything_else_is_refused(change: Change, message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "model.npz", **change(dict(mixed().to_arrays())))
    with pytest.raises(pm.InputError, match=message) as refused:
        Network.load(tmp_path / "model.npz")
    assert str(tmp_path) in str(refused.value)
