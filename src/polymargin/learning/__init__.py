"""Learning: networks whose boundary is algebraically simple. torch is an extra, imported when it is first needed."""

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
    "train",
]
