"""Exact robustness margins for polynomial neural networks.

>>> import polymargin as pm
>>> ellipse = pm.Boundary.from_expression("x**2 + 4*y**2 - 4")
>>> pm.margin(ellipse, [0.0, 0.25], cache=False)
Margin(0.75, NUMERICAL by quadric)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from polymargin.boundary import Boundary
    from polymargin.bounds import attack, lower_bound
    from polymargin.certificates import Answer, Certificate, CertifiedMargin, Verdict, certify, verify
    from polymargin.continuation import PathEnd, Solutions, TrackerSettings, solve
    from polymargin.errors import InputError, PolymarginError, TooManyPathsError
    from polymargin.geometry import ParameterDiscriminant, parameter_discriminant, symbolic_parameter_discriminant
    from polymargin.margins import CriticalPoints, Margin, Standing, critical_points, margin
    from polymargin.networks import PolynomialNetwork, from_sklearn, load

# Public names and the room each one lives in. They are imported when first used, so that
# `import polymargin` and `polymargin --version` cost nothing.
_ROOMS = {
    "boundary": ("Boundary",),
    "bounds": ("attack", "lower_bound"),
    "certificates": ("Answer", "Certificate", "CertifiedMargin", "Verdict", "certify", "verify"),
    "continuation": ("PathEnd", "Solutions", "TrackerSettings", "solve"),
    "errors": ("InputError", "PolymarginError", "TooManyPathsError"),
    "geometry": ("ParameterDiscriminant", "parameter_discriminant", "symbolic_parameter_discriminant"),
    "margins": ("CriticalPoints", "Margin", "Standing", "critical_points", "margin"),
    "networks": ("PolynomialNetwork", "from_sklearn", "load"),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Answer",
    "Boundary",
    "Certificate",
    "CertifiedMargin",
    "CriticalPoints",
    "InputError",
    "Margin",
    "ParameterDiscriminant",
    "PathEnd",
    "PolymarginError",
    "PolynomialNetwork",
    "Solutions",
    "Standing",
    "TooManyPathsError",
    "TrackerSettings",
    "Verdict",
    "attack",
    "certify",
    "critical_points",
    "from_sklearn",
    "load",
    "lower_bound",
    "margin",
    "parameter_discriminant",
    "solve",
    "symbolic_parameter_discriminant",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'polymargin' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"polymargin.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
