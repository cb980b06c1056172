"""Algebraic regularisers: λ Δ² added to a loss draws the weights towards a locus of lower ED degree.

`combine="sum"` adds the squares, so all the factors are asked to vanish; `combine="product"` squares their product, so
any one of them will do and training picks the nearest. Regularisers with strengths of their own simply add up in a loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from polymargin.errors import InputError
from polymargin.learning.quadratic import Factor, Quadratic
from polymargin.learning.shallow import layer_tensors


@dataclass(frozen=True)
class Regulariser:
    """λ Σ Δ² or λ (∏ Δ)² over the chosen factors, averaged over class pairs; call it with a network.

    Parameters
    ----------
    factors
        One `Factor` or several.
    strength
        λ ≥ 0. The paper's example takes 0.1 with the plain (not scaled) factor det M.
    scaled
        Judge A and M after division by their size; see `Quadratic.factor`.
    pairs
        Class pairs (label, rival).
    """

    factors: tuple[Factor, ...]
    strength: float = 0.1
    scaled: bool = False
    combine: Literal["sum", "product"] = "sum"
    pairs: tuple[tuple[int, int], ...] = ((0, 1),)

    def __init__(
        self,
        factors: Factor | Iterable[Factor],
        strength: float = 0.1,
        *,
        scaled: bool = False,
        combine: Literal["sum", "product"] = "sum",
        pairs: Iterable[tuple[int, int]] = ((0, 1),),
    ) -> None:
        chosen = (factors,) if isinstance(factors, Factor) else tuple(factors)
        if not chosen or not all(isinstance(factor, Factor) for factor in chosen):
            raise InputError(f"factors {chosen!r}: expected at least one of {', '.join(map(str, Factor))}")
        if not 0 <= strength < float("inf"):
            raise InputError(f"strength {strength}: expected a finite number >= 0")
        if combine not in ("sum", "product"):
            raise InputError(f"combine {combine!r}: expected 'sum' or 'product'")
        object.__setattr__(self, "factors", chosen)
        object.__setattr__(self, "strength", float(strength))
        object.__setattr__(self, "scaled", bool(scaled))
        object.__setattr__(self, "combine", combine)
        object.__setattr__(self, "pairs", tuple((int(a), int(b)) for a, b in pairs))
        if not self.pairs:
            raise InputError("no class pairs to regularise; the default is the pair (0, 1)")

    def __call__(self, network: Any) -> Any:
        """Return the penalty, a differentiable scalar."""
        refuse_constant_factors(network, self.factors)
        total: Any = 0.0
        for label, rival in self.pairs:
            quadratic = Quadratic.of(network, label, rival)
            values = [quadratic.factor(which, scaled=self.scaled) for which in self.factors]
            if self.combine == "sum":
                total = total + sum(value**2 for value in values)
            else:
                product: Any = 1.0
                for value in values:
                    product = product * value
                total = total + product**2
        return self.strength / len(self.pairs) * total


def refuse_constant_factors(network: Any, factors: Iterable[Factor]) -> None:
    """Raise InputError for factors that vanish for all weights: A has rank ≤ h and M rank ≤ h + 1."""
    hidden, inputs = layer_tensors(network)[0].shape
    for factor in factors:
        if hidden < inputs - (factor is Factor.REPEATED):
            raise InputError(
                f"{factor.value} is zero for all weights of a network with {inputs} inputs and {hidden} hidden neurons; "
                f"it needs at least {inputs - (factor is Factor.REPEATED)}"
            )
