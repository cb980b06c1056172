"""A model in whatever form a person has it: a network, a PyTorch module, an estimator, a path.

`any_model` lets a function of a network take all of these. Networks with ReLU are answered by the room for them, which is above
this one: it is named, not imported, and loaded when such a network comes along.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from polymargin.errors import InputError

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

PIECEWISE = "polymargin.piecewise"
PIECEWISE_KINDS = {"ReLUNetwork", "SplineNetwork"}


def any_model(
    piecewise: str | None = None, *, of_both_kinds: bool = False
) -> Callable[[Callable[Parameters, Answer]], Callable[Parameters, Answer]]:
    """Read the first argument of a function; `piecewise` names the function that answers for networks with ReLU, if any does.

    A function `of_both_kinds` takes such networks itself.
    """

    def decorate(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
        signature = inspect.signature(function)
        first = next(iter(signature.parameters))

        @wraps(function)
        def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
            try:
                given = signature.bind(*args, **kwargs)
            except TypeError:  # Python has a better sentence for this
                return function(*args, **kwargs)
            given.arguments[first] = network_from(given.arguments[first])
            if type(given.arguments[first]).__name__ in PIECEWISE_KINDS and not of_both_kinds:
                if piecewise is None:
                    raise InputError(
                        f"{function.__name__} is for polynomial networks; piecewise_margin and piecewise_verify answer for "
                        "networks with ReLU"
                    )
                return cast(Answer, _piecewise(piecewise, dict(given.arguments)))
            return function(*given.args, **given.kwargs)

        return call

    return decorate


def network_from(model: Any) -> Any:
    """A module, an estimator or a path as a network; anything else as it is."""
    if isinstance(model, (str, PathLike)):
        return _from_file(Path(model))
    packages = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    if "torch" in packages and hasattr(model, "forward"):
        if _has_relu(model):
            return importlib.import_module(PIECEWISE).relu_from_torch(model)
        from polymargin.networks.readers.from_torch import from_torch

        return from_torch(model)
    if "sklearn" in packages and hasattr(model, "get_params"):
        from polymargin.networks.readers.from_sklearn import from_sklearn

        return from_sklearn(model)
    return model


def _from_file(file: Path) -> Any:
    if file.suffix.lower() == ".onnx" and file.is_file():
        piecewise = importlib.import_module(PIECEWISE)
        if piecewise.has_relu(file):
            return piecewise.relu_from_onnx(file)
    from polymargin.networks.readers.load import load

    return load(file)


def _has_relu(module: Any) -> bool:
    return any(type(part).__name__ == "ReLU" for part in module.modules())


def _piecewise(name: str, arguments: dict[str, Any]) -> Any:
    """The function of the room for ReLU networks, with what it takes of the arguments."""
    function = getattr(importlib.import_module(PIECEWISE), name)
    model, *given = arguments.items()
    known = inspect.signature(function).parameters
    surplus = [option for option, _ in given if option not in known]
    if surplus:
        raise InputError(f"{surplus[0]}= is not for networks with ReLU; {name} takes {', '.join(list(known)[1:])}")
    return function(model[1], **dict(given))
