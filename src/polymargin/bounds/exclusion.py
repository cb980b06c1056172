"""Branch and bound: a proof that B > 0 on the closed ball ‖x − u‖ ≤ r.

Deep networks of quadratic activations are lifted (`lifted/search.py`); those with another last activation too, as long as
no splitting is needed. Else the relaxation bounds B on the whole
ball; where that is not enough the range of one first-layer coordinate y_j is cut in two, and both halves are bounded anew
with quadratics that need to be valid on a smaller range only. The neuron to cut is the one whose minorant lies farthest
below it at the relaxation's own minimiser. Leaves are bounded in batches. A minimiser at which B ≤ 0 in exact arithmetic
ends the search: there is nothing to prove.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.bounds.bound import hexadecimal
from polymargin.bounds.leaves import bound_leaves
from polymargin.bounds.lifted.expansion import can_lift, expansion_at
from polymargin.bounds.lifted.question import Question
from polymargin.bounds.lifted.search import prove_positive
from polymargin.bounds.lifted.tree import LiftedProof
from polymargin.bounds.products.expansion import products_at
from polymargin.bounds.products.question import ProductProof, ProductQuestion
from polymargin.bounds.products.view import ProductView
from polymargin.bounds.regions.search import RegionProof
from polymargin.bounds.splitting import choose_split, minimiser
from polymargin.bounds.tree import Leaf, LeafSplit, tree_proof
from polymargin.bounds.view import View
from polymargin.bounds.views import AnyView, bounded_view_of
from polymargin.deadlines import Deadline, TimeUpError
from polymargin.errors import InputError
from polymargin.networks.network import Network

Array = NDArray[np.float64]

# Dimensions up to which parabolas below one layer of squares are as cheap to seek as multipliers are to guess.
LARGE = 48
BATCH = 16
# Products up to which a ball is cut into parts: as layers, whose ranges can be cut.
MOST_POLARISED = 60


@dataclass(frozen=True, eq=False)
class Exclusion:
    """Whether B = f_label − f_rival was proved positive on the closed ball of this radius, and how.

    tree            the proof, None if there is none
    leaves          parts of the ball that were proved
    open_leaves     parts left when the search stopped
    reason          'proved', 'counterexample', 'timeout', 'too many leaves', 'too large' or 'rounding'
    counterexample  a point of the ball with f_rival ≥ f_label in exact arithmetic
    lowering        how the checker turns the model into layers; None for a model made of layers
    """

    radius: float
    label: int
    rival: int
    tree: LeafSplit | Leaf | LiftedProof | ProductProof | RegionProof | None
    leaves: int
    open_leaves: int
    reason: str
    seconds: float
    counterexample: Array | None = None
    lowering: dict[str, Array] | None = None

    @property
    def proved(self) -> bool:
        return self.tree is not None

    def __repr__(self) -> str:
        what = f"{self.leaves} leaves" if self.proved else f"not proved: {self.reason}, {self.open_leaves} parts open"
        return f"Exclusion(radius {self.radius:.10g}, class {self.label} against {self.rival}, {what})"

    def to_proof(self) -> dict[str, Any]:
        """The JSON-ready proof of docs/certificates.md."""
        if self.tree is None:
            raise InputError(f"nothing was proved at radius {self.radius} ({self.reason}); try a smaller radius")
        if isinstance(self.tree, RegionProof):
            return self.tree.to_proof()
        kind = _KINDS.get(type(self.tree), "exclusion")
        proof: dict[str, Any] = {"kind": kind, "radius": float(self.radius).hex()}
        if self.lowering is not None:
            proof["lowering"] = {name: hexadecimal(array) for name, array in self.lowering.items()}
        if isinstance(self.tree, (LiftedProof, ProductProof)):
            return proof | self.tree.to_proof()
        return proof | {"tree": tree_proof(self.tree)}


_KINDS: dict[type, str] = {LiftedProof: "lifted", ProductProof: "products"}


def exclude_by(
    deadline: Deadline,
    network: Network,
    point: ArrayLike,
    label: int,
    rival: int,
    radius: float,
    most_leaves: int = 100_000,
) -> Exclusion:
    """Prove that `rival` neither beats nor ties with `label` at a distance of at most `radius` from the point."""
    if not (np.isfinite(radius) and radius > 0):
        raise InputError(f"radius {radius}: expected a positive number")
    if label == rival or not (0 <= label < network.class_count and 0 <= rival < network.class_count):
        raise InputError(f"label {label}, rival {rival}: expected two different classes below {network.class_count}")
    seen = bounded_view_of(network, point, label, rival)
    if isinstance(seen, ProductView):
        whole = _in_one_piece(seen, label, rival, float(radius), deadline)
        if whole.reason != "too many leaves" or most_leaves <= 1 or seen.wiring.products > MOST_POLARISED:
            return whole
    view = seen if isinstance(seen, View) else View.of(network, point, label, rival)
    squares = len(view.activation(view.depth)) <= 3
    if can_lift(view) and (view.depth > 1 or (squares and view.factor.shape[1] > LARGE)):
        lifted = _lifted(view, label, rival, float(radius), deadline, most_leaves if squares else 1)
        if lifted.proved or (view.depth > 1 and (squares or lifted.reason != "too many leaves" or most_leaves <= 1)):
            return lifted
        # Splits do not narrow what the parabolas of a last layer of higher degree have to hold on.
    if squares and view.depth == 1:
        most_leaves = 1  # decided in one piece, but for rounding: a counterexample is found, or nothing is
    return _BallSearch(view, label, rival, float(radius)).run(deadline, most_leaves)


def _in_one_piece(view: ProductView, label: int, rival: int, radius: float, deadline: Deadline) -> Exclusion:
    """Networks of products: the whole ball at once; 'too many leaves' where that does not decide."""
    started = perf_counter()
    question = ProductQuestion(products_at(view), label, rival, radius)
    proof, reason, refuted = None, "timeout", None
    try:
        outcome, proof = question.attempt(deadline)
        place = question.minimiser(outcome)
        refuted = None if proof is not None or place is None else counterexample_at(view, label, rival, radius, place)
        reason = "counterexample" if refuted is not None else "timeout" if deadline.passed else "too many leaves"
    except TimeUpError:
        pass  # the reason says so
    reason = reason if proof is None else "proved"
    done = int(proof is not None)
    seconds = perf_counter() - started
    return Exclusion(radius, label, rival, proof, done, 1 - done, reason, seconds, refuted)


def _lifted(view: View, label: int, rival: int, radius: float, deadline: Deadline, most_leaves: int) -> Exclusion:
    started = perf_counter()
    question = Question(expansion_at(view), label, rival, radius)
    refuted: list[Array] = []

    def suspect(place: Array) -> bool:
        found = counterexample_at(view, label, rival, radius, place)
        refuted.extend([] if found is None else [found])
        return found is not None

    found = prove_positive(question, deadline, most_leaves, suspect)
    return Exclusion(
        radius,
        label,
        rival,
        found.proof,
        found.leaves,
        found.open_parts,
        found.reason,
        perf_counter() - started,
        refuted[0] if refuted else None,
        view.lowering,
    )


def counterexample_at(view: AnyView, label: int, rival: int, radius: float, place: Array) -> Array | None:
    """The point at δ = place, if it is a counterexample within the radius in exact arithmetic."""
    delta = view.basis @ place
    delta *= min(1.0, radius * (1 - 1e-15) / max(float(np.linalg.norm(delta)), 1e-300))
    x = view.point + delta
    if not float(view.boundary(label, rival, x)) <= 0:
        return None
    logits = view.network.exact_logits(x)
    distance = sum((Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(x, view.point, strict=True))
    return None if logits[rival] < logits[label] or distance > Fraction(radius) ** 2 else np.asarray(x)


class _BallSearch:
    """The open parts of the ball, and what is known about the finished ones."""

    def __init__(self, view: View, label: int, rival: int, radius: float) -> None:
        self.view, self.label, self.rival, self.radius = view, label, rival, radius
        self.gamma, self.constant = view.difference(label, rival)
        self.boxes: list[Array] = [view.root_ranges(radius)]
        self.decided: dict[int, Leaf | tuple[int, float, int, int]] = {}
        self.open = [0]
        self.leaves = 0
        self.counterexample: Array | None = None

    def run(self, deadline: Deadline, most_leaves: int) -> Exclusion:
        started = perf_counter()
        reason = "proved"
        while self.open and reason == "proved":
            self._advance(deadline)
            if self.counterexample is not None:
                reason = "counterexample"
            elif self.open and deadline.passed:
                reason = "timeout"
            elif self.open and self.leaves + len(self.open) > most_leaves:
                reason = "too many leaves"
        tree = self._tree(0) if reason == "proved" else None
        seconds = perf_counter() - started
        return Exclusion(
            self.radius,
            self.label,
            self.rival,
            tree,
            self.leaves,
            len(self.open),
            reason,
            seconds,
            self.counterexample,
            self.view.lowering,
        )

    def _advance(self, deadline: Deadline) -> None:
        """Bound a batch of open parts: each becomes a leaf or is cut in two."""
        batch = self.open[-BATCH:]
        gamma = np.broadcast_to(self.gamma, (len(batch), len(self.gamma))).copy()
        constant, radius = np.full(len(batch), self.constant), np.full(len(batch), self.radius)
        boxes = np.stack([self.boxes[i] for i in batch])
        found = bound_leaves(self.view, boxes, gamma, constant, radius, decide=True, deadline=deadline)
        self.open = self.open[:-BATCH]
        for row, index in enumerate(batch):
            if found.values[row] > 0:
                self.decided[index] = found.leaves[row]
                self.leaves += 1
                continue
            place = minimiser(found.optimum, row)
            found_here = counterexample_at(self.view, self.label, self.rival, self.radius, self.radius * place)
            if found_here is not None:
                self.counterexample = found_here
                return
            neuron, value = choose_split(self.view, found.program, found.optimum, row, place)
            low, high = self.boxes[index].copy(), self.boxes[index].copy()
            low[neuron, 1] = high[neuron, 0] = value
            self.decided[index] = (neuron, value, len(self.boxes), len(self.boxes) + 1)
            self.open += [len(self.boxes), len(self.boxes) + 1]
            self.boxes += [low, high]

    def _tree(self, index: int) -> LeafSplit | Leaf:
        found = self.decided[index]
        if isinstance(found, Leaf):
            return found
        neuron, value, low, high = found
        return LeafSplit(neuron, value, self._tree(low), self._tree(high))
