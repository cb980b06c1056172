"""Formulas that the counted rows suggest, without proof. Nothing else in the package relies on them.

Deep networks (n, h₁, …, h_s, k) with activation x^d and generic weights. With m = min(n, h₁) the generic hypersurface of degree
D = d^s has D Σ_{i<m} (D−1)^i critical points. Write D − 1 = Σ_k d^{k−1}(d − 1), one summand per layer, and expand the powers:

    ED degree = D Σ_{i<m} Σ (i choose j₁,…,j_s) Π_k (d^{k−1}(d − 1))^{j_k},

the inner sum over j₁ + … + j_s = i with j_k + … + j_s < h_k for k = 2, …, s. A narrow layer cuts off the terms with too many
factors from it and the layers above. If no layer is narrow nothing is cut; if all after the first have width 1 only j₁ = i is
left: the theorems on wide and bottleneck networks are the two ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import factorial, prod

from polymargin.boundary import NetworkArchitecture


def conjectured_ed_degree(architecture: NetworkArchitecture) -> int:
    """Return the conjectured ED degree of a deep network for generic weights.

    >>> conjectured_ed_degree(NetworkArchitecture((3, 3, 2, 2), 2))
    36
    >>> conjectured_ed_degree(NetworkArchitecture((3, 3, 3, 2, 2), 2))
    328
    """
    hidden, d = architecture.hidden, architecture.degree
    factors = [d**k * (d - 1) for k in range(len(hidden))]
    total = 0
    for i in range(architecture.active_inputs):
        for powers in _compositions(i, len(hidden)):
            if all(sum(powers[k:]) < hidden[k] for k in range(1, len(hidden))):
                ways = factorial(i) // prod(map(factorial, powers))
                total += ways * prod(factor**power for factor, power in zip(factors, powers, strict=True))
    return architecture.total_degree * total


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to write `total` as an ordered sum of `parts` numbers ≥ 0."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)
