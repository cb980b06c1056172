"""Random convolutions against PyTorch and random operators against ONNX Runtime: what is read agrees (benchmarks/corpus.py)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

for _module in ("torch", "onnx", "onnxruntime"):
    pytest.importorskip(_module)

FOLDER = Path(__file__).parents[2] / "benchmarks"
NEW = (
    "ConvTranspose",
    "CumSum",
    "DepthToSpace",
    "GatherElements",
    "ReduceL1",
    "ReduceProd",
    "SpaceToDepth",
    "Tile",
    "Trilu",
)


@pytest.fixture(scope="module")
def corpus() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        found = importlib.util.spec_from_file_location("corpus", FOLDER / "corpus.py")
        assert found is not None
        assert found.loader is not None
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)
        sys.modules.pop("common", None)
        return module


def outcome(corpus: ModuleType, name: str, seed: int, folder: Path) -> str | None:
    draw = np.random.default_rng(seed)
    made = corpus.graph(name, draw, folder / "model.onnx")
    return None if made is None else str(corpus.compared_graph(folder / "model.onnx", *made, draw))


@pytest.mark.parametrize("name", NEW)
def test_operators_that_rearrange_and_add(corpus: ModuleType, name: str, tmp_path: Path) -> None:
    assert {outcome(corpus, name, seed, tmp_path) for seed in range(4)} == {"read"}


def test_convolutions(corpus: ModuleType) -> None:
    draw = np.random.default_rng(3)
    cases = [case for case in (corpus.convolution(draw) for _ in range(40)) if case is not None]
    assert {name.partition(", ")[0] for name, _, _ in cases} >= {
        "transposed",
        "reflect",
        "replicate",
        "circular",
        "zeros",
    }
    assert [corpus.compared_convolution(case, draw) for case in cases] == ["read"] * len(cases)


@pytest.mark.slow
def test_no_operator_is_read_wrongly(corpus: ModuleType, tmp_path: Path) -> None:
    outcomes = [outcome(corpus, name, seed, tmp_path) for name in corpus.OPERATORS for seed in range(10)]
    assert "wrong" not in outcomes
    assert outcomes.count("read") >= 500
