"""Paths on a GPU: the follower of the CPU core as a kernel generated for each architecture, and surveys of where they end."""

from polymargin.gpu.algebra import dense_algebra
from polymargin.gpu.bundles import DEVICE, Bundle, chosen_device, device_for, fits_survey, follow, survey, tape_for
from polymargin.gpu.device import description
from polymargin.gpu.jobs import NEEDS_EXCHANGES
from polymargin.gpu.kernels import Kernels
from polymargin.gpu.surveys import SURVEYED, Rules, SurveyArrays

__all__ = [
    "DEVICE",
    "NEEDS_EXCHANGES",
    "SURVEYED",
    "Bundle",
    "Kernels",
    "Rules",
    "SurveyArrays",
    "chosen_device",
    "dense_algebra",
    "description",
    "device_for",
    "fits_survey",
    "follow",
    "survey",
    "tape_for",
]
