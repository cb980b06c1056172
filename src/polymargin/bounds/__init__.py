"""Bounds: certified radii from semidefinite relaxations, branch and bound."""
