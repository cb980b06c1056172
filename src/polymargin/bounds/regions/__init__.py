"""Bounds on regions that are not simply balls: boxes, and balls of any norm within them (docs/regions.md)."""
