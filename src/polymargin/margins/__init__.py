"""Margins and verdicts: from a model and points to answers with their standing and their proofs."""

from polymargin.margins.attacked import Attack
from polymargin.margins.certificate import Certificate
from polymargin.margins.prediction import predicted_class
from polymargin.margins.result import Margin, Margins, PairMargin
from polymargin.margins.settings import Settings
from polymargin.margins.verdict import Answer, Verdict, Verdicts
from polymargin.margins.verifier import Verifier, attack, margin, verify

__all__ = [
    "Answer",
    "Attack",
    "Certificate",
    "Margin",
    "Margins",
    "PairMargin",
    "Settings",
    "Verdict",
    "Verdicts",
    "Verifier",
    "attack",
    "margin",
    "predicted_class",
    "verify",
]
