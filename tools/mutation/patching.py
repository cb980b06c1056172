"""Put a mutant into the modules that are already imported, in this process.

A changed function gets its new code object in place, so that everyone who imported it runs the new one; a changed
constant is assigned in its module and wherever it was imported to.
"""

from __future__ import annotations

import ast
import functools
import sys
from types import CodeType, FunctionType
from typing import Any

from mutation.mutants import Mutant


def apply(mutant: Mutant, package: str) -> None:
    stem = mutant.file.removesuffix(".py")
    module = sys.modules[package if stem == "__init__" else f"{package}.{stem}"]
    tree = mutant.build()
    target: Any = module
    for part in mutant.place.split("."):
        target = vars(target)[part] if isinstance(target, type) else getattr(target, part)
    function = _function(target)
    if function is not None:
        function.__code__ = _code(compile(tree, str(module.__file__), "exec"), mutant.place)
    else:
        _assign(module, tree, mutant.place, package)
    for name, other in list(sys.modules.items()):
        if name.startswith(package):
            for value in vars(other).values():
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


def _assign(module: Any, tree: ast.Module, name: str, package: str) -> None:
    statement = next(n for n in tree.body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == name)
    before = getattr(module, name)
    exec(compile(ast.Module([statement], []), str(module.__file__), "exec"), vars(module))
    after = getattr(module, name)
    for other in list(sys.modules.values()):
        if getattr(other, "__name__", "").startswith(package) and getattr(other, name, None) is before:
            setattr(other, name, after)
