"""`Verifier`: a model, prepared once and asked often; `margin`, `verify` and `attack` make one and ask it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import check_model, check_named, checked_point, positive
from polymargin.blas import blas_threads
from polymargin.boundary import Boundary
from polymargin.class_names import class_name, named
from polymargin.continuation import Tracker
from polymargin.deadlines import Deadline
from polymargin.enumeration.cache import Cache
from polymargin.errors import InputError
from polymargin.margins import provers
from polymargin.margins.arithmetic import RoundedMargin, RoundedVerdict
from polymargin.margins.attacked import Attack
from polymargin.margins.batch import Answered, PointQuestion, answers
from polymargin.margins.case import Case
from polymargin.margins.checkpoint import Checkpoint
from polymargin.margins.gathered import gathered
from polymargin.margins.naming import RowLabels
from polymargin.margins.noise import Noise, NoiseGiven
from polymargin.margins.noisy_answers import NoiseBudget, NoisyMargin, NoisyVerdict
from polymargin.margins.options import (
    DEFAULT_TIMEOUT,
    AttackOptions,
    MarginOptions,
    Progress,
    RowOptions,
    VerifierMarginOptions,
    VerifyOptions,
)
from polymargin.margins.pairs import Enumeration
from polymargin.margins.prediction import predicted_class
from polymargin.margins.prepared import Prepared
from polymargin.margins.proving import MarginQuestion
from polymargin.margins.result import Margin, Margins
from polymargin.margins.settings import Settings
from polymargin.margins.verdict import Verdict, Verdicts
from polymargin.margins.verdicts import VerdictQuestion
from polymargin.networks.network import Network
from polymargin.networks.readers.models import network_from
from polymargin.regions import Region, ThreatModel
from polymargin.regions.given import LARGEST, SMALLEST
from polymargin.relaxation.rounding import format_of
from polymargin.rows import ManyPoints, OnePoint, each, one_or_many
from polymargin.standing import Standing
from polymargin.work import Workers

# Of one model, with different settings or timeouts.
MOST_KEPT = 8


class Verifier:
    """A model asked about one kind of perturbation; boundaries, start solutions and proofs in common are prepared once.

    Parameters
    ----------
    model     a network, a PyTorch module, a scikit-learn estimator, the path of a model file, or a boundary alone
    within    the perturbations that count: `L2(...)` by default, `Linf(...)` or `L1(...)`
    rivals    only ties with these classes count
    abstain   an answer counts only if its logit leads by more than this
    seed      of every random choice; answers do not depend on the number of workers
    device    'cpu', 'cuda' or 'auto': a GPU if there is one and the paths are many; POLYMARGIN_DEVICE by default
    workers   threads (all cores by default), or a `concurrent.futures.Executor` or Dask `Client` that takes the rows
    settings  how critical points are listed and kept

    >>> from polymargin import Linf, PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 4.0], [0.0, 0.0]], [0.0, 4.0])],
    ...                         degree=2)
    >>> verifier = Verifier(net, within=Linf())                           # the ellipse x² + 4y² = 4
    >>> verifier.verify([0.0, 0.25], 0.6).answer.name, verifier.verify([0.0, 0.25], 0.7).answer.name
    ('ROBUST', 'VULNERABLE')
    """

    def __init__(
        self,
        model: Any,
        *,
        within: Region | None = None,
        rivals: Sequence[int] | None = None,
        abstain: float = 0.0,
        seed: int = 0,
        device: str | None = None,
        workers: int | Workers | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.model = network_from(model)
        check_model("model", self.model, (Network, Boundary))
        check_named("seed", seed)
        self.settings = settings or Settings()
        self._kept: dict[tuple[Enumeration, float], Prepared] = {}
        self.seed = seed
        self._executor, threads = _workers(workers)
        self._tracker = Tracker.of(self.settings.tracker, threads, device)
        classes = None if isinstance(self.model, Boundary) else self.model.class_count
        self.threat = ThreatModel.of(self.model.dimension, within, rivals, abstain, classes)
        if isinstance(self.model, Boundary) and self.model.metric is not None:
            raise InputError(
                "the boundary has a metric of its own, which margins do not see; use within= with a region"
            )
        if isinstance(self.model, Boundary) and (rivals is not None or abstain):
            raise InputError("rivals= and abstain= speak of classes; a boundary alone has none: leave them out")

    def _prepared(self, timeout: float) -> Prepared:
        """Return what was prepared for answers in so many seconds per point; for plain L2 it is kept with the model."""
        check_named("timeout", timeout)
        options = self.settings
        search = Enumeration(self._tracker, self.seed, options.limit, Cache.from_option(options.cache), timeout)
        kept = self.model.cache.setdefault(Prepared, {}) if self.threat.is_plain else self._kept
        found: Prepared | None = kept.get((search, options.rtol))
        if found is None:
            found = Prepared(self.model, self.threat, search, options.rtol)
            if len(kept) >= MOST_KEPT:
                kept.clear()
            kept[search, options.rtol] = found
        self._tracker = found.search.tracker  # with the kernels that were compiled for it
        return found

    @overload
    def margin(self, points: ManyPoints, **options: Unpack[VerifierMarginOptions]) -> Margins: ...
    @overload
    def margin(self, points: OnePoint, **options: Unpack[VerifierMarginOptions]) -> Margin: ...
    @overload
    def margin(self, points: ArrayLike, **options: Unpack[VerifierMarginOptions]) -> Any: ...
    def margin(
        self,
        points: ArrayLike,
        *,
        proof: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
        checkpoint: str | Path | None = None,
        progress: Progress | None = None,
        noise: NoiseGiven | None = None,
        arithmetic: str | None = None,
    ) -> Any:
        """Return the distance to the nearest tie: a `Margin` for one point (n,), `Margins` for a batch (m, n) or images (m, …).

        proof        prove the answer; False for the number alone
        noise        {layer: size}: every form of these layers may be off by so much
        arithmetic   'float32', 'bfloat16' or 'float16': what is proved holds for programs that round
        timeout      seconds per point, for its proofs
        checkpoint   a file that collects finished rows; the same call continues where it stopped
        progress     called with the number of a row and its answer as soon as there is one
        """
        array = one_or_many(points, self.model.dimension)
        prepared = self._prepared(timeout)
        if noise is not None or arithmetic is not None:
            asked = self._asked(noise, arithmetic, checkpoint)
            kind = NoisyMargin if isinstance(asked, Noise) else RoundedMargin
            return self._rows(
                kind(prepared.judge, self.threat, asked, timeout, self.seed), array, Margins, timeout, progress
            )
        about: dict[str, Any] = {"answers": "margins", "proof": proof}
        store = self._checkpoint(checkpoint, np.atleast_2d(array), about, Margin)
        labels = RowLabels.of(self.model, self.threat, np.atleast_2d(array))
        found = self._rows(MarginQuestion(prepared, proof), array, Margins, timeout, progress, store, labels)
        in_plane = array.ndim == 2 and self.model.dimension == 2 and self.threat.is_plain
        return found.drawn_at(array) if in_plane else found

    @overload
    def verify(self, points: ManyPoints, radius: float, **options: Unpack[RowOptions]) -> Verdicts: ...
    @overload
    def verify(self, points: OnePoint, radius: float, **options: Unpack[RowOptions]) -> Verdict: ...
    @overload
    def verify(self, points: ArrayLike, radius: float, **options: Unpack[RowOptions]) -> Any: ...
    def verify(
        self,
        points: ArrayLike,
        radius: float,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        checkpoint: str | Path | None = None,
        progress: Progress | None = None,
        noise: NoiseGiven | None = None,
        arithmetic: str | None = None,
    ) -> Any:
        """Decide whether another class ties or wins at a distance of at most `radius`: a `Verdict`, or `Verdicts` for a batch.

        What is not decided after `timeout` seconds per point, checking included, is UNKNOWN, with the bounds reached. The other
        options are those of `margin`. A counterexample with noise has the inputs and then the noise of its layers.
        """
        if isinstance(self.model, Boundary):
            raise InputError("a boundary alone has margins, but no classes that verify could speak of")
        prepared = self._prepared(timeout)
        question = VerdictQuestion(prepared, _radius(radius))
        array = one_or_many(points, self.model.dimension)
        if noise is not None or arithmetic is not None:
            asked, reach = self._asked(noise, arithmetic, checkpoint), question.radius
            kind = NoisyVerdict if isinstance(asked, Noise) else RoundedVerdict
            made = kind(prepared.judge, self.threat, reach, asked, timeout, self.seed)
            return self._rows(made, array, Verdicts, timeout, progress)
        self.threat.region.check_bounded()
        about: dict[str, Any] = {"answers": "verdicts", "radius": question.radius, "timeout": float(timeout)}
        store = self._checkpoint(checkpoint, np.atleast_2d(array), about, Verdict)
        return self._rows(question, array, Verdicts, timeout, progress, store)

    def _asked(self, noise: NoiseGiven | None, arithmetic: str | None, checkpoint: object) -> Any:
        if isinstance(self.model, Boundary):
            raise InputError("noise= and arithmetic= speak of layers; a boundary alone has none: leave them out")
        if checkpoint is not None:
            raise InputError("checkpoint= with noise= or arithmetic=: such rows are not kept in files; leave it out")
        if noise is not None and arithmetic is not None:
            raise InputError("noise= and arithmetic=: expected one of them")
        if noise is not None:
            return Noise.of(self.model, noise)
        format_of(self.model, arithmetic)
        return arithmetic

    def noise_budget(
        self,
        points: ArrayLike,
        noise: NoiseGiven,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        progress: Progress | None = None,
    ) -> Any:
        """Return how much noise the class at each point bears, in units of the given sizes: a `Margin`, or `Margins` for a batch.

        The inputs stay. Sizes in percent are of the largest absolute value in the layer at the point.

        >>> from polymargin import PolynomialNetwork
        >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])], degree=2)
        >>> found = Verifier(net).noise_budget([3.0, 1.0], {"layer 0": 0.5})              # (3 − e)² = (1 + e)² for e = 1
        >>> round(found.lower, 2), round(found.upper, 6)
        (2.0, 2.0)
        """
        prepared, array = self._prepared(timeout), one_or_many(points, self.model.dimension)
        made = NoiseBudget(prepared.judge, self._asked(noise, None, None), self.threat, timeout, self.seed)
        return self._rows(made, array, Margins, timeout, progress)

    @overload
    def attack(self, points: ManyPoints, *, timeout: float = ...) -> list[Attack | None]: ...
    @overload
    def attack(self, points: OnePoint, *, timeout: float = ...) -> Attack | None: ...
    @overload
    def attack(self, points: ArrayLike, *, timeout: float = ...) -> Any: ...
    def attack(self, points: ArrayLike, *, timeout: float = DEFAULT_TIMEOUT) -> Any:
        """Return the nearest counterexample that a local search finds, None if it finds none; a list of these for a batch."""
        check_named("timeout", timeout)
        if isinstance(self.model, Boundary):
            raise InputError("a boundary alone has margins, but no classes that attack could speak of")
        self.threat.region.check_bounded()
        array = one_or_many(points, self.model.dimension)
        with blas_threads(self._tracker.threads):
            if array.ndim == 2:
                return each(lambda row: self._attack_at(row, timeout), array)
            return self._attack_at(array, timeout)

    def _attack_at(self, point: NDArray[np.float64], timeout: float) -> Attack | None:
        network, region = self.model, self.threat.region
        deadline, u = Deadline.after(timeout), checked_point(point, network.dimension)
        Case.check_size(network, u)
        network.prepare_exact()
        label, tied = predicted_class(network, u)
        if tied is not None:
            names = " and ".join(class_name(network, one) for one in (label, tied))
            raise InputError(f"classes {names} tie exactly at the point: it has no class of its own")
        rivals = self.threat.against(label, network.class_count)
        options: dict[str, Any] = {
            "abstain": self.threat.abstain,
            "seed": self.seed,
            "deadline": deadline,
        }
        found = provers.nearest_loss(network, u, label, rivals, region, **options)
        if found is None:
            return None
        return named(Attack(found.point, found.distance, label, found.rival, region.norm.value), network)

    def _rows(
        self,
        question: PointQuestion,
        points: NDArray[np.float64],
        listing: Any,
        timeout: float,
        progress: Progress | None,
        store: Checkpoint | None = None,
        labels: RowLabels | None = None,
    ) -> Any:
        """Return the answer for one point, whose errors are raised, or a listing of those for a batch."""
        single, rows, tracker = points.ndim == 1, np.atleast_2d(points), self._tracker
        told = RowLabels.names_of(self.model, len(rows)) if labels is None else labels
        stored = {} if store is None else {row: one for row in range(len(rows)) if (one := store.get(row)) is not None}
        left = np.delete(np.arange(len(rows)), list(stored))
        if single and len(left):
            checked_point(points, self.model.dimension)
            tracker = tracker.until(Deadline.after(timeout))
        parts: list[Answered] = [(np.array(list(stored), dtype=np.intp), list(stored.values()))]

        def report(block: NDArray[np.intp], found: Sequence[Any]) -> None:
            if progress is not None:
                for row, answer in zip(block.tolist(), found, strict=True):
                    progress(row, told(answer, row))

        report(*parts[0])
        with blas_threads(tracker.threads):
            for block, found in answers(question, rows, left, tracker, self._executor, single):
                parts.append((block, found))
                if store is not None:
                    done = zip(block.tolist(), found, strict=True)
                    store.add([(row, answer) for row, answer in done if answer.standing is not Standing.FAILED])
                report(block, found)
        whole = gathered(parts, told, listing)
        return whole[0] if single else whole

    def _checkpoint(
        self, file: str | Path | None, points: NDArray[np.float64], about: dict[str, Any], kind: Any
    ) -> Checkpoint | None:
        if file is None:
            return None
        model = self.model.source.fingerprint if isinstance(self.model, Boundary) else self.model.fingerprint
        options = about | {"seed": int(self.seed), **self.settings.of_the_answer}
        options |= {} if self.threat.is_plain else {"within": self.threat.to_dict()}
        return Checkpoint.open(file, model, points, options, kind)

    def __repr__(self) -> str:
        return f"Verifier({self.model!r}, within={self.threat.region!r})"


@overload
def margin(model: Any, points: ManyPoints, **options: Unpack[MarginOptions]) -> Margins: ...
@overload
def margin(model: Any, points: OnePoint, **options: Unpack[MarginOptions]) -> Margin: ...
@overload
def margin(model: Any, points: ArrayLike, **options: Unpack[MarginOptions]) -> Any: ...
def margin(
    model: Any,
    points: ArrayLike,
    *,
    within: Region | None = None,
    rivals: Sequence[int] | None = None,
    abstain: float = 0.0,
    proof: bool = True,
    timeout: float = DEFAULT_TIMEOUT,
    seed: int = 0,
    device: str | None = None,
    workers: int | Workers | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
    noise: NoiseGiven | None = None,
    arithmetic: str | None = None,
) -> Any:
    """Return the exact margin at one point (n,), or `Margins` for a batch (m, n) or images (m, …), with a proof.

    Parameters
    ----------
    model        a network, a PyTorch module, a scikit-learn estimator, the path of a model file, or a boundary alone
    points       one vector, or a batch; a bad row of a batch reports its own error
    within       the perturbations that count: `L2(...)` by default, `Linf(...)` or `L1(...)`
    rivals       only ties with these classes count
    abstain      an answer counts only if its logit leads by more than this
    proof        prove the answer; False for the number alone
    timeout      seconds per point, for its proofs
    seed         of every random choice; the answer is the same for any number of workers
    device       'cpu', 'cuda' or 'auto': a GPU if there is one and the paths are many; POLYMARGIN_DEVICE by default
    workers      threads (all cores by default), or a `concurrent.futures.Executor` or Dask `Client` that takes the rows
    checkpoint   a file that collects finished rows; the same call continues where it stopped
    progress     called with the number of a row and its answer as soon as there is one
    noise        {layer: size}, layers by name or number, sizes as numbers or as '0.1%' of the layer's proved range: every form
                 of these layers may be off by so much
    arithmetic   'float32', 'bfloat16' or 'float16': what is proved holds for programs that round, in whatever order they add

    Who asks the same model often makes a `Verifier` of it once.

    >>> from polymargin import PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 4.0], [0.0, 0.0]], [0.0, 4.0])],
    ...                         degree=2)
    >>> margin(net, [0.0, 0.25])                                          # the ellipse x² + 4y² = 4
    Margin(0.75, class 1 against 0, CERTIFIED by quadric)
    """
    made = Verifier(model, within=within, rivals=rivals, abstain=abstain, seed=seed, device=device, workers=workers)
    return made.margin(
        points,
        proof=proof,
        timeout=timeout,
        checkpoint=checkpoint,
        progress=progress,
        noise=noise,
        arithmetic=arithmetic,
    )


@overload
def verify(model: Any, points: ManyPoints, radius: float, **options: Unpack[VerifyOptions]) -> Verdicts: ...
@overload
def verify(model: Any, points: OnePoint, radius: float, **options: Unpack[VerifyOptions]) -> Verdict: ...
@overload
def verify(model: Any, points: ArrayLike, radius: float, **options: Unpack[VerifyOptions]) -> Any: ...
def verify(
    model: Any,
    points: ArrayLike,
    radius: float,
    *,
    within: Region | None = None,
    rivals: Sequence[int] | None = None,
    abstain: float = 0.0,
    timeout: float = DEFAULT_TIMEOUT,
    seed: int = 0,
    device: str | None = None,
    workers: int | Workers | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
    noise: NoiseGiven | None = None,
    arithmetic: str | None = None,
) -> Any:
    """Decide whether any other class ties or wins at a distance of at most `radius`, with a proof either way.

    One point (n,) gives a `Verdict`, a batch (m, n) gives `Verdicts`; a bad row of a batch reports its own error. What is not
    decided after `timeout` seconds per point, checking included, is UNKNOWN, with the bounds reached. The other options are
    those of `margin`.

    >>> from polymargin import Linf, PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 4.0], [0.0, 0.0]], [0.0, 4.0])],
    ...                         degree=2)
    >>> verify(net, [0.0, 0.25], radius=0.7).answer.name                  # the margin is 0.75
    'ROBUST'
    >>> verify(net, [0.0, 0.25], radius=0.7, within=Linf()).answer.name   # and 0.689 if every coordinate may move
    'VULNERABLE'
    >>> verify(net, [[0.0, 0.25], [0.0, 0.5]], radius=0.7)
    Verdicts(2 points: 1 ROBUST, 1 VULNERABLE)
    """
    made = Verifier(model, within=within, rivals=rivals, abstain=abstain, seed=seed, device=device, workers=workers)
    return made.verify(
        points, radius, timeout=timeout, checkpoint=checkpoint, progress=progress, noise=noise, arithmetic=arithmetic
    )


@overload
def attack(model: Any, points: ManyPoints, **options: Unpack[AttackOptions]) -> list[Attack | None]: ...
@overload
def attack(model: Any, points: OnePoint, **options: Unpack[AttackOptions]) -> Attack | None: ...
@overload
def attack(model: Any, points: ArrayLike, **options: Unpack[AttackOptions]) -> Any: ...
def attack(
    model: Any,
    points: ArrayLike,
    *,
    within: Region | None = None,
    rivals: Sequence[int] | None = None,
    abstain: float = 0.0,
    timeout: float = DEFAULT_TIMEOUT,
    seed: int = 0,
) -> Any:
    """Return the nearest counterexample that a local search finds; None if it finds none, a list of answers for a batch.

    The options are those of `margin`.

    >>> from polymargin import Linf, PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[0.0, 0.0], [1.0, 4.0]], [4.0, 0.0])],
    ...                         degree=2)
    >>> attack(net, [0.0, 0.25])
    Attack(distance 0.75, class 0 loses to 1)
    >>> attack(net, [0.0, 0.25], within=Linf(domain=(-1, 1)))
    Attack(linf distance 0.6888194417, class 0 loses to 1)
    """
    made = Verifier(model, within=within, rivals=rivals, abstain=abstain, seed=seed)
    return made.attack(points, timeout=timeout)


def _radius(value: Any) -> float:
    radius = positive(value, "radius")
    if not SMALLEST <= radius <= LARGEST:
        raise InputError(f"radius={radius:g}: expected a number from {SMALLEST:g} to {LARGEST:g}; rescale the inputs")
    return radius


def _workers(workers: int | Workers | None) -> tuple[Workers | None, int | None]:
    """An executor and the threads of each of its workers, or threads of this process."""
    if workers is None or isinstance(workers, (int, np.integer, float, str)):
        check_named("workers", workers)
        return None, None if workers is None else int(workers)
    return workers, 1
