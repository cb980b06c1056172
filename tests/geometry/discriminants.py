"""Boundaries from text, and what is compared of their discriminants."""

from __future__ import annotations

import polymargin as pm

HYPERBOLA = "-8*x**2 - 2*x*y + 3*y**2 - 6*x - 2*y"


def boundary_of(text: str, names: str = "x y") -> pm.Boundary:
    return pm.Boundary.from_expression(text, names)


def described(found) -> tuple[list[str], list[str]]:
    return sorted(str(c.generators) for c in found.components), sorted(map(str, found.generators))
