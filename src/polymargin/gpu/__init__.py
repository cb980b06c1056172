"""Paths on a GPU: the follower of the CPU core as a kernel generated for each architecture."""

from polymargin.gpu.device import description
from polymargin.gpu.follow import DEVICE, chosen_device, follow, takes

__all__ = ["DEVICE", "chosen_device", "description", "follow", "takes"]
