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
    from polymargin.boundary import AttentionArchitecture, Boundary, NetworkArchitecture
    from polymargin.bounds.lower_bound import lower_bound
    from polymargin.certificates import Answer, Certificate, CertifiedMargin, CertifiedMargins, Verdict, Verdicts
    from polymargin.certificates.certify import certify
    from polymargin.certificates.verify import verify
    from polymargin.continuation import PathEnd, TrackerSettings
    from polymargin.continuation.solve import Solutions, solve
    from polymargin.enumeration.critical_points import CriticalPoints, critical_points
    from polymargin.errors import InputError, PolymarginError, TooManyPathsError
    from polymargin.expected import ExpectedCount, expected_for_field, expected_real_critical_points
    from polymargin.explorer import Explorer
    from polymargin.explorer.explore import explore
    from polymargin.geometry import (
        Chambers,
        EDDegree,
        EDDiscriminant,
        ParameterDiscriminant,
        Plane,
        Variety,
        chambers,
        critical_points_with_multiplicity,
        discriminant_crossings,
        ed_degree,
        ed_discriminant,
        kkt_margin,
        kkt_solutions,
        parameter_discriminant,
        polar_degrees,
        symbolic_parameter_discriminant,
    )
    from polymargin.margins import Margin, Margins
    from polymargin.margins.margin import margin
    from polymargin.networks import (
        LightningAttention,
        Network,
        PolynomialNetwork,
        ReLUNetwork,
        SplineNetwork,
        from_arrays,
        from_sklearn,
        from_torch,
        load,
        pi_net,
        to_onnx,
        to_torch,
    )
    from polymargin.piecewise import PiecewiseMargin, linear_regions
    from polymargin.piecewise.piecewise_margin import piecewise_margin
    from polymargin.piecewise.piecewise_verify import piecewise_verify
    from polymargin.regions import L1, L2, Linf
    from polymargin.relaxation.counterexamples import attack
    from polymargin.reports import Report
    from polymargin.reports.report import report
    from polymargin.standing import Standing

# Public names and the room each one lives in. They are imported when first used, so that
# `import polymargin` and `polymargin --version` cost nothing.
_ROOMS = {
    "boundary": (
        "AttentionArchitecture",
        "Boundary",
        "NetworkArchitecture",
    ),
    "bounds": ("lower_bound",),
    "certificates": (
        "Answer",
        "Certificate",
        "CertifiedMargin",
        "CertifiedMargins",
        "Verdict",
        "Verdicts",
        "certify",
        "verify",
    ),
    "continuation": (
        "PathEnd",
        "Solutions",
        "TrackerSettings",
        "solve",
    ),
    "enumeration": (
        "CriticalPoints",
        "critical_points",
    ),
    "errors": (
        "InputError",
        "PolymarginError",
        "TooManyPathsError",
    ),
    "expected": (
        "ExpectedCount",
        "expected_for_field",
        "expected_real_critical_points",
    ),
    "explorer": (
        "Explorer",
        "explore",
    ),
    "geometry": (
        "Chambers",
        "EDDegree",
        "EDDiscriminant",
        "ParameterDiscriminant",
        "Plane",
        "chambers",
        "critical_points_with_multiplicity",
        "discriminant_crossings",
        "ed_degree",
        "ed_discriminant",
        "kkt_margin",
        "kkt_solutions",
        "parameter_discriminant",
        "Variety",
        "polar_degrees",
        "symbolic_parameter_discriminant",
    ),
    "margins": (
        "Margin",
        "Margins",
        "margin",
    ),
    "networks": (
        "LightningAttention",
        "Network",
        "PolynomialNetwork",
        "ReLUNetwork",
        "SplineNetwork",
        "from_arrays",
        "from_sklearn",
        "from_torch",
        "load",
        "pi_net",
        "to_onnx",
        "to_torch",
    ),
    "piecewise": (
        "PiecewiseMargin",
        "linear_regions",
        "piecewise_margin",
        "piecewise_verify",
    ),
    "regions": (
        "L1",
        "L2",
        "Linf",
    ),
    "relaxation": ("attack",),
    "reports": (
        "Report",
        "report",
    ),
    "standing": ("Standing",),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "L1",
    "L2",
    "Answer",
    "AttentionArchitecture",
    "Boundary",
    "Certificate",
    "CertifiedMargin",
    "CertifiedMargins",
    "Chambers",
    "CriticalPoints",
    "EDDegree",
    "EDDiscriminant",
    "ExpectedCount",
    "Explorer",
    "InputError",
    "LightningAttention",
    "Linf",
    "Margin",
    "Margins",
    "Network",
    "NetworkArchitecture",
    "ParameterDiscriminant",
    "PathEnd",
    "PiecewiseMargin",
    "Plane",
    "PolymarginError",
    "PolynomialNetwork",
    "ReLUNetwork",
    "Report",
    "Solutions",
    "SplineNetwork",
    "Standing",
    "TooManyPathsError",
    "TrackerSettings",
    "Variety",
    "Verdict",
    "Verdicts",
    "attack",
    "certify",
    "chambers",
    "critical_points",
    "critical_points_with_multiplicity",
    "discriminant_crossings",
    "ed_degree",
    "ed_discriminant",
    "expected_for_field",
    "expected_real_critical_points",
    "explore",
    "from_arrays",
    "from_sklearn",
    "from_torch",
    "kkt_margin",
    "kkt_solutions",
    "linear_regions",
    "load",
    "lower_bound",
    "margin",
    "parameter_discriminant",
    "pi_net",
    "piecewise_margin",
    "piecewise_verify",
    "polar_degrees",
    "report",
    "solve",
    "symbolic_parameter_discriminant",
    "to_onnx",
    "to_torch",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name == "plots":  # a room that is public as a whole
        return importlib.import_module("polymargin.plots")
    if name not in _HOME:
        raise AttributeError(f"module 'polymargin' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"polymargin.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
