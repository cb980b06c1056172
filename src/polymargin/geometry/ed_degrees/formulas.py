"""ED degrees that are theorems, each with its hypotheses; outside them it refuses.

With m = min(n, h₁), the dimension of the active subspace, and D = d^s for s hidden layers, generic weights give

    shallow     s = 1                              d Σ_{i<m} (d−1)^i
    wide        every hᵢ ≥ m                       D Σ_{i<m} (D−1)^i     (the generic hypersurface of its degree)
    bottleneck  h₂ = … = h_s = 1                   D Σ_{i<m} (d−1)^i     (D/d parallel copies of a shallow boundary)

Attention to one token has B = ℓ(x) q(x) + β with a quadratic form q of rank r = min(2a, d), or min(a, d) if K = Q. The
number is 6r if r < d, and 6d − 3 if r = d (docs/theorems, section 12).

The paper states the last two for h₁ ≥ n; restricting to the active subspace, where the boundary is generic again, gives them for
every h₁. In between the ED degree lies between the bottleneck's and the wide network's number: a narrower network is a special
member of the wider family, and isolated regular solutions survive small changes of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass

from polymargin.boundary import Architecture, AttentionArchitecture, NetworkArchitecture, generic_critical_count
from polymargin.errors import InputError


@dataclass(frozen=True)
class Formula:
    """A number, the theorem that gives it and the hypotheses it was checked against."""

    value: int
    theorem: str
    hypotheses: str

    def __int__(self) -> int:
        return self.value


def formula(architecture: Architecture) -> Formula:
    """Return the first theorem whose hypotheses hold.

    >>> [int(formula(NetworkArchitecture(widths, 2))) for widths in ((3, 2, 2), (3, 4, 3, 2), (2, 2, 1, 1, 2))]
    [4, 52, 16]
    >>> [int(formula(AttentionArchitecture(1, 5, 1, a))) for a in (1, 2, 3)]
    [12, 24, 27]
    """
    if isinstance(architecture, AttentionArchitecture):
        if architecture.t > 1 or "V" in architecture.shared:
            raise InputError(f"attention {architecture}: no formula is known; count it with method='numeric'")
        d = architecture.d
        rank = min(architecture.a if architecture.shared else 2 * architecture.a, d)
        value = 6 * rank if rank < d else 6 * d - 3
        return Formula(value, "one token", "attention to a single token, generic weights")
    hidden, active = architecture.hidden, architecture.active_inputs
    if len(hidden) == 1:
        value = generic_critical_count(active, architecture.degree)
        return Formula(value, "shallow", "one hidden layer, generic weights")
    if min(hidden) >= active:
        note = "no hidden layer narrower than the active subspace, generic weights"
        return Formula(architecture.bound, "wide", note)
    if max(hidden[1:]) == 1:
        note = "width 1 after the first hidden layer, generic weights"
        return Formula(_bottleneck_count(architecture), "bottleneck", note)
    raise InputError(
        f"{architecture}: no formula applies, because it has {len(hidden)} hidden layers, not one; the hidden width "
        f"{min(hidden)} is below the {active} active inputs; and a hidden layer after the first has width "
        f"{max(hidden[1:])}, not 1; count it with method='numeric'"
    )


def degree_bounds(architecture: Architecture) -> tuple[int, int]:
    """Return lower and upper bound of the ED degree for generic weights, equal where a formula holds.

    >>> degree_bounds(NetworkArchitecture((3, 3, 2, 2), 2))
    (12, 52)
    """
    if isinstance(architecture, AttentionArchitecture):
        return 1, architecture.reduced().bound
    return _bottleneck_count(architecture), architecture.bound


def _bottleneck_count(architecture: NetworkArchitecture) -> int:
    copies = architecture.total_degree // architecture.degree
    return copies * generic_critical_count(architecture.active_inputs, architecture.degree)
