"""Paths on a GPU: the follower of the CPU core as a kernel generated for each architecture."""

from polymargin.gpu.bundles import DEVICE, Bundle, chosen_device, device_for, follow, tape_for
from polymargin.gpu.device import description

__all__ = ["DEVICE", "Bundle", "chosen_device", "description", "device_for", "follow", "tape_for"]
