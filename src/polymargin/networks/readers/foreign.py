"""What the readers of foreign models have in common: optional packages, other programs' messages, refusals."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from polymargin.errors import InputError, MissingExtraError


def package(module: str, extra: str) -> Any:
    """An optional package, or one sentence that says how to get it.

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
    """The first line of another package's message, cut where it is long."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def opened(file: Path, opener: Callable[[], Any]) -> Any:
    """What a trusted pickle holds. Anything can be raised while it is opened: its own code runs."""
    try:
        return opener()
    except Exception as error:
        raise InputError(f"{file}: cannot be opened ({type(error).__name__}: {first_line(error)})") from None


def why_not(operation: str) -> str:
    """Why an operation, layer or operator of that name is not read."""
    if operation.lower() in ("softmax", "logsoftmax", "log_softmax"):
        return "not polynomial; it does not change which class wins: give the model without it"
    return "not polynomial, or not known"
