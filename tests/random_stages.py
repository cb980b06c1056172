"""Random networks of stages of all kinds, and their logits straight from the definition, in Fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from explicit_polynomials import explicit
from scipy import sparse

from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import RELU, Piecewise, Polynomial, Product, Stage

KINKED = (
    RELU,
    ((-1.0, 2.0), ((-1.0,), (0.0, 1.0), (2.0,))),
    ((0.0,), ((0.0, -0.25), (0.0, 1.0, 0.5))),
)
SERIES = ("powers", "chebyshev", "legendre", "hermite", "hermite_e")


def random_forms(draw: Any, widths: Sequence[int], height: int) -> Forms:
    """Dense and sparse blocks, some of them missing, with short dyadic numbers."""
    blocks = []
    for source, width in enumerate(widths):
        matrix = draw.integers(-8, 9, size=(height, width)) / 8
        share = draw.choice([0.0, 0.1, 1.0])
        matrix[draw.random(matrix.shape) >= share] = 0.0
        blocks.append((source, sparse.csr_array(matrix) if draw.random() < 0.5 else matrix))
    return Forms(tuple(widths), tuple(blocks), draw.integers(-8, 9, size=height) / 8)


def random_stages(seed: int, piecewise: bool = True) -> Network:
    """Three to five stages over two to five inputs."""
    draw = np.random.default_rng(seed)
    widths, stages = [int(draw.integers(2, 6))], list[Stage]()
    for _ in range(int(draw.integers(3, 6))):
        height, kind = int(draw.integers(1, 7)), draw.integers(3 if piecewise else 2)
        forms = [random_forms(draw, widths, height) for _ in range(2)]
        if kind == 0:
            stages.append(Product(*forms))
        elif kind == 1:
            coefficients = (*(draw.integers(-4, 5, size=draw.integers(1, 4)) / 4).tolist(), 0.5)
            stages.append(Polynomial(forms[0], coefficients, str(draw.choice(SERIES))))
        else:
            stages.append(Piecewise(forms[0], *KINKED[draw.integers(len(KINKED))]))
        widths.append(height)
    return Network(stages, random_forms(draw, widths, int(draw.integers(2, 4))))


def by_definition(network: Network, point: Sequence[Any]) -> list[Fraction]:
    """Logits in Fractions, one sum at a time."""

    def forms_at(forms: Forms, values: list[list[Fraction]]) -> list[Fraction]:
        result = []
        for row in range(len(forms)):
            total = Fraction(float(forms.bias[row]))
            for source, block in forms.blocks:
                weights = block.toarray() if sparse.issparse(block) else block
                total += sum(Fraction(float(w)) * v for w, v in zip(weights[row], values[source], strict=True))
            result.append(total)
        return result

    values = [[Fraction(v) for v in point]]
    for stage in network.stages:
        parts = [forms_at(forms, values) for forms in stage.forms]
        if isinstance(stage, Product):
            values.append([a * b for a, b in zip(*parts, strict=True)])
        elif isinstance(stage, Polynomial):
            series = [(Fraction(c), k) for k, c in enumerate(stage.coefficients)]
            values.append([sum((c * explicit(stage.basis, k, z) for c, k in series), Fraction(0)) for z in parts[0]])
        else:
            pieces = [stage.pieces[sum(z >= Fraction(t) for t in stage.breakpoints)] for z in parts[0]]
            values.append([
                sum((Fraction(c) * z**k for k, c in enumerate(piece)), Fraction(0))
                for piece, z in zip(pieces, parts[0], strict=True)
            ])  # fmt: skip
    return forms_at(network.readout, values)
