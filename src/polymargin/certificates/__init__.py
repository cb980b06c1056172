"""Certificates: proofs of margins and verdicts, written so that a separate program can check them."""

from polymargin.certificates.certify import CertifiedMargin, certify
from polymargin.certificates.document import Certificate
from polymargin.certificates.verify import Answer, Verdict, verify

__all__ = ["Answer", "Certificate", "CertifiedMargin", "Verdict", "certify", "verify"]
