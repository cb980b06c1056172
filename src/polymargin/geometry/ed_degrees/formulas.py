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


def shallow_formula(architecture: NetworkArchitecture) -> Formula:
    """Return the ED degree of a shallow network: a generic hypersurface in its active inputs.

    >>> int(shallow_formula(NetworkArchitecture((3, 2, 2), 3)))
    9
    """
    if len(architecture.hidden) != 1:
        raise _refusal("shallow", architecture, f"it has {len(architecture.hidden)} hidden layers, not one")
    value = generic_critical_count(architecture.active_inputs, architecture.degree)
    return Formula(value, "shallow", "one hidden layer, generic weights")


def wide_formula(architecture: NetworkArchitecture) -> Formula:
    """Return the ED degree of a network without a hidden layer narrower than the active subspace.

    >>> int(wide_formula(NetworkArchitecture((3, 4, 3, 2), 2)))
    52
    """
    narrow = [width for width in architecture.hidden if width < architecture.active_inputs]
    if narrow:
        reason = f"the hidden width {narrow[0]} is below the {architecture.active_inputs} active inputs"
        raise _refusal("wide", architecture, reason)
    return Formula(architecture.bound, "wide", "no hidden layer narrower than the active subspace, generic weights")


def bottleneck_formula(architecture: NetworkArchitecture) -> Formula:
    """Return the ED degree of a network whose hidden layers after the first have one neuron.

    >>> int(bottleneck_formula(NetworkArchitecture((2, 2, 1, 1, 2), 2)))
    16
    """
    wider = [width for width in architecture.hidden[1:] if width > 1]
    if wider:
        raise _refusal("bottleneck", architecture, f"a hidden layer after the first has width {wider[0]}, not 1")
    return Formula(
        _bottleneck_count(architecture), "bottleneck", "width 1 after the first hidden layer, generic weights"
    )


def one_token_formula(architecture: AttentionArchitecture) -> Formula:
    """Return the ED degree of attention to one token.

    >>> [int(one_token_formula(AttentionArchitecture(1, 5, 1, a))) for a in (1, 2, 3)]
    [12, 24, 27]
    """
    if architecture.t > 1 or "V" in architecture.shared:
        raise InputError(f"attention {architecture}: no formula is known; count it with method='numeric'")
    d = architecture.d
    rank = min(architecture.a if architecture.shared else 2 * architecture.a, d)
    return Formula(6 * rank if rank < d else 6 * d - 3, "one token", "attention to a single token, generic weights")


def formula(architecture: Architecture) -> Formula:
    """Return the first theorem whose hypotheses hold."""
    if isinstance(architecture, AttentionArchitecture):
        return one_token_formula(architecture)
    refusals = []
    for theorem in (shallow_formula, wide_formula, bottleneck_formula):
        try:
            return theorem(architecture)
        except InputError as refusal:
            refusals.append(str(refusal))
    raise InputError("; ".join(refusals) + "; count it with method='numeric'")


def degree_bounds(architecture: Architecture) -> tuple[int, int]:
    """Lower and upper bound of the ED degree for generic weights, equal where a formula holds.

    >>> degree_bounds(NetworkArchitecture((3, 3, 2, 2), 2))
    (12, 52)
    """
    if isinstance(architecture, AttentionArchitecture):
        return 1, architecture.reduced().bound
    return _bottleneck_count(architecture), architecture.bound


def _bottleneck_count(architecture: NetworkArchitecture) -> int:
    copies = architecture.total_degree // architecture.degree
    return copies * generic_critical_count(architecture.active_inputs, architecture.degree)


def _refusal(theorem: str, architecture: NetworkArchitecture, reason: str) -> InputError:
    return InputError(f"{architecture}: the {theorem} formula does not apply, because {reason}")
