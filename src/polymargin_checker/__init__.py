"""An independent checker of polymargin certificates.

It reads a model file and a certificate, rebuilds every equation from the weights, and proves the claim or refuses.
It shares no code with `polymargin` and uses the standard library, python-flint and NumPy, whose sums and products count with
proved error bounds (`exact=True` does without them). The format it reads is
docs/certificates.md, the theorems it leans on are docs/theorems.md. Whatever is in the files, the answer is a
`CheckResult` with one sentence.
"""

from polymargin_checker.checker import CheckResult, check, check_rows

__all__ = ["CheckResult", "check", "check_rows"]
