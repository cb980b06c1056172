"""The answers: an expectation with its error, and what a simulation found."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SimulatedCounts:
    """Real critical points of random polynomials, one number per sample.

    counts         (T,) real critical points found
    missing        (T,) paths without a known end, or points whose reality is in doubt: the true number is between
                   `counts` and `counts + missing`
    complex_count  complex critical points of a generic member
    method         how they were counted
    seed           of the samples; the same seed gives the same polynomials at every test point
    """

    counts: NDArray[np.int64]
    missing: NDArray[np.int64]
    complex_count: int
    method: str
    seed: int

    @property
    def samples(self) -> int:
        """Return the number of samples."""
        return len(self.counts)

    @property
    def mean(self) -> float:
        """Return the mean of the counts."""
        return float(self.counts.mean())

    @property
    def standard_error(self) -> float:
        """Return the standard error of the mean; infinite for a single sample."""
        return float(self.counts.std(ddof=1)) / math.sqrt(self.samples) if self.samples > 1 else math.inf

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % confidence interval of the mean, widened upwards by everything that is missing."""
        reach = 1.96 * self.standard_error
        return self.mean - reach, self.mean + reach + float(self.missing.mean())

    @property
    def doubtful(self) -> int:
        """Return samples with something missing."""
        return int((self.missing > 0).sum())

    def __repr__(self) -> str:
        doubt = f", {self.doubtful} doubtful" if self.doubtful else ""
        return f"SimulatedCounts({self.mean:.4f} ± {self.standard_error:.4f} in {self.samples} samples{doubt})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without the single counts."""
        names = ("mean", "standard_error", "samples", "doubtful", "complex_count", "method", "seed")
        return {name: getattr(self, name) for name in names} | {"interval": list(self.interval)}


@dataclass(frozen=True, eq=False)
class ExpectedCount:
    """The expected number of real critical points.

    value, error   the number, and how far off it may be: rounding, the change in the last refinement of a quadrature, or
                   three standard errors of quasi-Monte Carlo
    method         closed form, quadrature or quasi-Monte Carlo
    dimension, degree, point   the setting; degree is None for a field other than the network's
    complex_count  the number of complex critical points, None where it is not known
    simulation     counts of random polynomials, if they were asked for
    """

    value: float
    error: float
    method: str
    dimension: int
    degree: int | None
    point: NDArray[np.float64]
    complex_count: int | None = None
    simulation: SimulatedCounts | None = None

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        simulated = (
            ""
            if self.simulation is None
            else f", simulated {self.simulation.mean:.4f} ± " + (f"{self.simulation.standard_error:.4f}")
        )
        return f"ExpectedCount({self.value:.10g} ± {self.error:.1g} by {self.method}{simulated})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, keys named as the attributes."""
        data = {item.name: getattr(self, item.name) for item in fields(self)}
        simulation = None if self.simulation is None else self.simulation.to_dict()
        return data | {"point": self.point.tolist(), "simulation": simulation}
