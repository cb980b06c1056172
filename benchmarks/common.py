"""What the benchmarks share: the named networks, and a table that lines up.

Import it before NumPy: its linear algebra starts threads that wait by spinning, which would count as CPU time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise

for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

import polymargin as pm  # noqa: E402

Array = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]


def network(inputs: int, hidden: Sequence[int], degree: int, generator: np.random.Generator) -> pm.Network:
    """Two classes, activations z^degree, all weights and biases standard normal."""
    widths = [inputs, *hidden, 2]
    layers = [
        (generator.normal(size=(after, before)), generator.normal(size=after)) for before, after in pairwise(widths)
    ]
    return pm.PolynomialNetwork(layers, degree=degree)


def shallow_coefficients(net: pm.Network) -> tuple[Array, Array, Array, float]:
    """W, b, a, β of the boundary B(x) = Σ a_j (w_j·x + b_j)^d + β between class 0 and class 1."""
    first, last = net.chain.layers
    outer = last.weights[0] - last.weights[1]
    return first.weights, first.bias, outer, float(last.bias[0] - last.bias[1])


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns padded to their widest entry: the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    for row in (header, *rows):
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        print("  ".join(cells).rstrip())
