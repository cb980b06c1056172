"""Checks of the arguments of public functions, in one place, before any work begins.

A parameter name means the same everywhere: `seed`, `threads`, `limit`, `timeout`, and the model, which comes first. So
`@checked(...)` above a public function checks them by name; the kinds of model it takes stand in the brackets. Points need a
dimension and are turned into arrays by `checked_point`. A wrong value gets one sentence: the value, what is expected, the remedy.

Numbers are taken as they are or refused. NumPy turns complex numbers into their real parts, dates into counts of days, masked
entries into what lies under the mask, and texts into the numbers they spell: each would give an answer about another point.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import wraps
from os import PathLike
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.errors import InputError

Array = NDArray[np.float64]
Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

# Critical points, or paths, beyond which nothing is enumerated unless asked for.
DEFAULT_LIMIT = 200_000
# Longer values are cut in messages.
LONGEST = 60


def checked(*models: Any) -> Callable[[Callable[Parameters, Answer]], Callable[Parameters, Answer]]:
    """Check the arguments of a function by their names, and its first one to be of one of these kinds, if any are given."""

    def decorate(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
        signature = inspect.signature(function)
        first = next(iter(signature.parameters))

        @wraps(function)
        def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
            try:
                given = signature.bind(*args, **kwargs).arguments
            except TypeError:  # Python has a better sentence for this
                return function(*args, **kwargs)
            if models:
                check_model(first, given[first], models)
            for name, value in given.items():
                if name in CHECKS:
                    CHECKS[name](name, value)
            return function(*args, **kwargs)

        return call

    return decorate


def checked_point(point: ArrayLike, dimension: int, name: str = "point") -> Array:
    """Return one point as an array (n,)."""
    u = real_array(point, name)
    if u.shape != (dimension,):
        shape = f"{len(u)} numbers" if u.ndim == 1 else f"shape {u.shape}"
        raise InputError(f"{name} {_short(u.tolist())} of {shape}: expected {dimension} finite numbers")
    if not np.isfinite(u).all():
        raise InputError(
            f"{name} {_short(u.tolist())} contains {u[~np.isfinite(u)][0]}: expected {dimension} finite numbers"
        )
    return u


def real_array(values: Any, name: str) -> Array:
    """Return the values as float64; only real numbers are accepted.

    >>> real_array([1, 2.5], "the point")
    array([1. , 2.5])
    >>> real_array([1 + 2j], "the point")
    Traceback (most recent call last):
    polymargin.errors.InputError: the point: not an array of real numbers but of complex128
    """
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    if _is_masked(values):
        raise InputError(f"{name}: a masked array; expected real numbers: fill it or leave the masked rows out")
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":  # Fractions, decimals, large integers; float() refuses what is not real
            if any(isinstance(entry, (str, bytes, complex)) for entry in array.flat):
                raise TypeError
            return np.array([float(entry) for entry in array.flat], dtype=np.float64).reshape(array.shape)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise InputError(f"{name}: not an array of real numbers") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name}: not an array of real numbers but of {array.dtype}")
    return np.asarray(array, dtype=np.float64)


def positive(value: Any, name: str) -> float:
    """Return a finite number above zero, such as a tolerance.

    >>> positive(float("nan"), "tolerance")
    Traceback (most recent call last):
    polymargin.errors.InputError: tolerance=nan: expected a positive, finite number
    """
    if isinstance(value, (bool, complex, str)) or not _is_positive(value):
        raise InputError(f"{name}={value!r}: expected a positive, finite number")
    return float(value)


def check_model(name: str, value: Any, kinds: tuple[Any, ...]) -> None:
    """Refuse what is none of these kinds."""
    if isinstance(value, kinds):
        return
    expected = " or ".join(f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}" for kind in kinds)
    remedy = _remedy(value, expected)
    raise InputError(f"{name} {_short(value)}: expected {expected}" + (f"; {remedy}" if remedy else ""))


def _remedy(value: Any, expected: str) -> str:
    """Return the remedy for values that are often given instead."""
    packages = {kind.__module__.partition(".")[0] for kind in type(value).__mro__}
    if isinstance(value, (str, PathLike)):
        return "polymargin.load(path) reads a network from a file"
    if "torch" in packages or "sklearn" in packages:
        return f"polymargin.from_{'torch' if 'torch' in packages else 'sklearn'} makes a network of it"
    if "Boundary" in expected and hasattr(value, "class_count"):
        return "Boundary.from_network(network, label, rival) makes one of two classes"
    if "Network" in expected:
        return "load, from_torch, from_sklearn and from_arrays read models"
    return ""


def _whole_number(least: int, remedy: str = "") -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
            raise InputError(f"{name} {_short(value)}: expected an integer >= {least}{remedy}")

    return check


def _positive(name: str, value: Any) -> None:
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool) or not value > 0:
        raise InputError(f"{name} {_short(value)}: expected a positive number")


def _unless_none(check: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
    return lambda name, value: None if value is None else check(name, value)


def check_named(name: str, value: Any) -> None:
    """Refuse a wrong value of an option whose name says what it may be."""
    CHECKS[name](name, value)


CHECKS: dict[str, Callable[[str, Any], None]] = {
    "seed": _whole_number(0),
    "threads": _unless_none(_whole_number(1, ", or None for all cores")),
    "limit": _unless_none(_positive),
    "workers": _unless_none(_whole_number(1, ", an executor, a Dask client, or None for all cores")),
    "timeout": _unless_none(_positive),
}


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _is_positive(value: Any) -> bool:
    try:
        return 0 < float(value) < math.inf
    except (TypeError, ValueError, OverflowError):
        return False


def _is_masked(values: Any) -> bool:
    rows = values if isinstance(values, (list, tuple)) else (values,)
    return any(isinstance(row, np.ma.MaskedArray) for row in rows)
