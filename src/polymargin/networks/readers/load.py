"""`load`: a network from a file, by the file's suffix.

Files are data: nothing in them is run. Pickles (.pkl, .joblib, whole PyTorch modules) are programs and are opened only with
trust=True.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.attention import LightningAttention
from polymargin.networks.network import Network
from polymargin.networks.polynomial_network import PolynomialNetwork
from polymargin.networks.readers.foreign import first_line, opened, package
from polymargin.networks.readers.from_sklearn import from_sklearn
from polymargin.networks.readers.from_torch import from_torch
from polymargin.networks.readers.npz import load_npz


def load(path: Any, *, trust: bool = False) -> Network:
    """Read a network.

    .npz                 what `save` writes
    .onnx                from PyTorch, Keras or any other exporter
    .pt, .pth            a state dict with coefficients; whole modules only with trust=True
    .skops               scikit-learn estimators; types that skops does not know only with trust=True
    .joblib, .pkl        only with trust=True: a pickle runs code when it is opened
    a folder             model_config.json and model_weights.h5, as the authors of the paper keep their experiments
    """
    file = Path(path)
    if file.is_dir():
        from polymargin.networks.readers.experiment_folder import read_experiment

        return read_experiment(file)
    if not file.is_file():
        raise InputError(f"{path}: no such file")
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise InputError(
            f"{path}: unknown kind of model file {file.suffix!r}; expected {', '.join(_READERS)} or a folder"
        )
    return reader(file, trust)


def _npz(file: Path, trust: bool) -> Network:
    return load_npz(file)


def _onnx(file: Path, trust: bool) -> Network:
    from polymargin.networks.readers.onnx_graph import read_onnx

    return read_onnx(file).network


def _torch(file: Path, trust: bool) -> Network:
    from polymargin.networks.readers.torch_files import read_torch_file

    return read_torch_file(file, trust)


def _skops(file: Path, trust: bool) -> Network:
    from polymargin.networks.readers.torch_files import check_archive

    skops = package("skops.io", "sklearn")
    check_archive(file)
    try:
        unknown = skops.get_untrusted_types(file=file)
        if unknown and not trust:
            raise InputError(
                f"{file}: holds objects of the types {', '.join(unknown[:5])}, which skops does not know to be harmless; if you "
                "trust the file, say so with trust=True (--trust)"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)  # weights are real numbers
            return _converted(skops.load(file, trusted=unknown), file)
    except InputError:
        raise
    except Exception as error:  # whatever skops meets in a damaged file
        raise InputError(f"{file}: not a valid skops file ({first_line(error)})") from None


def _joblib(file: Path, trust: bool) -> Network:
    _needs_trust(file, trust)
    joblib = package("joblib", "sklearn")
    return _converted(opened(file, lambda: joblib.load(file)), file)


def _pickle(file: Path, trust: bool) -> Network:
    _needs_trust(file, trust)
    with file.open("rb") as stream:
        return _converted(opened(file, lambda: pickle.load(stream)), file)


def _needs_trust(file: Path, trust: bool) -> None:
    if not trust:
        raise InputError(
            f"{file}: a pickle runs code when it is opened; if you trust it, say so with trust=True (--trust), "
            "or save the estimator with skops"
        )


def _converted(content: Any, file: Path) -> Network:
    """A network from an object: one of ours, a scikit-learn estimator, a PyTorch module."""
    if isinstance(content, (PolynomialNetwork, LightningAttention)):
        return content
    if any(kind.__module__.split(".")[0] == "torch" for kind in type(content).__mro__):
        return from_torch(content)
    if any(kind.__module__.split(".")[0] == "sklearn" for kind in type(content).__mro__):
        return from_sklearn(content)
    raise InputError(f"{file}: holds a {type(content).__name__}; expected a scikit-learn estimator or a PyTorch module")


_READERS: dict[str, Callable[[Path, bool], Network]] = {
    ".npz": _npz,
    ".onnx": _onnx,
    ".pt": _torch,
    ".pth": _torch,
    ".skops": _skops,
    ".joblib": _joblib,
    ".pkl": _pickle,
}
