"""ED degrees by Algorithm 2 of the paper to the letter, with Singular: 2-minors, saturated by the gradient.

Another ideal, another program and another prime than `polymargin.geometry.algebra.counting` uses.
"""

from __future__ import annotations

import random
from itertools import combinations

from polymargin.boundary import Boundary
from polymargin.geometry.algebra import Equations, exact_equations
from polymargin.geometry.algebra.engines import run_engine

PRIME = 1073741789
SCRIPT = """
ring R = {prime}, ({names}), dp;
short = 0;
ideal I = std(ideal({equations}));
ideal S = {slopes};
while (1)
{{
  ideal Q = std(quotient(I, S));
  if (size(reduce(Q, I)) == 0) {{ break; }}
  I = Q;
  kill Q;
}}
print("@@" + string(vdim(I)));
quit;
"""


def minors_count(source: Boundary | Equations, seed: int = 0) -> int:
    """The number of critical points of the distance from a random point; −1 if there are infinitely many."""
    surface = exact_equations([source], PRIME) if isinstance(source, Boundary) else source
    generator = random.Random(seed)
    ring, b = surface.ring, surface.polynomial
    offsets = [y - ring.random_scalar(generator) for y in ring.variables]
    slopes = [b.derivative(index) for index in range(surface.dimension)]
    conormal = [ring.linear(row, slopes) for row in surface.metric.table()]
    minors = [offsets[i] * conormal[j] - offsets[j] * conormal[i] for i, j in combinations(range(len(slopes)), 2)]
    texts = {"equations": [b, *minors], "slopes": [slope for slope in slopes if not slope.is_zero()]}
    script = SCRIPT.format(
        prime=PRIME, names=",".join(ring.names), **{name: ",".join(map(str, some)) for name, some in texts.items()}
    )
    printed = run_engine("Singular", ["--quiet", "--no-rc", "--no-tty", "script"], {"script": script}, timeout=300)
    return int(printed.rpartition("@@")[2])
