"""`load`: every kind of model file, what runs nothing, what needs trust, and damaged files of all kinds."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.networks.writers.to_onnx import to_onnx

NET = random_network([3, 5, 2], 3, seed=2)
POINTS = np.random.default_rng(0).normal(size=(1000, 3))


def refused(path: Path, message: str, **options: Any) -> None:
    with pytest.raises(pm.PolymarginError, match=message) as caught:
        pm.load(path, **options)
    assert "\n" not in str(caught.value)


class Canary:
    """Leaves a file behind if it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return (Path.touch, (self.path,))


# -- kinds -----------------------------------------------------------------------------------------


def test_npz_and_onnx(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    NET.save(tmp_path / "net.npz")
    to_onnx(NET, tmp_path / "net.ONNX")
    for file in ("net.npz", "net.ONNX"):
        assert pm.load(tmp_path / file).fingerprint == NET.fingerprint


def experiment(folder: Path, *, homogeneous: bool, bias: bool = True) -> list[np.ndarray]:
    """A folder as the authors of the paper write it: a PyTorch state dict as HDF5 datasets; the coefficients of σ."""
    h5py = pytest.importorskip("h5py")
    folder.mkdir(parents=True)
    config = {
        "model_class": "PolynomialNeuralNetwork", "input_dim": 3, "hidden_dims": [4, 5], "output_dim": 2, "act_degree": 2,
        "homogeneous": homogeneous, "bias": bias,
    }  # fmt: skip
    (folder / "model_config.json").write_text(json.dumps(config, indent=2))
    generator = np.random.default_rng(5)
    widths = [3, 4, 5, 2]
    arrays = {f"layers.{i}.weight": generator.normal(size=(widths[i + 1], widths[i])) for i in range(3)}
    if bias:
        arrays |= {f"layers.{i}.bias": generator.normal(size=widths[i + 1]) for i in range(3)}
    arrays |= {f"activations.{i}.coeffs": generator.normal(size=1 if homogeneous else 3) for i in range(2)}
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    with h5py.File(folder / "model_weights.h5", "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
    value = POINTS.astype(np.float64)
    for i in range(3):
        value = value @ arrays[f"layers.{i}.weight"].T.astype(np.float64)
        value = value + arrays[f"layers.{i}.bias"] if bias else value
        if i < 2:
            c = arrays[f"activations.{i}.coeffs"].astype(np.float64)
            value = c[0] * value**2 if homogeneous else c[0] + c[1] * value + c[2] * value**2
    return [value]


@pytest.mark.parametrize("homogeneous", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_experiment_folders_of_the_authors(tmp_path: Path, homogeneous: bool, bias: bool) -> None:
    (expected,) = experiment(tmp_path / "run" / "model", homogeneous=homogeneous, bias=bias)
    for folder in (tmp_path / "run", tmp_path / "run" / "model"):
        found = pm.load(folder)(POINTS)
        assert np.abs(found - expected).max() <= 1e-13 * np.abs(expected).max()


def test_bad_experiment_folders(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "a folder; expected a model file")
    experiment(tmp_path / "run", homogeneous=False)
    config = json.loads((tmp_path / "run" / "model_config.json").read_text())
    for change, message in (
        ({"model_class": "Sequential"}, "PolynomialNeuralNetwork"),
        ({"act_degree": "3"}, "act_degree '3'"),
        ({"act_degree": 0}, "act_degree 0"),
        ({"act_degree": 3}, "activations.0.coeffs has shape"),
        ({"homogeneous": None}, "homogeneous None"),
    ):
        (tmp_path / "run" / "model_config.json").write_text(json.dumps(config | change))
        refused(tmp_path / "run", message)
    (tmp_path / "run" / "model_config.json").write_text("{")
    refused(tmp_path / "run", "not valid JSON")
    (tmp_path / "run" / "model_config.json").write_text(json.dumps(config))
    with h5py.File(tmp_path / "run" / "model_weights.h5", "r+") as file:
        del file["layers.0.weight"]
        file["layers.0.weight"] = h5py.ExternalLink("/etc/passwd", "/x")
    refused(tmp_path / "run", "no dataset of floats in this file")
    (tmp_path / "run" / "model_weights.h5").write_bytes(b"\x89HDF\r\n\x1a\n garbage")
    refused(tmp_path / "run", "not a readable HDF5 file")
    (tmp_path / "run" / "model_weights.h5").unlink()
    refused(tmp_path / "run", "a folder; expected a model file, or model_config.json and model_weights.h5")


def classifier() -> Any:
    linear_model = pytest.importorskip("sklearn.linear_model")
    return linear_model.LogisticRegression().fit(POINTS, POINTS[:, 0] + 0.3 * POINTS[:, 1] > 0)


def test_scikit_learn_files(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    joblib = pytest.importorskip("joblib")
    estimator = classifier()
    skops.dump(estimator, tmp_path / "model.skops")
    joblib.dump(estimator, tmp_path / "model.joblib")
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(estimator))
    expected = pm.from_sklearn(estimator).fingerprint
    assert pm.load(tmp_path / "model.skops").fingerprint == expected
    for name in ("model.joblib", "model.pkl"):
        refused(tmp_path / name, "runs code when it is opened; if you trust it, say so")
        assert pm.load(tmp_path / name, trust=True).fingerprint == expected
    (tmp_path / "model.skops").write_bytes((tmp_path / "model.skops").read_bytes()[:200])
    refused(tmp_path / "model.skops", "not a zip archive")


def test_skops_files_with_unknown_types_need_trust(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    estimator = classifier()
    estimator.helper_ = np.random.RandomState(0).__class__  # a type that skops does not list as harmless
    skops.dump(estimator, tmp_path / "model.skops")
    if skops.get_untrusted_types(file=tmp_path / "model.skops"):
        refused(tmp_path / "model.skops", "does not know to be harmless")
        assert pm.load(tmp_path / "model.skops", trust=True).dimension == 3


def test_pickles_are_not_opened_without_trust(tmp_path: Path) -> None:
    canary = tmp_path / "was-here"
    for name in ("a.pkl", "a.joblib"):
        (tmp_path / name).write_bytes(pickle.dumps(Canary(canary)))
        refused(tmp_path / name, "runs code")
    assert not canary.exists()
    refused(tmp_path / "a.pkl", "holds a NoneType; expected a scikit-learn estimator", trust=True)
    assert canary.exists()
    (tmp_path / "a.pkl").write_bytes(b"cno_such_module\nThing\n.")
    refused(tmp_path / "a.pkl", "cannot be opened .ModuleNotFoundError", trust=True)


# -- PyTorch files ---------------------------------------------------------------------------------


def test_pytorch_files(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from polymargin.networks.writers.to_torch import to_torch

    module = to_torch(NET)
    torch.save(module.state_dict(), tmp_path / "state.pt")
    torch.save(module, tmp_path / "module.pth")
    assert pm.load(tmp_path / "state.pt").fingerprint == NET.fingerprint
    assert pm.load(tmp_path / "state.pt", trust=True).fingerprint == NET.fingerprint
    refused(tmp_path / "module.pth", "runs code when it is opened")
    assert pm.load(tmp_path / "module.pth", trust=True).fingerprint == NET.fingerprint


def test_state_dicts_without_activations_are_refused(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.save(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).state_dict(), tmp_path / "a.pt")
    refused(tmp_path / "a.pt", "2 linear layers and 0 activations; the weights alone do not say")
    torch.save(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).state_dict(), tmp_path / "b.pt")
    refused(tmp_path / "b.pt", "neither to a linear layer")
    torch.save([1, 2], tmp_path / "c.pt")
    refused(tmp_path / "c.pt", "expected a state dict")
    wide = torch.zeros(1).expand(1 << 16, 1 << 16)  # one number that claims to be 2^32 of them
    torch.save({"0.weight": wide}, tmp_path / "d.pt")
    refused(tmp_path / "d.pt", "is not read")
    (tmp_path / "e.pt").write_bytes(pickle.dumps(Canary(tmp_path / "was-here")))
    refused(tmp_path / "e.pt", "not a zip archive")
    torch.save(Canary(tmp_path / "was-here"), tmp_path / "f.pt")
    refused(tmp_path / "f.pt", "not a file of plain tensors")
    assert not (tmp_path / "was-here").exists()


# -- strangers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".npz", ".pt", ".skops"])
def test_archives_that_unpack_to_too_much(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polymargin.networks.readers.archives.LARGEST_FILE", 1 << 20)
    file = tmp_path / f"bomb{suffix}"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weight_1.npy", bytes(1 << 21))
    assert file.stat().st_size < 1 << 13
    refused(file, "unpacked")


def test_unknown_and_missing_files(tmp_path: Path) -> None:
    refused(tmp_path / "no.onnx", "no such file")
    (tmp_path / "model.h5").write_bytes(b"x")
    refused(tmp_path / "model.h5", r"unknown kind of model file '.h5'; expected .npz, .onnx")


def test_some_hundred_damaged_files() -> None:
    """The small sister of the run in docs/files.md: nothing crashes, hangs or floods the memory."""
    for package in ("onnx", "vnnlib._core", "torch", "skops", "h5py"):
        pytest.importorskip(package)
    tool = Path(__file__).parents[2] / "tools" / "fuzz_files.py"
    command = [sys.executable, str(tool), "--count", "520", "--seed", "7"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "520 mutations, seed 7, 0 failures" in result.stdout
