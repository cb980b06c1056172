"""What a network looks like, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from polymargin.networks.recurrences import POWERS
from polymargin.networks.stages import Piecewise, Product, Stage

_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def description(widths: Sequence[int], stages: Sequence[Stage], degree: int) -> str:
    """Return widths, functions and the degree, such as 784-256-64-10, x², logits of degree 4.

    >>> description((2, 3), (), 1)
    '2-3, logits of degree 1'
    """
    functions = [name for name, _ in groupby(map(function_name, stages))]
    if any(isinstance(stage, Piecewise) for stage in stages):
        ends = [] if degree <= 1 else [f"pieces of degree {degree}"]
    else:
        ends = [f"logits of degree {degree}"]
    return ", ".join(["-".join(map(str, widths)), *functions, *ends])


def function_name(stage: Stage) -> str:
    """Return what a stage computes of its forms."""
    if isinstance(stage, Product):
        return "products"
    if isinstance(stage, Piecewise):
        if stage.is_relu:
            return "ReLU"
        return "piecewise linear" if stage.degree <= 1 else f"piecewise of degree {stage.degree}"
    if stage.recurrence is not POWERS:
        return f"{stage.basis} series of degree {stage.degree}"
    if stage.coefficients == (*[0.0] * stage.degree, 1.0):
        return "x" if stage.degree == 1 else "x" + str(stage.degree).translate(_SUPERSCRIPTS)
    return "constants" if not stage.degree else f"polynomials of degree {stage.degree}"
