"""What public functions may be given, checked in one place before any work begins.

A parameter name means the same everywhere: `seed`, `threads`, `limit`, `timeout`, and the model, which comes first. So
`@checked(...)` above a public function checks them by name; the kinds of model it takes stand in the brackets. Points need a
dimension and are turned into arrays by `checked_point`. A wrong value gets one sentence: the value, what is expected, the remedy.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from os import PathLike
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.errors import InputError

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

# Longer values are cut in messages.
LONGEST = 60
# No answer needs it, so a network that is never written to a file may lack it.
UNASKED = {"save"}


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


def checked_point(point: ArrayLike, dimension: int, name: str = "point") -> NDArray[np.float64]:
    """One point as an array (n,)."""
    u = real_numbers(name, point)
    if u.shape != (dimension,):
        shape = f"{len(u)} numbers" if u.ndim == 1 else f"shape {u.shape}"
        raise InputError(f"{name} {_short(u.tolist())} of {shape}: expected {dimension} finite numbers")
    if not np.isfinite(u).all():
        raise InputError(
            f"{name} {_short(u.tolist())} contains {u[~np.isfinite(u)][0]}: expected {dimension} finite numbers"
        )
    return u


def real_numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """An array of real numbers of any shape."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biufO" and values is not None:
            return array.astype(np.float64)
    except (TypeError, ValueError):
        pass  # ragged, or objects that are no numbers
    raise InputError(f"{name} {_short(values)}: expected an array of real numbers")


def check_model(name: str, value: Any, kinds: tuple[Any, ...]) -> None:
    """Refuse what is none of these kinds; a protocol is recognised by its methods."""
    if any(_is(value, kind) for kind in kinds):
        return
    expected = " or ".join(f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}" for kind in kinds)
    remedy = _remedy(value, expected)
    raise InputError(f"{name} {_short(value)}: expected {expected}" + (f"; {remedy}" if remedy else ""))


def _is(value: Any, kind: Any) -> bool:
    if not getattr(kind, "_is_protocol", False):
        return isinstance(value, kind)
    methods = {name for name in dir(kind) if not name.startswith("_") and inspect.isfunction(getattr(kind, name))}
    return all(callable(getattr(type(value), name, None)) for name in methods - UNASKED)


def _remedy(value: Any, expected: str) -> str:
    """What to do with things that are often given instead."""
    kinds = {kind.__name__ for kind in type(value).__mro__}
    packages = {kind.__module__.partition(".")[0] for kind in type(value).__mro__}
    if isinstance(value, (str, PathLike)):
        return "polymargin.load(path) reads a network from a file"
    if "torch" in packages or "sklearn" in packages:
        return f"polymargin.from_{'torch' if 'torch' in packages else 'sklearn'} makes a network of it"
    if kinds & {"ReLUNetwork", "SplineNetwork"}:
        return "piecewise_margin and piecewise_verify are for such networks"
    if "Boundary" in expected and hasattr(value, "class_count"):
        return "Boundary.from_network(network, label, rival) makes one of two classes"
    if "ReLUNetwork" in expected and "PolynomialNetwork" in kinds:
        return "margin and verify are for polynomial networks"
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


CHECKS: dict[str, Callable[[str, Any], None]] = {
    "seed": _whole_number(0),
    "threads": _unless_none(_whole_number(1, ", or None for all cores")),
    "limit": _positive,
    "timeout": _unless_none(_positive),
}


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
