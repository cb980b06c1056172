"""A model in whatever form a person has it: a network, a PyTorch module, an estimator, a path."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from os import PathLike
from typing import Any, ParamSpec, TypeVar

from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.networks.readers.from_sklearn import from_sklearn
from polymargin.networks.readers.from_torch import from_torch
from polymargin.networks.readers.load import load

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


def reads_model(
    *, polynomial: bool = True, piecewise: Callable[[], Callable[..., Any]] | None = None
) -> Callable[[Callable[Parameters, Answer]], Callable[Parameters, Answer]]:
    """Read the first argument of a function of a network.

    polynomial   refuse networks with piecewise stages
    piecewise    gives the function that answers for those instead, with the arguments that it takes
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
            model = given.arguments[first] = network_from(given.arguments[first])
            if polynomial and isinstance(model, Network) and not model.is_polynomial:
                if piecewise is None:
                    raise InputError(
                        f"{function.__name__} is for polynomial networks, and {model!r} is piecewise; margin and verify answer "
                        "for such networks"
                    )
                result: Answer = _with_what_it_takes(piecewise(), given.arguments)
                return result
            return function(*given.args, **given.kwargs)

        return call

    return decorate


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


def _with_what_it_takes(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    model, *given = arguments.items()
    known = inspect.signature(function).parameters
    surplus = [option for option, _ in given if option not in known]
    if surplus:
        raise InputError(
            f"{surplus[0]}= is not for networks with piecewise stages; {function.__name__} takes {', '.join(list(known)[1:])}"
        )
    return function(model[1], **dict(given))
