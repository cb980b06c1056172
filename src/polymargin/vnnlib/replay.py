"""Witnesses in ONNX Runtime.

The same point goes through the very file that was asked about, in a program that shares no code with this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.networks.readers.foreign import package
from polymargin.networks.readers.onnx_graph import OnnxModel
from polymargin.vnnlib.answering import QueryAnswer

Array = NDArray[np.float64]

# As in VNN-COMP: outputs agree if they differ by no more than this, relative to their size where that is above one.
TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Replay:
    """The outputs of ONNX Runtime at a point, in the file's own element type."""

    outputs: Array
    agrees: bool


def replay(path: Path, model: OnnxModel, point: Array, expected: Array) -> Replay:
    """Run the file at a point and compare with the outputs expected there."""
    runtime = package("onnxruntime", "vnnlib")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    kinds = {"float32": np.float32, "float64": np.float64, "float16": np.float16}
    if model.input_type not in kinds:
        raise InputError(f"{path}: an input of type {model.input_type} cannot be replayed")
    try:
        session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        given = point.reshape(model.input_shape).astype(kinds[model.input_type])
        outputs = session.run([model.output_name], {model.input_name: given})[0]
    except Exception as error:  # onnxruntime has its own exceptions for what it cannot load or run
        raise InputError(f"{path}: ONNX Runtime cannot run it ({str(error).splitlines()[0][:200]})") from None
    found = np.asarray(outputs, dtype=np.float64).reshape(-1)
    close = found.shape == expected.shape and np.all(
        np.abs(found - expected) <= TOLERANCE * np.maximum(1.0, np.abs(expected))
    )
    return Replay(found, bool(close))


def confirmed_outputs(file: Path, model: OnnxModel, answer: QueryAnswer) -> Array | None:
    """Return ONNX Runtime's outputs at the witness, None without one; raise an error if they disagree."""
    if answer.witness is None or answer.outputs is None:
        return None
    again = replay(file, model, answer.witness, answer.outputs)
    if not again.agrees:
        raise InputError(
            f"{file}: ONNX Runtime gives {again.outputs.tolist()} at the witness, exact arithmetic {answer.outputs.tolist()}; "
            "the answer is withheld"
        )
    return again.outputs
