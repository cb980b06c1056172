"""Certificates: proofs of margins and verdicts, written so that a separate program can check them."""

from polymargin.certificates.certified_margin import CertifiedMargin, CertifiedMargins
from polymargin.certificates.certify import certify
from polymargin.certificates.verdict import Answer, Verdict, Verdicts
from polymargin.certificates.verify import verify
from polymargin.margins.certificate import Certificate

__all__ = [
    "Answer",
    "Certificate",
    "CertifiedMargin",
    "CertifiedMargins",
    "Verdict",
    "Verdicts",
    "certify",
    "verify",
]
