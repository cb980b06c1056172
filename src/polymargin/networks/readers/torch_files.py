"""PyTorch files (.pt, .pth).

A state dict is data and is opened with weights_only=True. It holds the weights but not the architecture, so it suffices only
where the activations are in it too: Linear layers and one tensor of coefficients per activation, as `to_torch` (and the paper's
authors) name them. A pickled module is a program: it is opened only where the caller trusts it.
"""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import Any

from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.networks.polynomial_network import PolynomialNetwork
from polymargin.networks.readers.foreign import first_line, opened, package
from polymargin.networks.readers.from_torch import from_torch
from polymargin.networks.readers.npz import ARCHIVE_DAMAGE, LARGEST_FILE, LARGEST_WEIGHTS, MOST_ENTRIES

LARGEST_PICKLE = 1 << 22
"""Bytes of the list of tensors in an archive. Each may become an object; tensors themselves lie beside it."""

_COEFFICIENTS = ("coefficients", "coeffs")


def read_torch_file(file: Path, trust: bool) -> Network:
    """A state dict with coefficients, or, trusted, a whole module."""
    check_archive(file)
    torch = package("torch", "torch")
    if trust:
        content = opened(file, lambda: torch.load(file, map_location="cpu", weights_only=False))
        return from_torch(content) if isinstance(content, torch.nn.Module) else _from_state(torch, content, file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what torch thinks of a damaged file is said in one sentence below
            content = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for a file that holds more than tensors, or is damaged
        raise InputError(
            f"{file}: not a file of plain tensors ({first_line(error)}); a pickled module runs code when it is opened: if you "
            "trust it, say so with trust=True (--trust)"
        ) from None
    return _from_state(torch, content, file)


def check_archive(file: Path) -> None:
    """Refuse what is not a zip archive, would unpack to too much, or is damaged: torch does not check sums."""
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > LARGEST_FILE or len(entries) > MOST_ENTRIES:
                raise InputError(f"{file}: more than {LARGEST_FILE} bytes or {MOST_ENTRIES} entries unpacked")
            if any(entry.filename.endswith(".pkl") and entry.file_size > LARGEST_PICKLE for entry in entries):
                raise InputError(f"{file}: more than {LARGEST_PICKLE} bytes for the list of its tensors")
            if len({entry.filename for entry in entries}) < len(entries):
                raise InputError(f"{file}: an entry of the archive is given twice")
            damaged = archive.testzip()
    except InputError:
        raise
    except (OSError, *ARCHIVE_DAMAGE) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(f"{file}: not a zip archive ({why}); files from before PyTorch 1.6 are not read") from None
    if damaged is not None:
        raise InputError(
            f"{file}: the entry {damaged!r} does not have the checksum it was written with; the file is damaged"
        )


def _from_state(torch: Any, content: Any, file: Path) -> PolynomialNetwork:
    if not isinstance(content, dict) or not all(isinstance(value, torch.Tensor) for value in content.values()):
        raise InputError(f"{file}: expected a state dict, tensors by name")
    layers: dict[str, dict[str, Any]] = {}
    activations: list[Any] = []
    for name, tensor in content.items():
        owner, _, part = str(name).rpartition(".")
        if tensor.numel() > LARGEST_WEIGHTS or tensor.is_complex() or tensor.layout != torch.strided:
            raise InputError(f"{file}: {name} is a tensor of shape {tuple(tensor.shape)} that is not read")
        if part in _COEFFICIENTS and tensor.ndim == 1:
            activations.append(_numbers(tensor))
        elif (part, tensor.ndim) in (("weight", 2), ("bias", 1)):
            layers.setdefault(owner, {})[part] = _numbers(tensor)
        else:
            raise InputError(f"{file}: {name} belongs neither to a Linear layer nor to an activation with coefficients")
    if not layers or len(activations) != len(layers) - 1 or any("weight" not in layer for layer in layers.values()):
        raise InputError(
            f"{file}: a state dict with {len(layers)} linear layers and {len(activations)} activations; the weights alone do not "
            "say what the network computes: build the module, load the state dict into it and call from_torch"
        )
    pairs = [(layer["weight"], layer.get("bias")) for layer in layers.values()]
    return PolynomialNetwork(pairs, activations=activations)


def _numbers(tensor: Any) -> Any:
    return tensor.detach().double().numpy()
