"""Check certificates: python -m polymargin_checker [--exact] MODEL CERTIFICATE [CERTIFICATE ...].

With --exact no floating-point arithmetic is trusted, however large the matrices. One line per certificate, which begins
with PROVED or REFUSED, or with UNUSABLE where a file is no model or certificate at all. Exit status 0: all are proved;
1: something is refused; 2: a file cannot be used, or bad usage.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from polymargin_checker.checker import check
from polymargin_checker.words import one_line

USAGE = "usage: python -m polymargin_checker [--exact] MODEL CERTIFICATE [CERTIFICATE ...]"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the certificates named on the command line, and return the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    exact = words[:1] == ["--exact"]
    words = words[exact:]
    if len(words) < 2 or any(word.startswith("-") for word in words):
        print(USAGE, file=sys.stderr)
        return 2
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files need not fit the terminal's encoding
    model, *certificates = words
    status = 0
    for certificate in certificates:
        verdict = check(model, certificate, exact)
        name = f"{one_line(certificate)}: " if len(certificates) > 1 else ""
        word = "PROVED" if verdict.accepted else "REFUSED" if verdict.usable else "UNUSABLE"
        print(f"{word}: {name}{verdict.reason}")
        if not verdict.accepted:
            status = max(status, 1 if verdict.usable else 2)
    return status


if __name__ == "__main__":
    sys.exit(main())
