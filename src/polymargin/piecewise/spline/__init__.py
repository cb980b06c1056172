"""Spline networks: cells with polynomial boundaries."""
