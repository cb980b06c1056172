"""The abilities of this solver, in the words of the VNN-LIB 2.0 standard: one entry per option of its `supports` command."""

from __future__ import annotations

from polymargin.networks.readers.foreign import package
from polymargin.networks.readers.onnx_graph import OLDEST_OPSET
from polymargin.networks.readers.onnx_operators import OPERATORS


def capabilities() -> dict[str, list[str]]:
    """Return lines to print by capability. Analysis is sound over the reals, so `real` is the only element type."""
    return {
        "onnx-opset-versions": [str(OLDEST_OPSET), str(package("onnx", "onnx").defs.onnx_opset_version())],
        "onnx-element-types": ["real"],
        "onnx-operators": sorted([*OPERATORS, "Constant"]),
        "vnnlib-versions": ["1.0", "2.0"],
        "hidden-node-theories": ["NH"],
        "multiple-input-output-theories": ["SIO"],
        "multiple-network-theories": ["SNET"],
        "multiple-node-comparison-theories": ["SNC"],
        "arithmetic-complexity-theories": [
            "OUTC",
            "POLY * L2 balls are decided; other polynomials only where a ball or a box encloses the inputs",
        ],
        "optimised-disjunctive-reasoning": ["false"],
        "serialise-assignments": ["true"],
        "unsat-proofs": ["false"],
    }
