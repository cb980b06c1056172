"""Programs of products: what a file may say."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.test_products_details import mixed

from polymargin_checker.model import read_model
from polymargin_checker.refusal import Unusable


@pytest.fixture
def arrays(tmp_path: Path) -> dict[str, Any]:
    mixed("chebyshev", (0.25, 0.0, 0.5)).save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as data:
        return dict(data)


def read(folder: Path, arrays: dict[str, Any]) -> Any:
    np.savez(folder / "other.npz", **arrays)
    return read_model(folder / "other.npz")


def test_the_file_is_read_as_it_is(arrays: dict[str, Any], tmp_path: Path) -> None:
    model = read(tmp_path, arrays)
    network = mixed("chebyshev", (0.25, 0.0, 0.5))
    assert model.fingerprint() == network.fingerprint
    forms = [form for stage in model.stages for form in stage.forms] + [model.readout]
    theirs = [form for stage in network.stages for form in stage.forms] + [network.readout]
    for ours, expected in zip(forms, theirs, strict=True):
        assert (ours.width, ours.starts, ours.columns) == (
            expected.width,
            expected.matrix.indptr.tolist(),
            expected.matrix.indices.tolist(),
        )
        assert list(ours.weights) == expected.matrix.data.tolist()
        assert list(ours.bias) == expected.bias.tolist()
    assert [(len(stage), stage.letter, stage.coefficients) for stage in model.stages] == [
        (2, "P", ()),
        (2, "C", (0.25, 0.0, 0.5)),
        (1, "P", ()),
    ]
    assert (model.dimension, model.class_count) == (2, 3)


def test_every_entry_is_part_of_the_fingerprint(arrays: dict[str, Any], tmp_path: Path) -> None:
    found = {read(tmp_path, arrays).fingerprint()}
    changed = 1
    for name, values in arrays.items():
        if name.endswith(("weights", "bias")) or name.startswith("activation"):
            for index in range(len(values)):
                other = values.copy()
                other[index] = np.nextafter(other[index], 9.0)
                found.add(read(tmp_path, arrays | {name: other}).fingerprint())
                changed += 1
    found.add(read(tmp_path, arrays | {"stages": np.array("PAP")}).fingerprint())
    assert len(found) == changed + 1
    # The same numbers in other columns, and in other rows.
    for starts, columns in (([0, 2, 4], [0, 1, 2, 3]), ([0, 1, 4], [0, 1, 2, 3]), ([0, 1, 4], [0, 0, 2, 3])):
        other = {"forms_3_starts": np.array(starts), "forms_3_columns": np.array(columns)}
        found.add(read(tmp_path, arrays | other).fingerprint())
    assert len(found) == changed + 4


def test_class_names_are_no_part_of_the_proof(arrays: dict[str, Any], tmp_path: Path) -> None:
    named = read(tmp_path, arrays | {"class_names": np.array(["a", "b", "c"])})
    assert named.fingerprint() == read(tmp_path, arrays).fingerprint()


def test_what_is_missing_or_unknown(arrays: dict[str, Any], tmp_path: Path) -> None:
    for name in arrays:
        if name != "format":
            rest = {key: value for key, value in arrays.items() if key != name}
            with pytest.raises(Unusable, match=f"{name}' is missing"):
                read(tmp_path, rest)
    for name in ("forms_7_starts", "activation_1", "activation_3", "note", "weight_1"):
        with pytest.raises(Unusable, match="not part of a network of products"):
            read(tmp_path, arrays | {name: np.zeros(2)})


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("stages", "", "expected the letters"),
        ("stages", "PCX", "expected the letters"),
        ("stages", "P" * 1000, "expected"),
        ("stages", "PC", "sizes"),
        ("stages", "PCPP", "sizes"),
        ("sizes", [2, 2, 2, 1], "sizes"),
        ("sizes", [2, 2, 2, 1, 3, 1], "sizes"),
        ("sizes", [0, 2, 2, 1, 3], "sizes"),
        ("sizes", [2, 2, 2, 0, 3], "sizes"),
        ("sizes", [2, 2, 2, 1, 1], "at least two logits"),
        ("sizes", [2.5, 2, 2, 1, 3], "whole numbers"),
        ("sizes", [-2, 2, 2, 1, 3], "whole numbers"),
        ("sizes", [2, 3, 2, 1, 3], "lengths"),
        ("activation_2", [1.0], "expected 2 to 128"),
        ("activation_2", [1.0] * 129, "expected 2 to 128"),
        ("activation_2", [1.0, 1.0, 0.0], "the last not zero"),
        ("activation_2", [1.0, np.inf], "not finite"),
        ("forms_1_starts", [0, 2], "lengths"),
        ("forms_1_starts", [0, 2, 3, 3], "lengths"),
        ("forms_1_starts", [1, 2, 3], "starts do not rise"),
        ("forms_1_starts", [0, 2, 2], "starts do not rise"),
        ("forms_1_starts", [0, 4, 3], "starts do not rise"),
        ("forms_1_columns", [0, 1], "lengths"),
        ("forms_1_columns", [0, 1, 1, 1], "lengths"),
        ("forms_1_columns", [0, 0, 1], "columns of row 0 do not rise"),
        ("forms_1_columns", [1, 0, 1], "columns of row 0 do not rise"),
        ("forms_1_columns", [0, 2, 1], "columns of row 0 do not rise within 0 and 1"),
        ("forms_1_columns", [0, 1, 2], "columns of row 1 do not rise within 0 and 1"),
        ("forms_1_columns", [-1, 1, 1], "whole numbers"),
        ("forms_1_columns", [0, 0.5, 1], "whole numbers"),
        ("forms_1_bias", [0.0], "lengths"),
        ("forms_1_bias", [0.0, np.nan], "not finite"),
        ("forms_1_weights", [1.0, 1.0], "lengths"),
        ("forms_6_columns", [1, 7, 0, 2, 4, 5, 0], "columns of row 0 do not rise within 0 and 6"),
    ],
)
def test_what_a_file_may_not_say(name: str, value: Any, reason: str, arrays: dict[str, Any], tmp_path: Path) -> None:
    assert all(a <= b for a, b in pairwise(arrays["forms_1_starts"].tolist()))
    with pytest.raises(Unusable, match=reason):
        read(tmp_path, arrays | {name: np.array(value)})


def test_degrees_up_to_the_limit_and_rows_without_weights(arrays: dict[str, Any], tmp_path: Path) -> None:
    assert len(read(tmp_path, arrays | {"activation_2": np.ones(128)}).stages[1].coefficients) == 128
    assert len(read(tmp_path, arrays | {"activation_2": np.ones(2)}).stages[1].coefficients) == 2
    empty = {"forms_1_starts": np.array([0, 0, 0]), "forms_1_columns": np.zeros(0), "forms_1_weights": np.zeros(0)}
    model = read(tmp_path, arrays | empty)
    assert [model.stages[0].forms[0].row(index) for index in (0, 1)] == [[], []]
    assert model.degree == 4  # 1 for the first product, 2 for the activation, and a product of two of these
