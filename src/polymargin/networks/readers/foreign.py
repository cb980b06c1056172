"""What the readers of foreign models have in common: optional packages, other programs' messages, refusals."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from polymargin.errors import InputError, MissingExtraError

Foreign: TypeAlias = Any
"""A package that is an extra, or an object of one: a module, an estimator, a message of a file. It has no types here."""


def package(module: str, extra: str) -> Foreign:
    """Return an optional package, or one sentence that says how to get it.

    >>> package("no_such_package", "onnx")
    Traceback (most recent call last):
    polymargin.errors.MissingExtraError: this needs the package no_such_package; install it with: pip install 'polymargin[onnx]'
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise MissingExtraError(
            f"this needs the package {name}; install it with: pip install 'polymargin[{extra}]'"
        ) from None


def first_line(error: BaseException) -> str:
    r"""Return the first line of another package's message, cut where it is long, without colours and other codes of terminals.

    >>> first_line(ValueError("\x1b[31mnot a file\x1b[0m of mine"))
    'not a file of mine'
    """
    plain = re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "", str(error))
    lines = re.sub(r"[^\S\n]|[\x00-\x09\x0b-\x1f\x7f]", " ", plain).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def opened(file: Path, opener: Callable[[], Foreign]) -> Foreign:
    """Return the object in a trusted pickle. Opening it can raise any exception: its own code runs."""
    try:
        return opener()
    except Exception as error:
        raise InputError(f"{file}: cannot be opened ({type(error).__name__}: {first_line(error)})") from None


def why_not(operation: str) -> str:
    """Return why an operation, layer or operator of that name is not read."""
    if operation.lower() in ("softmax", "logsoftmax", "log_softmax"):
        return "not polynomial; it does not change which class wins: give the model without it"
    return "neither polynomial nor piecewise polynomial, or not known; replace it by a polynomial, ReLU or a spline"
