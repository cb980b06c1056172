"""`check`: from two files to a verdict.

The claim is put together from parts that are proved one by one: the label is the only largest logit at u, every rival
stays away from u as far as stated, and a tie or a loss exists as near as stated. Whatever is not proved is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import fmpq

from polymargin_checker.attention import Attention
from polymargin_checker.completeness import Completeness, Nature, check_completeness
from polymargin_checker.document import fields, integer, items, kind, read_document
from polymargin_checker.dyadics import at_least, number, number_or_infinity
from polymargin_checker.exact import exact_logits
from polymargin_checker.exclusion import check_exclusion
from polymargin_checker.hyperplane import check_hyperplane
from polymargin_checker.lifted import check_lifted
from polymargin_checker.lifted_spectra import Known
from polymargin_checker.model import Model, read_model
from polymargin_checker.neighbourhood import PLAIN, StatedNeighbourhood, read_neighbourhood
from polymargin_checker.network import LayeredBoundary
from polymargin_checker.product_ball import check_product_ball
from polymargin_checker.product_boundary import ProductBoundary
from polymargin_checker.products import Products
from polymargin_checker.refusal import Refused, Unusable
from polymargin_checker.region_proof import KnownExpansions, check_frame, check_region
from polymargin_checker.words import one_line, rounded_down, rounded_up, shown
from polymargin_checker.work import limited_work

FORMAT = "polymargin-certificate-1"

AnyModel = Model | Attention | Products


@dataclass(frozen=True)
class CheckResult:
    """The answer of the checker.

    accepted   the claim is proved
    reason     one sentence: what is proved, or why not
    usable     False if a file could not be read as a model or certificate file at all
    """

    accepted: bool
    reason: str
    usable: bool = True


@dataclass(frozen=True)
class Claim:
    """The margin is at least `lower` and at most `upper`; None is infinity."""

    kind: str
    lower: fmpq | None
    upper: fmpq | None

    def about(self, near: StatedNeighbourhood) -> str:
        """In words, for a person."""
        distance = "a distance" if near is PLAIN else f"{near.article} {near.distance}"
        if self.kind == "robust":
            sentence = f"robust: no other class ties or wins at {distance} below {rounded_down(self.lower)}"
        elif self.kind == "vulnerable":
            sentence = f"vulnerable: another class ties or wins at {distance} of at most {rounded_up(self.upper)}"
        else:
            sentence = f"the margin lies in [{rounded_down(self.lower)}, {rounded_up(self.upper)}]"
            sentence += "" if near is PLAIN else f", in {near.distance}"
        return sentence + near.restrictions


@dataclass(frozen=True)
class Situation:
    """A model at a point: everything that the proofs of a certificate are about."""

    model: AnyModel
    point: list[fmpq]
    label: int
    exact: bool
    known: Known
    near: StatedNeighbourhood
    expansions: KnownExpansions | None

    @cached_property
    def logits(self) -> list[fmpq]:
        """Without rounding."""
        return _logits(self.model, self.point)

    def lead(self, rival: int) -> fmpq:
        return self.logits[self.label] - self.logits[rival]


def check(model_path: Any, certificate_path: Any, exact: bool = False) -> CheckResult:
    """Prove or refuse the certificate in a file about the model in a file; never raises for what is in the files.

    With `exact` no floating-point arithmetic is trusted: large matrices are judged in ball arithmetic too, slowly.
    """
    try:
        model = read_model(model_path)
        document = read_document(certificate_path)
        _check_format(document, certificate_path)
        with limited_work(exact):
            return CheckResult(True, _prove(model, document, exact))
    except Unusable as refusal:
        return CheckResult(False, one_line(str(refusal)), usable=False)
    except Refused as refusal:
        return CheckResult(False, one_line(str(refusal)))
    except (MemoryError, RecursionError):
        return CheckResult(False, "the files need more memory than there is")
    except Exception as error:  # A checker that fails has proved nothing, and hostile input must not show a traceback.
        return CheckResult(False, f"the checker could not finish ({type(error).__name__}: {shown(str(error))})")


def _check_format(document: Any, path: Any) -> None:
    """What says to be something else is no certificate, be it right or wrong."""
    if not isinstance(document, dict):
        raise Unusable(f"{path}: not a certificate but {shown(document)}; expected an object")
    if "format" not in document:
        raise Unusable(f"{path}: not a certificate, as the key 'format' is missing; expected the format {FORMAT!r}")
    if document["format"] != FORMAT:
        raise Unusable(f"{path}: unknown certificate format {shown(document['format'])}; expected {FORMAT!r}")


def _prove(model: AnyModel, document: Any, exact: bool) -> str:
    fields(
        document,
        "certificate",
        ("format", "model", "point", "label", "claim", "rivals", "upper"),
        ("created", "neighbourhood"),
    )
    _check_model(model, document["model"])
    situation = _situation(model, document, exact)
    claim = _claim(document["claim"])
    _check_label(situation, document["rivals"])
    proofs = _check_rivals(situation, claim, document["rivals"])
    _check_upper(situation, claim, proofs, document["upper"])
    sentence = claim.about(situation.near)
    return (
        f"class {situation.label} is {sentence}" if claim.kind != "margin" else f"class {situation.label}: {sentence}"
    )


def _check_model(model: AnyModel, entry: Any) -> None:
    fields(entry, "model", ("kind", "sha256"))
    kind(entry, "model", (model.kind,))
    if entry["sha256"] != model.fingerprint():
        raise Refused("the certificate is for another model: the SHA-256 of the weights differs")


def _situation(model: AnyModel, document: dict[str, Any], exact: bool) -> Situation:
    entries = items(document["point"], "point", model.dimension)
    point = [number(entry, f"point, coordinate {index}") for index, entry in enumerate(entries)]
    label = integer(document["label"], "label", 0, model.class_count - 1)
    near = PLAIN
    if "neighbourhood" in document:
        near = read_neighbourhood(document["neighbourhood"], point, model.class_count)
        if near.frame is not None:
            check_frame(near.frame, exact)
    expansions = None if isinstance(model, Attention) else KnownExpansions(model, exact, near, point)
    return Situation(model, point, label, exact, Known(), near, expansions)


def _check_label(situation: Situation, rivals: Any) -> None:
    """The label is the only largest logit at u. Some proofs show it of their rivals, for u is in the ball."""
    entries = [
        entry for entry in items(rivals, "rivals") if isinstance(entry, dict) and isinstance(entry.get("proof"), dict)
    ]
    shown_later = [entry.get("rival") for entry in entries if entry["proof"].get("kind") in ("lifted", "products")]
    for rival in range(situation.model.class_count):
        if rival != situation.label and rival not in shown_later and situation.lead(rival) <= 0:
            label = situation.label
            raise Refused(f"class {label} is not the only largest logit at the point: class {rival} ties or wins")


def _claim(entry: Any) -> Claim:
    word = kind(entry, "claim", ("robust", "vulnerable", "margin"))
    if word == "margin":
        fields(entry, "claim", ("kind", "lower", "upper"))
        claim = Claim(
            word, number_or_infinity(entry["lower"], "claim, lower"), number_or_infinity(entry["upper"], "claim, upper")
        )
        if not at_least(claim.upper, claim.lower):
            raise Refused("the claimed lower bound of the margin is above the upper bound")
        return claim
    fields(entry, "claim", ("kind", "radius"))
    if word == "robust":
        return Claim(word, number_or_infinity(entry["radius"], "claim, radius"), None)
    return Claim(word, fmpq(0), number(entry["radius"], "claim, radius"))


def _check_rivals(situation: Situation, claim: Claim, value: Any) -> dict[int, Completeness | None]:
    """Prove the bound of every rival; completeness proofs are kept, for `upper` may refer to them."""
    proofs: dict[int, Completeness | None] = {}
    for entry in items(value, "rivals"):
        fields(entry, "rival entry", ("rival", "lower", "proof"))
        rival = _rival(situation, entry["rival"], "rival")
        if rival in proofs:
            raise Refused(f"rival {rival} is listed twice")
        lower = number_or_infinity(entry["lower"], f"rival {rival}, lower")
        if claim.kind != "vulnerable" and not at_least(lower, claim.lower):
            bounds = f"{rounded_down(lower)} is below the claimed {rounded_up(claim.lower)}"
            raise Refused(f"rival {rival}: its lower bound {bounds}")
        try:
            proofs[rival] = _check_proof(situation, rival, lower, entry["proof"])
        except Refused as refusal:
            raise Refused(f"rival {rival}: {refusal}") from None
    if claim.kind != "vulnerable":
        for rival in range(situation.model.class_count):
            if situation.near.rivals is not None and rival not in situation.near.rivals:
                continue
            if rival != situation.label and rival not in proofs:
                raise Refused(f"rival {rival} is missing; every class but the label needs a proof")
    return proofs


def _check_proof(situation: Situation, rival: int, lower: fmpq | None, proof: Any) -> Completeness | None:
    word = kind(proof, "proof", ("trivial", "hyperplane", "completeness", "exclusion", "lifted", "products", "region"))
    if word == "trivial":
        fields(proof, "trivial proof", ("kind",))
        if lower is None or lower > 0:
            raise Refused("a trivial proof proves no lower bound above 0")
        return None
    if word == "region":
        _check_region(situation, rival, lower, proof)
        return None
    if not situation.near.is_ball:
        raise Refused(f"a {word} proof speaks of L2 balls; this neighbourhood needs a region proof")
    place, known = rival, situation.known
    model, point, label, proof = situation.model, situation.point, situation.label, dict(proof)
    if isinstance(model, Attention):
        if word == "exclusion" and "lowering" not in proof:
            raise Refused("exclusion proof: the key 'lowering' is missing, which an attention module needs")
        lowering = proof.pop("lowering") if word == "exclusion" else None
        # These layers are for one rival alone, and so is what is known about them.
        model, label, rival, known = model.layers(label, rival, lowering), 0, 1, Known()
    if isinstance(model, Products):
        return _check_products(situation, model, rival, lower, proof)
    if word == "products":
        raise Refused("a proof by products is for networks of products alone")
    if word == "hyperplane":
        check_hyperplane(model, label, rival, situation.lead(place), lower, proof)
        return None
    if word == "exclusion":
        if not at_least(check_exclusion(model, point, label, rival, proof), lower):
            raise Refused("the lower bound is above the radius of the exclusion proof")
        return None
    if word == "lifted":
        if not at_least(check_lifted(model, point, label, rival, proof, known, situation.exact), lower):
            raise Refused("the lower bound is above the radius of the lifted proof")
        return None
    return _complete(check_completeness(model, LayeredBoundary, point, label, rival, proof), lower)


def _check_region(situation: Situation, rival: int, lower: fmpq | None, proof: Any) -> None:
    known, label, given, lead = situation.expansions, situation.label, dict(proof), situation.lead(rival)
    if known is None:
        assert isinstance(situation.model, Attention)
        if "lowering" not in given:
            raise Refused("region proof: the key 'lowering' is missing, which an attention module needs")
        layers = situation.model.layers(label, rival, given.pop("lowering"))
        known = KnownExpansions(layers, situation.exact, situation.near, situation.point)
        label, rival = 0, 1
    if not at_least(check_region(known, label, rival, given, lead), lower):
        raise Refused("the lower bound is above the radius of the region proof")


def _complete(completeness: Completeness, lower: fmpq | None) -> Completeness:
    if not completeness.proves_lower(lower):
        raise Refused("a critical point that may be real is nearer than the stated lower bound")
    return completeness


def _check_products(
    situation: Situation, model: Products, rival: int, lower: fmpq | None, proof: dict[str, Any]
) -> Completeness | None:
    """Critical points of the program itself; bounds on balls of its products, or of its layers of squares."""
    point, label = situation.point, situation.label
    if proof["kind"] == "completeness":
        return _complete(check_completeness(model, ProductBoundary, point, label, rival, proof), lower)
    if proof["kind"] == "hyperplane":
        raise Refused("a network of products has no hyperplane proof")
    if proof["kind"] == "products":
        if not at_least(check_product_ball(model, point, label, rival, proof, situation.known, situation.exact), lower):
            raise Refused("the lower bound is above the radius of the proof by products")
        return None
    if "lowering" not in proof:
        raise Refused(f"{proof['kind']} proof: the key 'lowering' is missing, which a network of products needs")
    layers = model.layers(proof.pop("lowering"))
    if proof["kind"] == "exclusion":
        radius = check_exclusion(layers, point, label, rival, proof)
    else:
        # What is proved about curvatures holds for these scales alone, so it is not shared with other rivals.
        radius = check_lifted(layers, point, label, rival, proof, Known(), situation.exact)
    if not at_least(radius, lower):
        raise Refused(f"the lower bound is above the radius of the {proof['kind']} proof")
    return None


def _check_upper(situation: Situation, claim: Claim, proofs: dict[int, Completeness | None], upper: Any) -> None:
    if upper is None:
        if claim.kind != "robust" and claim.upper is not None:
            raise Refused("the claim has an upper bound, but the certificate has no proof of it")
        return
    if claim.kind == "margin" and claim.upper is None:
        raise Refused("the claimed upper bound is infinite, so upper must be null")
    if kind(upper, "upper", ("counterexample", "critical-point")) == "counterexample":
        frame = situation.near.frame
        place, size = ("point", situation.model.dimension) if frame is None else ("along", frame.size)
        fields(upper, "upper", ("kind", "rival", place))
        rival = _counted(situation, upper["rival"], "upper, rival")
        entries = items(upper[place], f"upper, {place}", size)
        x = [number(entry, "upper, a coordinate") for entry in entries]
        _check_counterexample(situation, claim, rival, x if frame is None else frame.moved(situation.point, x))
        return
    fields(upper, "upper", ("kind", "rival", "index"))
    if not situation.near.is_plain:
        raise Refused("upper: a critical point of the L2 distance says nothing about other neighbourhoods")
    rival = _counted(situation, upper["rival"], "upper, rival")
    completeness = proofs.get(rival)
    if completeness is None:
        raise Refused(f"upper refers to a completeness proof of rival {rival}, and there is none")
    index = integer(upper["index"], "upper, index", 0, len(completeness.solutions) - 1)
    if completeness.solutions[index].nature is not Nature.REAL:
        raise Refused(f"upper: solution {index} of rival {rival} is not certified real")
    if claim.upper is not None and not completeness.proves_upper(index, claim.upper):
        raise Refused(f"upper: solution {index} of rival {rival} is not shown to be as near as claimed")


def _check_counterexample(situation: Situation, claim: Claim, rival: int, x: Sequence[fmpq]) -> None:
    if not situation.near.within(situation.point, x, claim.upper):
        raise Refused("the counterexample is farther from the point than claimed, or not allowed by the neighbourhood")
    logits = _logits(situation.model, x)
    if logits[rival] + situation.near.abstain < logits[situation.label]:
        raise Refused(f"class {rival} neither ties nor wins at the counterexample")


def _logits(model: AnyModel, point: Sequence[fmpq]) -> list[fmpq]:
    return exact_logits(model, point) if isinstance(model, Model) else model.exact_logits(point)


def _rival(situation: Situation, value: Any, name: str) -> int:
    rival = integer(value, name, 0, situation.model.class_count - 1)
    if rival == situation.label:
        raise Refused(f"{name}: class {rival} is the label itself")
    return rival


def _counted(situation: Situation, value: Any, name: str) -> int:
    """A rival whose ties count."""
    rival = _rival(situation, value, name)
    if situation.near.rivals is not None and rival not in situation.near.rivals:
        raise Refused(f"{name}: class {rival} does not count in this neighbourhood")
    return rival
