"""The margins of a model in a region that is not simply L2: what is known of each rival, put together.

L2 without a domain is the ordinary problem on one affine space: weights, matrices, some coordinates and subspaces are a
substitution. Everything else goes face by face.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import checked_point
from polymargin.blas import blas_threads
from polymargin.boundary import Boundary
from polymargin.boundary.shifted import ShiftedSource
from polymargin.continuation import Tracker
from polymargin.deadlines import TimeUpError
from polymargin.enumeration.limit import written
from polymargin.errors import InputError, TooManyPathsError
from polymargin.margins.combined import combined
from polymargin.margins.faces.face import face_count, path_count, subspace_face
from polymargin.margins.faces.nearest import nearest_on_faces
from polymargin.margins.models import ModelMargins
from polymargin.margins.network_margins import check_architecture
from polymargin.margins.pairs import FOLLOWING, Enumeration, out_of_time, pair_for
from polymargin.margins.prediction import LARGEST_NOISE, predicted_class
from polymargin.margins.result import Margin, PairMargin, open_margin
from polymargin.networks.network import Network
from polymargin.networks.noise import check_scale, check_terms
from polymargin.regions import Norm, ThreatModel

Array = NDArray[np.float64]

# Faces beyond which even systems with two solutions take minutes.
MOST_FACES = 20_000
# Two lengths that may differ by rounding.
AGREEMENT = 1e-9


class RegionMargins(ModelMargins):
    """A network or a boundary, asked about perturbations of one kind."""

    def __init__(self, model: Network | Boundary, search: Enumeration, asked: ThreatModel) -> None:
        self._model, self._search, self._asked = model, search, asked
        self._near = near = asked.region
        if isinstance(model, Boundary) and (asked.rivals is not None or asked.abstain):
            raise InputError("rivals= and abstain= speak of classes; a boundary alone has none: leave them out")
        if near.subspace is not None and near.low is not None:
            raise InputError("a subspace within a domain has no margins: leave out one of them")

    def margin_at(self, u: Array, tracker: Tracker) -> Margin:
        """Return the margin at one point (n,)."""
        checked_point(u, self._model.dimension)
        with blas_threads(self._search.tracker.threads):
            return self._margin_at(u, tracker)

    def _margin_at(self, u: Array, tracker: Tracker) -> Margin:
        self._near.check_inside(u)
        if not isinstance(self._model, Boundary):
            check_scale(self._model)
            check_terms(self._model, u)
        started, deadline = perf_counter(), self._search.deadline(tracker)
        try:
            label, pairs = self._pairs(u, tracker.until(deadline.part(FOLLOWING)))
        except (TooManyPathsError, TimeUpError) as refusal:
            error = out_of_time(self._search.timeout) if isinstance(refusal, TimeUpError) else refusal
            if isinstance(self._model, Boundary):
                raise error from None
            label, _ = predicted_class(self._model, u)
            found = open_margin(label, f"bounds instead of enumeration: {error}")
            return replace(found, norm=self._near.norm.value)
        return replace(combined(label, pairs, perf_counter() - started), norm=self._near.norm.value)

    def _pairs(self, u: Array, tracker: Tracker) -> tuple[int | None, list[PairMargin]]:
        model, asked = self._model, self._asked
        if isinstance(model, Boundary):
            return None, [self._pair(model, u, None, tracker)]
        label, tied = predicted_class(model, u)
        rivals = asked.against(label, model.class_count)
        if tied in rivals:
            note = f"classes {label} and {tied} tie exactly at the point"
            return label, [PairMargin(tied, 0.0, 0.0, 0.0, u.copy(), "tie", True, 0, 0, 0, (note,), proved=True)]
        self._check_architecture(model)
        return label, [self._pair(self._boundary(model, label, rival), u, rival, tracker) for rival in rivals]

    def _boundary(self, network: Network, label: int, rival: int) -> Boundary:
        boundary = Boundary.from_network(network, label, rival)
        if not self._asked.abstain:
            return boundary
        return Boundary(ShiftedSource(boundary.source, self._asked.abstain), boundary.name)

    def _pair(self, boundary: Boundary, u: Array, rival: int | None, tracker: Tracker) -> PairMargin:
        near = self._near
        value = boundary.exact_value([Fraction(entry) for entry in u.tolist()])
        if value == 0 or (value < 0 and self._asked.abstain):
            note = (
                "the answer does not lead by more than abstain="
                if self._asked.abstain
                else "the point is on the boundary"
            )
            return PairMargin(rival, 0.0, 0.0, 0.0, u.copy(), "tie", True, 0, 0, 0, (note,), proved=True)
        if boundary.degree < 1:
            return pair_for(boundary, self._search, tracker).margin_at(u, rival, tracker)
        plain = near.norm is Norm.L2 and near.low is None
        if not plain:
            self._check_size(boundary)
        euclidean = self._without_domain(boundary, u, rival, tracker)
        noise = float(boundary.source.noise(u))
        if not math.isfinite(noise) or Fraction(noise) > Fraction(LARGEST_NOISE) * abs(value):
            note = "the logits cancel: doubles hardly see them differ"
            euclidean = replace(euclidean, lower=0.0, complete=False, proved=False, notes=(note, *euclidean.notes))
        if plain:
            return euclidean
        found = nearest_on_faces(boundary, u, rival, near, self._search, tracker)
        return self._held_against_l2(found, euclidean, u)

    def _without_domain(self, boundary: Boundary, u: Array, rival: int | None, tracker: Tracker) -> PairMargin:
        """Return the L2 margin with the same weights and coordinates: the ordinary problem after a substitution."""
        near = self._near
        if all(part is None for part in (near.weights, near.ellipsoid, near.movable, near.subspace)):
            return pair_for(boundary, self._search, tracker).margin_at(u, rival, tracker)
        face = subspace_face(near, u)
        restricted = Boundary(boundary.source.on_subspace(face.free, face.origin), boundary.name)
        found = pair_for(restricted, self._search, tracker).margin_at(np.zeros(restricted.dimension), rival, tracker)
        found = replace(found, proved=False)  # the substitution rounds
        return found if found.point is None else replace(found, point=face.origin + face.free @ found.point)

    def _held_against_l2(self, found: PairMargin, euclidean: PairMargin, u: Array) -> PairMargin:
        """Compare with the L2 margin: |δ|∞ ≥ |δ|₂/√n, |δ|₁ ≥ |δ|₂, and the nearest tie in L2 is a tie.

        Where the L2 margin is not settled, or the two disagree, what the faces say is not believed.
        """
        near, tie = self._near, euclidean.point
        shortest = euclidean.lower / (math.sqrt(len(near.moving)) if near.norm is Norm.LINF else 1.0)
        length = near.length(tie - u) if tie is not None and near.admits(tie) else math.inf
        agree = shortest <= found.upper * (1 + AGREEMENT) and found.upper <= length * (1 + AGREEMENT)
        if found.complete and euclidean.complete and agree:
            return found
        if length < found.upper:
            found = replace(found, radius=length, upper=length, point=tie)
        note = "the faces and the L2 margin do not settle it together"
        lower = min(shortest, found.upper)
        return replace(found, lower=lower, complete=False, notes=(*found.notes, note, *euclidean.notes))

    def _check_architecture(self, network: Network) -> None:
        """Refuse what is far too large for any boundary of such a network."""
        near, moving = self._near, len(self._near.moving)
        if (near.low is not None or near.norm is Norm.LINF) and 2 ** (moving - 1) > MOST_FACES:
            least = written(2 ** (moving - 1))
            raise TooManyPathsError(
                f"{near.norm.value} exactly: more than {least} faces in {moving} inputs; the limit is {MOST_FACES:,} faces"
            )
        check_architecture(network, moving, self._search.limit)

    def _check_size(self, boundary: Boundary) -> None:
        near, active, limit = self._near, boundary.space.dimension, self._search.limit
        count, paths = face_count(near, active), path_count(near, active, boundary.degree)
        if count > MOST_FACES or paths > limit:
            raise TooManyPathsError(
                f"{near.norm.value} exactly: {written(count)} faces with {written(paths)} paths for a boundary of degree "
                f"{boundary.degree} in {boundary.dimension} inputs; the limit is {MOST_FACES:,} faces and {limit:,} paths"
            )
