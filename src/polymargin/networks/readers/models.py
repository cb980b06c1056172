"""A model in whatever form a person has it: a network, a PyTorch module, an estimator, a path."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from os import PathLike
from typing import Any, ParamSpec, TypeVar

from polymargin.networks.readers.from_sklearn import from_sklearn
from polymargin.networks.readers.from_torch import from_torch
from polymargin.networks.readers.load import load

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


def reads_model(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Read the first argument of a function of a network."""
    signature = inspect.signature(function)
    first = next(iter(signature.parameters))

    @wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError:  # Python has a better sentence for this
            return function(*args, **kwargs)
        given.arguments[first] = network_from(given.arguments[first])
        return function(*given.args, **given.kwargs)

    return call


def network_from(model: Any) -> Any:
    """Return a module, an estimator or a path as a network; anything else as it is."""
    if isinstance(model, (str, PathLike)):
        return load(model)
    packages = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    if "torch" in packages and (hasattr(model, "forward") or hasattr(model, "graph_module")):
        return from_torch(model)
    if "sklearn" in packages and hasattr(model, "get_params"):
        return from_sklearn(model)
    return model
