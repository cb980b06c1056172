"""XOR with and without the regulariser λ (det M)²: a hyperbola of ED degree 4, or two crossing lines of ED degree 2.

Four clusters at (±1, ±1), labelled by the sign of x₁x₂; a network 2-4-2 with activation x². With λ = 0.1 the boundary is
drawn to the locus det M = 0, which has several components: crossing lines (x₁x₂ = 0 is one), and parallel lines, where a
network is led that had found only one direction. So the outcome depends on the start, and more so with only two hidden
neurons: the table lists every start, and the picture shows the first of the most accurate.

    python experiments/xor.py --out results/quadrics        # needs torch and matplotlib
"""

from __future__ import annotations

from common import arguments, compare_conics

from polymargin.learning import Factor
from polymargin.reproduce.figure_xor import WINDOW, xor_data


def main() -> None:
    defaults = {"hidden": 4, "seed": 0, "seeds": 10, "steps": 5000, "rate": 1e-2, "strength": 0.1}
    options = arguments(__doc__, "results/quadrics", **defaults)
    compare_conics("XOR", *xor_data(400, options.seed), Factor.SINGULAR, options, WINDOW)


if __name__ == "__main__":
    main()
