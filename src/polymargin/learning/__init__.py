"""Learning: networks whose boundary is algebraically simple. torch is an extra, imported when it is first needed.

Names are imported when first used, so that reading IDX files costs no torch.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polymargin.learning.convert import to_network
    from polymargin.learning.exact_margin import exact_margin
    from polymargin.learning.idx import read_idx
    from polymargin.learning.margin_training import (
        fine_tune,
        margin_hinge,
        margin_softplus,
        margin_step,
        soft_worst,
    )
    from polymargin.learning.projection import LocusProjection, correct, project, remove_normal
    from polymargin.learning.quadratic import Factor, Quadratic
    from polymargin.learning.regularisers import Regulariser
    from polymargin.learning.rival_margins import rival_margins
    from polymargin.learning.shallow import shallow_network
    from polymargin.learning.strata import Stratum, stratum
    from polymargin.learning.training import Training, cyclic_rate, train

_HOME = {
    "Factor": "quadratic",
    "LocusProjection": "projection",
    "Quadratic": "quadratic",
    "Regulariser": "regularisers",
    "Stratum": "strata",
    "Training": "training",
    "correct": "projection",
    "cyclic_rate": "training",
    "exact_margin": "exact_margin",
    "fine_tune": "margin_training",
    "margin_hinge": "margin_training",
    "margin_softplus": "margin_training",
    "margin_step": "margin_training",
    "project": "projection",
    "read_idx": "idx",
    "remove_normal": "projection",
    "rival_margins": "rival_margins",
    "shallow_network": "shallow",
    "soft_worst": "margin_training",
    "stratum": "strata",
    "to_network": "convert",
    "train": "training",
}

__all__ = [
    "Factor",
    "LocusProjection",
    "Quadratic",
    "Regulariser",
    "Stratum",
    "Training",
    "correct",
    "cyclic_rate",
    "exact_margin",
    "fine_tune",
    "margin_hinge",
    "margin_softplus",
    "margin_step",
    "project",
    "read_idx",
    "remove_normal",
    "rival_margins",
    "shallow_network",
    "soft_worst",
    "stratum",
    "to_network",
    "train",
]


class _Package(ModuleType):
    """Keep functions as attributes although files of the same names are imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOME or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'polymargin.learning' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"polymargin.learning.{_HOME[name]}"), name)
    globals()[name] = value
    return value
