"""`load`: a network from a file, by the file's suffix.

Files are data: nothing in them is run. Pickles (.pkl, .joblib, whole PyTorch modules) are programs and are opened only with
trust=True.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.format import HEADER
from polymargin.networks.network import Network
from polymargin.networks.readers.foreign import first_line, opened, package
from polymargin.networks.readers.from_arrays import from_arrays
from polymargin.networks.readers.from_sklearn import from_sklearn
from polymargin.networks.readers.from_torch import from_torch
from polymargin.networks.readers.npz import read_arrays


def load(
    path: Any,
    *,
    trust: bool = False,
    activation: Any = None,
    outputs: str | None = None,
    input_shape: tuple[int, ...] | None = None,
) -> Network:
    """Read a network.

    .npz                 what `save` writes; or plain arrays by name, with coefficients or with activation=
    .onnx                from PyTorch, Keras or any other exporter
    .pt, .pth            a state dict with coefficients, or with activation=; whole modules only with trust=True
    .pt2                 programs of torch.export, only with trust=True
    .safetensors         arrays by name, with activation=
    .skops               scikit-learn estimators; types that skops does not know only with trust=True
    .joblib, .pkl        only with trust=True: a pickle runs code when it is opened
    a folder             model_config.json and model_weights.h5, as the authors of the paper keep their experiments

    `activation` says what stands between linear layers whose file holds weights alone: 'square', 'relu', a degree, or
    coefficients, one for all layers or a list with one for each. `outputs` ('rows', 'columns') says where a matrix has its
    outputs, if its shape does not. `input_shape` is the shape of one input of a whole module.
    """
    file = Path(path)
    if file.is_dir():
        from polymargin.networks.readers.experiment_folder import read_experiment

        return read_experiment(file)
    if not file.is_file():
        raise InputError(f"{path}: no such file")
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        order = "; the model comes before the points" if file.suffix.lower() in (".npy", ".csv") else ""
        raise InputError(
            f"{path}: unknown kind of model file {file.suffix!r}; expected {', '.join(_READERS)} or a folder{order}"
        )
    if not file.stat().st_size:
        raise InputError(f"{path}: the file is empty; expected a model")
    for name, value in (("activation", activation), ("outputs", outputs)):
        if value is not None and reader not in (_npz, _torch, _safetensors):
            raise InputError(
                f"{path}: {name}= (--{name}) is for files of plain weights; a {file.suffix} file says what it computes"
            )
    if input_shape is not None and reader not in (_torch, _exported, _joblib, _pickle):
        raise InputError(
            f"{path}: input_shape= (--input-shape) is for whole modules of PyTorch; a {file.suffix} file says what it takes"
        )
    return reader(file, _Options(trust, activation, outputs, input_shape))


@dataclass(frozen=True)
class _Options:
    trust: bool
    activation: Any
    outputs: str | None
    input_shape: tuple[int, ...] | None


def _npz(file: Path, options: _Options) -> Network:
    arrays = read_arrays(file)
    told = options.activation is not None or options.outputs is not None or any("coeff" in name for name in arrays)
    if told and HEADER not in arrays:
        return _from_plain(file, arrays, options)
    for name in ("activation", "outputs"):
        if getattr(options, name) is not None:
            raise InputError(f"{file}: a network with its activations; leave {name}= (--{name}) out")
    return Network.load(file)


def _safetensors(file: Path, options: _Options) -> Network:
    from polymargin.networks.readers.safetensors_files import read_safetensors

    return _from_plain(file, read_safetensors(file), options)


def _from_plain(file: Path, arrays: dict[str, Any], options: _Options) -> Network:
    try:
        return from_arrays(arrays, options.activation, outputs=options.outputs)
    except InputError as error:
        raise InputError(f"{file}: {' '.join(str(error).split())}") from None  # names in the file may hold anything


def _onnx(file: Path, options: _Options) -> Network:
    from polymargin.networks.readers.onnx_graph import read_onnx

    network: Network = read_onnx(file).network
    return network


def _torch(file: Path, options: _Options) -> Network:
    from polymargin.networks.readers.torch_files import read_torch_file

    return read_torch_file(file, options.trust, options.activation, options.input_shape)


def _exported(file: Path, options: _Options) -> Network:
    from polymargin.networks.readers.torch_files import read_exported

    return read_exported(file, options.trust, options.input_shape)


def _skops(file: Path, options: _Options) -> Network:
    from polymargin.networks.readers.torch_files import check_archive

    skops = package("skops.io", "sklearn")
    check_archive(file)
    try:
        unknown = skops.get_untrusted_types(file=file)
        if unknown and not options.trust:
            raise InputError(
                f"{file}: holds objects of the types {', '.join(unknown[:5])}, which skops does not know to be harmless; if you "
                "trust the file, say so with trust=True (--trust)"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)  # weights are real numbers
            return _converted(skops.load(file, trusted=unknown), file, options)
    except InputError:
        raise
    except Exception as error:  # whatever skops meets in a damaged file
        raise InputError(f"{file}: not a valid skops file ({first_line(error)})") from None


def _joblib(file: Path, options: _Options) -> Network:
    _needs_trust(file, options.trust)
    joblib = package("joblib", "sklearn")
    return _converted(opened(file, lambda: joblib.load(file)), file, options)


def _pickle(file: Path, options: _Options) -> Network:
    _needs_trust(file, options.trust)
    with file.open("rb") as stream:
        return _converted(opened(file, lambda: pickle.load(stream)), file, options)


def _needs_trust(file: Path, trust: bool) -> None:
    if not trust:
        raise InputError(
            f"{file}: a pickle runs code when it is opened; if you trust it, say so with trust=True (--trust), "
            "or save the estimator with skops"
        )


def _converted(content: Any, file: Path, options: _Options) -> Network:
    """Return a network from an object: one of ours, a scikit-learn estimator, a PyTorch module."""
    if isinstance(content, Network):
        return content
    if any(kind.__module__.split(".")[0] == "torch" for kind in type(content).__mro__):
        return from_torch(content, options.input_shape)
    if any(kind.__module__.split(".")[0] == "sklearn" for kind in type(content).__mro__):
        return from_sklearn(content)
    raise InputError(f"{file}: holds a {type(content).__name__}; expected a scikit-learn estimator or a PyTorch module")


_READERS: dict[str, Callable[[Path, _Options], Network]] = {
    ".npz": _npz,
    ".onnx": _onnx,
    ".pt": _torch,
    ".pth": _torch,
    ".pt2": _exported,
    ".safetensors": _safetensors,
    ".skops": _skops,
    ".joblib": _joblib,
    ".pkl": _pickle,
}
