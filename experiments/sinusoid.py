"""Two classes separated by a wave, with and without the regulariser λ (det A)²: a conic of ED degree 4, or a parabola (3).

The wave is x₂ = cos(1.2 x₁) for |x₁| ≤ 2.4, with noise: one arch and the beginning of the next on both sides.

    python experiments/sinusoid.py --out results/quadrics        # needs torch and matplotlib
"""

from __future__ import annotations

import numpy as np
from common import arguments, compare_conics
from numpy.typing import NDArray

from polymargin.learning import Factor

WINDOW = (-2.4, 2.4, -2.0, 2.0)


def wave_data(count: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Uniform points above and below the wave, labelled with a little noise in the height."""
    generator = np.random.default_rng(seed)
    points = generator.uniform((-2.4, -2.0), (2.4, 2.0), (count, 2))
    height = np.cos(1.2 * points[:, 0]) + 0.1 * generator.standard_normal(count)
    return points, (points[:, 1] > height).astype(np.int64)


def main() -> None:
    defaults = {"hidden": 4, "seed": 0, "seeds": 10, "steps": 5000, "rate": 1e-2, "strength": 0.1}
    options = arguments(__doc__, "results/quadrics", **defaults)
    compare_conics("Sinusoid", *wave_data(600, options.seed), Factor.RANK, options, WINDOW)


if __name__ == "__main__":
    main()
