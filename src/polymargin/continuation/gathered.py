"""All solutions of many real systems, gathered from wherever paths to them began.

A family of systems says how many solutions N its members have at most. With a solution its conjugate is one. So it does not
matter which paths arrive, how often, or from where: as soon as N different solutions are known, they are all. A path that is
lost is made up for by the one that ends at the conjugate point, or by another way to the same point; a path that has jumped
does no harm.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin import _core
from polymargin.continuation.paths import Paths
from polymargin.continuation.same_points import REAL, SAME

ComplexArray = NDArray[np.complex128]


# Ends at one solution differ by a few of the corrections that Newton's method made last; so many of them tell solutions apart.
CORRECTIONS_APART = 100.0


class Gathered:
    """Solutions gathered for T systems in n unknowns, the last of them a multiplier, with at most N solutions each.

    counts       (T,) solutions known, conjugates included; N + 1 where more came together than there can be
    real_counts  (T,) how many of them are real
    points       (T, N, n) the solutions, as many of each list as are known
    margins      (T, N) how far from each of them others begin, relative to their size
    """

    def __init__(self, systems: int, most: int, unknowns: int) -> None:
        self.points: ComplexArray = np.zeros((systems, most, unknowns), dtype=np.complex128)
        self.margins = np.zeros((systems, most))
        self.counts = np.zeros(systems, dtype=np.int32)
        self.real_counts = np.zeros(systems, dtype=np.int32)

    def add(
        self, systems: NDArray[np.intp], paths: Paths, threads: int, selected: NDArray[np.bool_] | None = None
    ) -> None:
        """Add endpoints of paths to some of the systems, each listed once; `selected` if not all were tracked."""
        _core.gather(
            self.points,
            self.margins,
            self.counts,
            self.real_counts,
            systems.astype(np.int64),
            paths.points,
            paths.converged if selected is None else paths.converged & selected,
            paths.correction,
            REAL,
            SAME,
            CORRECTIONS_APART,
            threads,
        )

    @property
    def missing(self) -> NDArray[np.int64]:
        """Count missing solutions (T,); all of them where too many coincided."""
        most = self.points.shape[1]
        return np.asarray(np.where(self.counts > most, most, most - self.counts), dtype=np.int64)
