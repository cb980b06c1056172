"""`check`: from two files, or what would be in them, to a verdict.

The claim is put together from parts that are proved one by one: the label is the only largest logit at u, every rival
stays away from u as far as stated, and a tie or a loss exists as near as stated. Whatever is not proved is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

from polymargin_checker.claim import Claim, read_claim
from polymargin_checker.completeness import Completeness
from polymargin_checker.conditions import conditions, distance
from polymargin_checker.document import fields, items, kind, read_document
from polymargin_checker.dyadics import at_least, number_or_infinity
from polymargin_checker.model import read_model
from polymargin_checker.refusal import OutOfTime, Refused, Unusable
from polymargin_checker.rival_proof import check_proof
from polymargin_checker.situation import AnyModel, Situation, read_situation, rival_of
from polymargin_checker.stages import Network
from polymargin_checker.upper_proof import check_upper
from polymargin_checker.words import one_line, rounded_down, rounded_up, shown
from polymargin_checker.work import limited_work

FORMAT = "polymargin-certificate-1"


@dataclass(frozen=True)
class CheckResult:
    """The answer of the checker.

    accepted   the claim is proved
    reason     one sentence: what is proved, or why not
    usable     False if a file could not be read as a model or certificate file at all
    in_time    False if it was refused for want of time alone
    """

    accepted: bool
    reason: str
    usable: bool = True
    in_time: bool = True


def check(model: Any, certificate: Any, exact: bool = False, seconds: float | None = None) -> CheckResult:
    """Prove or refuse a certificate about a model; never raises for what is in them.

    Each is the path of a file, or `bytes`: what would be in the file, read by the same rules.
    With `exact` no floating-point arithmetic is trusted: large matrices are judged in ball arithmetic too, slowly.
    A certificate that would take more than `seconds` is refused; the time of a single step is an estimate.
    """
    end = None if seconds is None else perf_counter() + seconds
    try:
        network = read_model(model)
        document = read_document(certificate)
        _check_format(document, "the certificate" if isinstance(certificate, bytes) else certificate)
        with limited_work(exact, end):
            return CheckResult(True, _prove(network, document, exact))
    except Unusable as refusal:
        return CheckResult(False, one_line(str(refusal)), usable=False)
    except OutOfTime as refusal:
        return CheckResult(False, one_line(str(refusal)), in_time=False)
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
        ("created", "neighbourhood", "ranges"),
    )
    _check_model(model, document["model"])
    situation = read_situation(model, document, exact)
    claim = read_claim(document["claim"])
    _check_label(situation, document["rivals"])
    proofs = _check_rivals(situation, claim, document["rivals"])
    check_upper(situation, claim, proofs, document["upper"])
    near, label = situation.near, situation.label
    claimed = claim.about(distance(near))
    stated = conditions(near, model.dimension, label, model.class_count)
    return f"class {label}{': ' if claim.kind == 'margin' else ' is '}{claimed} ({stated})"


def _check_model(model: AnyModel, entry: Any) -> None:
    if isinstance(model, Network):
        fields(entry, "model", ("sha256",), ("kind",))
        own = model.fingerprint
    else:
        fields(entry, "model", ("kind", "sha256"))
        kind(entry, "model", (model.kind,))
        own = model.fingerprint()
    if entry["sha256"] != own:
        raise Refused("the certificate is for another model: the SHA-256 of the weights differs")


def _check_label(situation: Situation, rivals: Any) -> None:
    """The label is the only largest logit at u. Some proofs show it of their rivals, for u is in the ball."""
    entries = [
        entry for entry in items(rivals, "rivals") if isinstance(entry, dict) and isinstance(entry.get("proof"), dict)
    ]
    later = [
        entry.get("rival") for entry in entries if entry["proof"].get("kind") in ("lifted", "products", "relaxation")
    ]
    shown_later = {rival for rival in later if type(rival) is int}
    for rival in range(situation.model.class_count):
        if rival != situation.label and rival not in shown_later and situation.lead(rival) <= 0:
            label = situation.label
            raise Refused(f"class {label} is not the only largest logit at the point: class {rival} ties or wins")


def _check_rivals(situation: Situation, claim: Claim, value: Any) -> dict[int, Completeness | None]:
    """Prove the bound of every rival; completeness proofs are kept, for `upper` may refer to them."""
    proofs: dict[int, Completeness | None] = {}
    for entry in items(value, "rivals"):
        fields(entry, "rival entry", ("rival", "lower", "proof"))
        rival = rival_of(situation, entry["rival"], "rival")
        if rival in proofs:
            raise Refused(f"rival {rival} is listed twice")
        lower = number_or_infinity(entry["lower"], f"rival {rival}, lower")
        if claim.kind != "vulnerable" and not at_least(lower, claim.lower):
            bounds = f"{rounded_down(lower)} is below the claimed {rounded_up(claim.lower)}"
            raise Refused(f"rival {rival}: its lower bound {bounds}")
        try:
            proofs[rival] = check_proof(situation, rival, lower, entry["proof"])
        except OutOfTime:
            raise
        except Refused as refusal:
            raise Refused(f"rival {rival}: {refusal}") from None
    if claim.kind != "vulnerable":
        for rival in range(situation.model.class_count):
            if situation.near.rivals is not None and rival not in situation.near.rivals:
                continue
            if rival != situation.label and rival not in proofs:
                raise Refused(f"rival {rival} is missing; every class but the label needs a proof")
    return proofs
