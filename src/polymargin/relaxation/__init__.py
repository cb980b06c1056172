"""Bounds on regions: one expansion, one list of constraints with multipliers, and the search for counterexamples.

    region of one radius ─▶ expansion ─▶ enclosures, lemmas ─▶ constraints ─▶ program ─▶ multipliers: a leaf of a certificate

expansion       forms and values of a network as rows over ξ = (1, δ, w, y)
enclosures      intervals of all variables; lemmas, curvatures, linear_bounds: narrower ones, with proofs
constraints/    what is ≥ 0 or = 0 on the region, one class per kind, with the name that the checker has for it
relaxation      functional − γ − Σ multiplier · constraint as a semidefinite program; program, interior_point solve it
prover          one radius: a guess from the worst point, else the solver
search          the largest radius for all rivals;  tree: splits of a region
descent         worst points;  counterexamples: `nearest_counterexample` (attack, walks, radii, kinks, lagrange, confirmation)

>>> import numpy as np
>>> from polymargin.networks.network import Network
>>> from polymargin.networks.forms import Forms
>>> from polymargin.networks.stages import Polynomial
>>> from polymargin.regions import L2
>>> square = Polynomial(Forms.of(np.eye(2)), (0.0, 0.0, 1.0))
>>> net = Network([square], Forms.of([[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]], [1.0, 0.0]))   # 1 against x² + y²
>>> search = RegionSearch(net, np.zeros(2), 0, [1], L2().in_dimension(2))
>>> 0.99 < search.largest(1.0).radius < 1
True
"""

from polymargin.relaxation.attack import nearest_counterexample
from polymargin.relaxation.prover import PreparedRegion
from polymargin.relaxation.search import ProvedRadius, RegionSearch
from polymargin.relaxation.tree import prove_in_parts

__all__ = ["PreparedRegion", "ProvedRadius", "RegionSearch", "nearest_counterexample", "prove_in_parts"]
