"""ONNX files as messages: sizes first, and data outside the file only from a plain file beside it.

Both readers of ONNX models, for polynomial and for ReLU networks, come through here: there is one rule for what a file may do.
"""

from __future__ import annotations

import os
import stat
from math import prod
from pathlib import Path
from typing import Any

from polymargin.errors import InputError
from polymargin.networks.readers.foreign import Foreign, first_line, package
from polymargin.networks.readers.npz import LARGEST_WEIGHTS
from polymargin.networks.readers.onnx_sizes import check_sizes

LARGEST_FILE = 1 << 28


def read_message(path: Any) -> Any:
    """Return the ModelProto in a file; its external data are not read yet."""
    onnx = package("onnx", "onnx")
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{path}: no such file")
    try:
        size = file.stat().st_size
        if size > LARGEST_FILE:
            raise InputError(f"{path}: {size} bytes, more than the {LARGEST_FILE} this reader accepts")
        content = file.read_bytes()
        check_sizes(content, onnx.ModelProto.DESCRIPTOR, path)
        return onnx.ModelProto.FromString(content)
    except OSError as error:
        raise InputError(f"{path}: cannot read the file ({error.strerror or error})") from None
    except Exception as error:
        if isinstance(error, InputError):
            raise
        # protobuf's own exception, whose class depends on its version
        raise InputError(f"{path}: not a valid ONNX file ({first_line(error)})") from None


def numbers(tensor: Foreign, name: str, folder: Path) -> Any:
    """Return the array of a TensorProto, from the message or from a file in the folder of the model."""
    onnx = package("onnx", "onnx")
    if any(length < 0 for length in tensor.dims) or prod(tensor.dims) > LARGEST_WEIGHTS:
        raise InputError(f"{name} has shape {list(tensor.dims)}; at most {LARGEST_WEIGHTS} numbers are accepted")
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        _fetch(onnx, tensor, name, folder)
    try:
        return onnx.numpy_helper.to_array(tensor)
    except Exception as error:  # whatever the helper meets in a damaged tensor
        raise InputError(f"{name} cannot be read ({first_line(error)})") from None


def _fetch(onnx: Foreign, tensor: Foreign, name: str, folder: Path) -> None:
    """Bring external data into the message. A symbolic link could lead anywhere, and so is no file of this folder."""
    entries = {str(entry.key): str(entry.value) for entry in tensor.external_data}
    location = entries.get("location", "")
    try:
        wanted = prod(tensor.dims) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        offset, length = int(entries.get("offset", "0")), int(entries.get("length", str(wanted)))
    except (ValueError, KeyError):
        raise InputError(f"{name}: an element type, an offset or a length that is not known") from None
    outside = InputError(f"{name} lies in {location!r}; expected a file in the folder of the model, no link")
    if not location or Path(location).name != location:
        raise outside
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(folder / location, flags), "rb") as stream:
            facts = os.fstat(stream.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise outside
            if length != wanted or offset < 0 or offset + length > facts.st_size:
                raise InputError(
                    f"{name}: {length} bytes from {offset} on in {location!r}; expected {wanted} bytes there"
                )
            stream.seek(offset)
            tensor.raw_data = stream.read(length)
    except (OSError, ValueError) as error:
        raise error if isinstance(error, InputError) else outside from None
    tensor.ClearField("data_location")
    tensor.ClearField("external_data")
