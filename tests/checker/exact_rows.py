"""A network around a point in Fractions, at one δ and any values of the other variables: nothing of the checker is used.

A value is constant + linear part in δ + linear part in y + linear part in w + product of two arguments t.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from polymargin.networks.network import Network
from polymargin.networks.stages import Piecewise, Polynomial, Product

Value = tuple[Fraction, Fraction, Fraction, Fraction, Fraction]
ZERO = Fraction(0)


@dataclass
class ExactRows:
    """What every form and variable is at a δ: t, brackets (None without w) and y of neurons, group by group."""

    arguments: list[list[Fraction]]
    places: list[list[Fraction]]
    brackets: list[list[Fraction] | None]
    remainders: list[list[Fraction]]
    neurons: list[list[tuple[Fraction, Fraction, Any]]]
    logits: list[Fraction]

    @property
    def variables(self) -> list[Fraction]:
        """After δ, in the order of proofs."""
        return self._variables

    @classmethod
    def of(
        cls, network: Network, u: Any, delta: list[Fraction], decided: dict[int, Any], other: Any = None
    ) -> ExactRows:
        """Return the true values, or with `other` (a function that makes a number) arbitrary ones for w and y."""
        made = cls([], [], [], [], [], [])
        made._variables = []
        values: list[list[Value]] = [[(Fraction(float(x)), d, ZERO, ZERO, ZERO) for x, d in zip(u, delta, strict=True)]]
        curved = [False]
        for number, stage in enumerate(network.stages, start=1):
            start = len(made.arguments)
            for forms in stage.forms:
                made._add_group(forms, values, any(curved[source] for source, _ in forms.blocks), other)
            own = [made.brackets[k] is not None for k in range(start, len(made.arguments))]
            if isinstance(stage, Product):
                left, right = (list(zip(made.places[k], made._parts[k], strict=True)) for k in (start, start + 1))
                values.append(
                    [
                        (p * q, p * b[0] + q * a[0], p * b[1] + q * a[1], p * b[2] + q * a[2], sum(a) * sum(b))
                        for (p, a), (q, b) in zip(left, right, strict=True)
                    ]
                )
                curved.append(True)
            else:
                values.append(made._activated(stage, start, decided.get(number), other))
                degree = stage.degree if isinstance(stage, Polynomial) else 0
                bends = isinstance(stage, Polynomial) and degree == 2
                passes = degree >= 1
                if isinstance(stage, Piecewise):
                    met = [len(stage.pieces[k]) - 1 for k in decided[number] if k >= 0]
                    bends, passes = 2 in met, any(met)
                curved.append(bends or (passes and own[0]))
        made.logits = [sum(made._form(network.readout, k, values), ZERO) for k in range(len(network.readout))]
        return made

    _parts: Any = None
    _variables: Any = None

    def _form(self, forms: Any, index: int, values: list[list[Value]]) -> Value:
        columns, weights = forms.rows()[index]
        flat = [value for source in range(len(forms.widths)) for value in values[source]]
        total = [Fraction(float(forms.bias[index])), ZERO, ZERO, ZERO, ZERO]
        for column, weight in zip(columns, weights, strict=True):
            total = [a + Fraction(weight) * b for a, b in zip(total, flat[column], strict=True)]
        return tuple(total)  # type: ignore[return-value]

    def _add_group(self, forms: Any, values: list[list[Value]], curved: bool, other: Any) -> None:
        made = [self._form(forms, k, values) for k in range(len(forms))]
        self.places.append([value[0] for value in made])
        brackets = [value[3] + value[4] for value in made]
        self.brackets.append(brackets if curved else None)
        w = [other() for _ in made] if curved and other else brackets if curved else [ZERO] * len(made)
        self.remainders.append(w)
        if curved:
            self._variables += w
        parts = [(value[1], value[2], rest) for value, rest in zip(made, w, strict=True)]
        self._parts = [*(self._parts or []), parts]
        self.arguments.append([sum(part, ZERO) for part in parts])

    def _activated(self, stage: Any, group: int, pieces: Any, other: Any) -> list[Value]:
        result, ys = [], []
        for k, (p, parts, t) in enumerate(
            zip(self.places[group], self._parts[group], self.arguments[group], strict=True)
        ):
            if isinstance(stage, Polynomial):
                c = [Fraction(int(x.p), int(x.q)) for x in stage.recurrence.in_powers(stage.coefficients)]
                is_open = len(c) > 3
            else:
                is_open = pieces[k] < 0
                c = [] if is_open else [Fraction(x) for x in stage.pieces[pieces[k]]]
            slope = sum((n * x * p ** (n - 1) for n, x in enumerate(c) if n), ZERO)
            value = sum((x * p**n for n, x in enumerate(c)), ZERO)
            if not is_open:
                bend = c[2] if len(c) > 2 else ZERO
                result.append((value, slope * parts[0], slope * parts[1], slope * parts[2], bend * t * t))
                continue
            true = (
                sum((x * (p + t) ** n for n, x in enumerate(c)), ZERO) - value - slope * t
                if isinstance(stage, Polynomial)
                else piecewise(stage, p + t)
            )
            y = other() if other else true
            ys.append((y, t if isinstance(stage, Polynomial) else p + t, stage))
            self._variables.append(y)
            result.append((value, slope * parts[0], slope * parts[1] + y, slope * parts[2], ZERO))
        self.neurons.append(ys)
        return result


def piecewise(stage: Piecewise, z: Fraction) -> Fraction:
    piece = stage.pieces[sum(z >= Fraction(point) for point in stage.breakpoints)]
    return sum((Fraction(c) * z**n for n, c in enumerate(piece)), ZERO)
