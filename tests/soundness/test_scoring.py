"""Ratios counted by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import polymargin as pm
from polymargin.soundness import Instance, read_results, score


def instance(name: str, kind: str, truth: str) -> Instance:
    return Instance("onnx/f.onnx", f"vnnlib/{name}.vnnlib", "models/f.npz", kind, truth, 0.1, 0, np.zeros(2))


INSTANCES = [
    instance("a", "unverifiable", "sat"),
    instance("b", "unverifiable", "sat"),
    instance("c", "unverifiable", "sat"),
    instance("d", "unverifiable", "sat"),
    instance("e", "clean", ""),
    instance("f", "clean", "unsat"),
]


def results(folder: Path, *lines: str) -> Path:
    file = folder / "results.csv"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def test_ratios_errors_and_what_is_missing(tmp_path: Path) -> None:
    file = results(
        tmp_path,
        "poly,./benchmarks/onnx/f.onnx,./benchmarks/vnnlib/a.vnnlib,0.5,sat,1.0",
        "poly,f.onnx,b.vnnlib,0.5,holds,2.0",  # unsound
        "poly,f.onnx,c.vnnlib,0.5,timeout,100",
        "poly,f.onnx,e.vnnlib,0.5,UNSAT,0.5",
        "poly,f.onnx,f.vnnlib,0.5,violated,0.25",  # against the truth
        "poly,other.onnx,d.vnnlib,0.5,sat,7",  # of another network
    )
    found = score(INSTANCES, read_results(file))
    assert found.unverifiable_instance_falsified_ratio == 1 / 4
    assert found.unverifiable_instance_verified_ratio == 1 / 4
    assert found.clean_instance_verified_ratio == 1 / 2
    assert found.clean_instance_falsified_ratio == 1 / 2
    assert (found.verified, found.falsified, found.undecided, found.soundness_errors) == (2, 2, 2, 2)
    assert found.seconds == 103.75


def test_a_ratio_over_nothing_is_null() -> None:
    found = score(INSTANCES[:4], {})
    assert math.isnan(found.clean_instance_verified_ratio)
    assert found.to_dict()["clean_instance_verified_ratio"] is None
    assert found.undecided == 4


@pytest.mark.parametrize("line", ["poly,f.onnx,a.vnnlib,0.5,sat", "poly,f.onnx,a.vnnlib,0.5,sat,soon", "a,b,c,d,e,f,g"])
def test_rows_that_are_no_results_are_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(pm.InputError, match="row 1"):
        read_results(results(tmp_path, line))


def test_files_that_are_no_results_are_refused(tmp_path: Path) -> None:
    with pytest.raises(pm.InputError, match="no such file"):
        read_results(tmp_path / "none.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(pm.InputError, match="not a CSV file"):
        read_results(tmp_path / "binary.csv")
