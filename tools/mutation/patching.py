"""Put a mutant into the modules that are already imported, in this process.

A changed function gets its new code object in place, so that everyone who imported it runs the new one; a changed
constant is assigned in its module and wherever it was imported to.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from mutation.mutants import Mutant


@contextlib.contextmanager
def applied(mutant: Mutant, package: str) -> Iterator[None]:
    """Inside, everyone runs the mutant."""
    parts = [part for part in mutant.file.removesuffix(".py").split("/") if part != "__init__"]
    module = sys.modules[".".join([package, *parts])]
    tree = mutant.build()
    target: Any = module
    for part in mutant.place.split("."):
        target = vars(target)[part] if isinstance(target, type) else getattr(target, part)
    function = _function(target)
    if function is not None:
        before = function.__code__
        function.__code__ = _code(compile(tree, str(module.__file__), "exec"), mutant.place)
    else:
        value = _value(module, tree, mutant.place)
        _assign(mutant.place, target, value, package)
    _forget(package)
    try:
        yield
    finally:
        if function is not None:
            function.__code__ = before
        else:
            _assign(mutant.place, value, target, package)
        _forget(package)


def _forget(package: str) -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith(package):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def _function(target: Any) -> FunctionType | None:
    if isinstance(target, property):
        return target.fget  # type: ignore[return-value]
    if isinstance(target, functools.cached_property):
        return target.func  # type: ignore[return-value]
    target = getattr(target, "__wrapped__", target)
    return target if isinstance(target, FunctionType) else None


def _code(module: CodeType, place: str) -> CodeType:
    code = module
    for part in place.split("."):
        code = next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == part)
    return code


def _value(module: Any, tree: ast.Module, name: str) -> Any:
    """What the changed assignment gives."""
    statement = next(n for n in tree.body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == name)
    names = dict(vars(module))
    exec(compile(ast.Module([statement], []), str(module.__file__), "exec"), names)
    return names[name]


def _assign(name: str, before: Any, after: Any, package: str) -> None:
    """In its module, and wherever it was imported to."""
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith(package) and getattr(module, name, None) is before:
            setattr(module, name, after)
