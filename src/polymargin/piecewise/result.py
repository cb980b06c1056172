"""The margin of a piecewise network: the common result, and what the search did."""

from __future__ import annotations

from dataclasses import dataclass

from polymargin.margins import Margin


@dataclass(frozen=True, eq=False, repr=False)
class PiecewiseMargin(Margin):
    """A `Margin` by a search over cells, unions of regions.

    cells       cells that were bounded
    regions     those among them that were a single region
    programs    quadratic programs solved
    open_cells  cells that a timeout left open; 0 for a finished search
    """

    cells: int = 0
    regions: int = 0
    programs: int = 0
    open_cells: int = 0
