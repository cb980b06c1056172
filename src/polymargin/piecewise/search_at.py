"""The start of margins and verdicts of a piecewise network: its class at the point, and the search over cells around it."""

from __future__ import annotations

import math
from fractions import Fraction
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import checked_point
from polymargin.deadlines import Deadline
from polymargin.errors import InputError
from polymargin.networks import Network
from polymargin.networks.layers import Chain
from polymargin.networks.stages import Piecewise
from polymargin.piecewise.best_first import Problem, SearchOutcome, best_first
from polymargin.piecewise.incumbents import Incumbent
from polymargin.piecewise.relu.cells import ReLUCells
from polymargin.piecewise.relu.view import ReLUView
from polymargin.piecewise.spline.cells import SplineCells
from polymargin.piecewise.spline.view import SplineView
from polymargin.regions import L2
from polymargin.relaxation.attack import nearest_counterexample

Array = NDArray[np.float64]

# Rounding above this share of the difference of the two largest logits hides it from doubles.
LARGEST_NOISE = 1e-6
# Decades that products of weights may span; their squares must not underflow or overflow.
LARGEST_SCALE = 140


class SearchStart:
    """A network at a point: its class in exact arithmetic, and whether doubles can tell it from the others."""

    def __init__(self, network: Network, u: Array) -> None:
        checked_point(u, network.dimension)
        self.chain = searchable(network)
        _check_scale(self.chain)
        self.network, self.u = network, u
        logits: list[Fraction] = network.exact_logits(u)
        largest = max(logits)
        self.label, *others = [index for index, value in enumerate(logits) if value == largest]
        self.tied = others[0] if others else None
        rounded = network(u)
        self.doubt = ""
        for rival, value in enumerate(logits):
            lead = float(logits[self.label] - value)
            if lead and abs(rounded[self.label] - rounded[rival] - lead) > LARGEST_NOISE * lead:
                self.doubt = (
                    f"rounding hides the difference of classes {self.label} and {rival} at the point from doubles"
                )

    def search(
        self, timeout: float | None, seed: int, reach: float = math.inf
    ) -> tuple[SearchOutcome, Incumbent, Problem[Any]]:
        """Search cells until the time is up; return the outcome, the nearest tie and the problem."""
        problem: Problem[Any] = (
            ReLUCells(ReLUView(self.chain, self.u, self.label))
            if is_relu(self.chain)
            else SplineCells(SplineView(self.chain, self.u, self.label), seed)
        )
        incumbent = Incumbent(self.network, self.u, self.label)
        deadline = math.inf if timeout is None else perf_counter() + timeout
        self._attack(incumbent, seed, Deadline.after(timeout))
        outcome = best_first(problem, incumbent, reach=reach, deadline=deadline)
        return outcome, incumbent, problem

    def _attack(self, incumbent: Incumbent, seed: int, deadline: Deadline) -> None:
        """Offer the nearest counterexample that a local search finds against each rival."""
        region = L2().in_dimension(self.network.dimension)
        for rival in range(self.network.class_count):
            if rival != self.label:
                found = nearest_counterexample(
                    self.network, self.u, self.label, [rival], region, seed=seed, deadline=deadline
                )
                if found is not None:
                    incumbent.offer(found.point, rival)


def remarks(doubt: str, outcome: SearchOutcome, nothing: bool, far: float) -> tuple[str, ...]:
    """Return remarks on the search."""
    notes = [doubt] if doubt else []
    if outcome.timed_out:
        notes.append(f"the time was up with {outcome.open_cells} cells open")
    if outcome.unresolved:
        nearest = min(outcome.unresolved)
        notes.append(
            f"a region with ties no nearer than {nearest:.6g} is not settled: exact arithmetic confirms none "
            "(classes touch without crossing), or its critical points are degenerate"
        )
    if nothing:
        notes.append(f"no tie within {far:.3g}: no other class is ever reached, as far as doubles can see")
    return tuple(notes)


def is_relu(chain: Chain) -> bool:
    """Return whether all activations are ReLU."""
    return all(isinstance(stage, Piecewise) and stage.is_relu for stage in chain.stages)


def is_searchable(network: Network) -> bool:
    """Return whether the cells of a network are polyhedra: layers with ReLU, or one hidden layer with a spline."""
    chain = network.chain
    if chain is None:
        return False
    return is_relu(chain) or (len(chain.stages) == 1 and isinstance(chain.stages[0], Piecewise))


def searchable(network: Network) -> Chain:
    """Return the layers; refuse networks whose regions are no polyhedra."""
    chain = network.chain
    if chain is None or not is_searchable(network):
        raise InputError(
            f"{network!r}: expected layers with ReLU, or one hidden layer with a spline; in others the regions are not polyhedra"
        )
    return chain


def _check_scale(chain: Chain) -> None:
    """Refuse weights whose products through the layers, or the squares of these, leave the range of doubles."""
    smallest = largest = 0.0
    for layer in chain.layers:
        sizes = np.abs(layer.weights[layer.weights != 0])
        if sizes.size:
            smallest += math.log10(float(sizes.min()))
            largest += math.log10(float(sizes.max()))
    if smallest < -LARGEST_SCALE or largest > LARGEST_SCALE:
        raise InputError(
            f"weights multiply to sizes from 1e{smallest:.0f} to 1e{largest:.0f} through the layers; rescale them to less than "
            f"1e±{LARGEST_SCALE}"
        )
