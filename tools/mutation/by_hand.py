"""Weakenings that no single change of an operator makes, each found by a person who tried to break the checker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mutation.mutants import Mutant, by_hand

_WEAKENINGS = [
    (
        "checker.py",
        "_check_rivals",
        '    if claim.kind != "vulnerable":\n        for rival',
        '    if claim.kind == "margin":\n        for rival',
    ),
    (
        "checker.py",
        "_check_rivals",
        'if claim.kind != "vulnerable" and not at_least',
        'if claim.kind == "margin" and not at_least',
    ),
    ("rival_proof.py", "check_proof", "lowering), 0, 1, Known()", "lowering), 0, 1, known"),
    (
        "quadratic.py",
        "BallQuadratic._row_space",
        "basis.transpose() * basis",
        "arb_mat([[int(a is b) for b in self._rows] for a in self._rows])",
    ),
    ("completeness.py", "_judge", "difference.abs_lower() ** 2", "difference.mid() ** 2"),
    ("completeness.py", "_judge", "difference.abs_upper() ** 2", "difference.mid() ** 2"),
    (
        "lifted_spectra.py",
        "ProvedSpectra.prove_combined",
        "self._levels(combined.ranges, ends), below, {})",
        "self._levels(combined.ranges, ends), below, self._known.spectra)",
    ),
    ("univariate.py", "_lower_bound", "for current in settled + waiting:", "for current in settled:"),
    (
        "attention.py",
        "Attention.layers",
        "self.value.rows + 2 * self.key.columns)\n        return",
        "self.value.rows)\n        return",
    ),
]


def named_weakenings(folder: Path) -> Iterator[Mutant]:
    for file, place, before, after in _WEAKENINGS:
        yield by_hand(folder / file, place, before, after)
