"""PyTorch files (.pt, .pth).

A state dict is data and is opened with weights_only=True, on the CPU wherever it was saved. It holds the weights but not the
architecture: Linear layers one after the other, and either one tensor of coefficients per activation, as `to_torch` (and the
paper's authors) name them, or what the caller says they are. A pickled module is a program: it is opened only where the
caller trusts it.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.networks.readers.archives import ARCHIVE_DAMAGE, bounded_archive
from polymargin.networks.readers.foreign import Foreign, first_line, opened, package
from polymargin.networks.readers.from_arrays import from_arrays
from polymargin.networks.readers.from_torch import from_torch
from polymargin.networks.readers.npz import LARGEST_WEIGHTS

LARGEST_PICKLE = 1 << 22
"""Bytes of the list of tensors in an archive. Each may become an object; tensors themselves lie beside it."""


def read_torch_file(
    file: Path, trust: bool, activation: Any = None, input_shape: tuple[int, ...] | None = None
) -> Network:
    """Return a state dict with coefficients or a given activation, or, trusted, a whole module."""
    check_archive(file)
    torch = package("torch", "torch")
    if trust:
        content = opened(file, lambda: torch.load(file, map_location="cpu", weights_only=False))
        return (
            from_torch(content, input_shape)
            if isinstance(content, torch.nn.Module)
            else _from_state(torch, content, file, activation)
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what torch thinks of a damaged file is said in one sentence below
            content = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for a file that holds more than tensors, or is damaged
        raise InputError(
            f"{file}: not a file of plain tensors ({first_line(error)}); a pickled module runs code when it is opened: if you "
            "trust it, say so with trust=True (--trust)"
        ) from None
    return _from_state(torch, content, file, activation)


def read_exported(file: Path, trust: bool, input_shape: tuple[int, ...] | None = None) -> Network:
    """Return a program of `torch.export`."""
    check_archive(file)
    torch = package("torch", "torch")
    if not trust:
        raise InputError(
            f"{file}: a program of torch.export; PyTorch opens parts of it as pickles, which run code: if you trust it, say so "
            "with trust=True (--trust), or export the model to ONNX"
        )
    return from_torch(opened(file, lambda: torch.export.load(str(file))), input_shape)


def check_archive(file: Path) -> None:
    """Refuse what is not a zip archive, would unpack to too much, or is damaged: torch does not check sums."""
    try:
        with bounded_archive(file) as archive:
            sizes = [entry.file_size for entry in archive.infolist() if entry.filename.endswith(".pkl")]
            if max(sizes, default=0) > LARGEST_PICKLE:
                raise InputError(f"{file}: more than {LARGEST_PICKLE} bytes for the list of its tensors")
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


def _from_state(torch: Foreign, content: Foreign, file: Path, activation: Any) -> Network:
    state = _state(torch, content)
    if state is None:
        raise InputError(f"{file}: expected a state dict, tensors by name, alone or in a checkpoint")
    for name, tensor in state.items():
        if tensor.numel() > LARGEST_WEIGHTS or tensor.is_complex() or tensor.layout != torch.strided:
            raise InputError(f"{file}: {name} is a tensor of shape {tuple(tensor.shape)} that is not read")
    arrays = {str(name): tensor.detach().double().numpy() for name, tensor in state.items()}
    try:
        return from_arrays(arrays, activation, outputs="rows")
    except InputError as error:
        raise InputError(f"{file}: {' '.join(str(error).split())}") from None  # names in the file may hold anything


def _state(torch: Foreign, content: Foreign) -> dict[Any, Any] | None:
    """Return the tensors by name; checkpoints keep them beside the epoch, the optimiser and the like."""

    def tensors(value: Any) -> bool:
        return (
            isinstance(value, dict) and bool(value) and all(isinstance(entry, torch.Tensor) for entry in value.values())
        )

    if tensors(content):
        return dict(content)
    inner = [value for value in content.values() if tensors(value)] if isinstance(content, dict) else []
    return inner[0] if len(inner) == 1 else None
