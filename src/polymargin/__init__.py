"""Exact robustness margins for polynomial neural networks.

>>> import polymargin as pm
>>> ellipse = pm.Boundary.from_expression("x**2 + 4*y**2 - 4")
>>> pm.margin(ellipse, [0.0, 0.25])
Margin(0.75, NUMERICAL by quadric)
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

# Public names are listed in __init__.pyi and nowhere else. They are imported when first used, so that `import polymargin` and
# `polymargin --version` cost nothing.
_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_HOME = {
    name.name: node.module or name.name
    for node in _STUB.body
    if isinstance(node, ast.ImportFrom) and node.level
    for name in node.names
}
__all__ = sorted(name for name, home in _HOME.items() if home != name)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'polymargin' has no attribute {name!r}")
    home = importlib.import_module(f"polymargin.{_HOME[name]}")
    value = home if _HOME[name] == name else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_HOME, "__version__"])
