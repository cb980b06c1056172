"""Weakenings that no single change of an operator makes, each found by a person who tried to break the checker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mutation.mutants import Mutant, by_hand

_WEAKENINGS = [
    (
        "row.py",
        "Row.read_proofs",
        '        if claim.kind != "vulnerable":\n            for rival',
        '        if claim.kind == "margin":\n            for rival',
    ),
    (
        "row.py",
        "Row.read_proofs",
        'if claim.kind != "vulnerable" and not at_least',
        'if claim.kind == "margin" and not at_least',
    ),
    ("row.py", "Row.conclude", "if found is False:", "if found is None:"),
    ("row.py", "Row.conclude", "if isinstance(found, Refused):", "if found is None:"),
    ("discs.py", "Discs.__add__", "2 * UNIT * sizes(middle)", "0 * UNIT * sizes(middle)"),
    ("discs.py", "Discs.__mul__", "8 * UNIT * right", "0 * UNIT * right"),
    ("discs.py", "Discs.__mul__", "self.radius * (right + other.radius)", "self.radius * right"),
    ("discs.py", "Discs.image", "(self.radius + (length + 8) * UNIT * sizes(self.middle))", "self.radius"),
    ("discs.py", "Discs.image", "(self.radius + (length + 8) * UNIT", "(0 * self.radius + (length + 8) * UNIT"),
    ("discs.py", "Discs.transposed_product", "other.radius + rounding * largest", "other.radius"),
    ("discs.py", "Discs.transposed_product", "@ (largest + other.radius)", "@ largest"),
    ("discs.py", "sizes", " + SMALL", ""),
    ("jets.py", "_difference", "2 * UNIT * np.abs(middle))", "0 * np.abs(middle))"),
    ("jets.py", "_bend", "found.radius + wide + TINY", "found.radius"),
    ("krawczyk_discs.py", "_judged", "(reach < radii).all(axis=1)", "(reach <= 2 * radii).all(axis=1)"),
    ("krawczyk_discs.py", "_judged", "(hidden + around)[:, :, None]", "hidden[:, :, None]"),
    ("krawczyk_discs.py", "_judged", "(hidden + around)[:, :, None]", "around[:, :, None]"),
    ("completeness.py", "read_completeness", "if pairs < 0 or reals + 2 * pairs != needed:", "if reals > needed:"),
    ("completeness.py", "_disjoint", "x[other].conj()", "x[other]"),
    ("completeness.py", "_disjoint", "SAFE * (radii[first] + radii[second])", "radii[first]"),
    ("completeness.py", "_distances", "- SAFE * reach", "- 0 * reach"),
    ("completeness.py", "_distances", "(1 + 4 * UNIT) + SAFE * reach", "(1 + 4 * UNIT)"),
    ("completeness.py", "_judge_in_balls", "step.abs_lower() ** 2", "step.mid() ** 2"),
    ("completeness.py", "_judge_in_balls", "step.abs_upper() ** 2", "step.mid() ** 2"),
    ("completeness.py", "variables_of", '- {(b"", b"")}', ""),
    ("quadric.py", "QuadricJudge._positive_in", "multipliers - lost", "multipliers"),
    (
        "quadric.py",
        "QuadricJudge._positive_in",
        "forms.row(value - multipliers",
        "forms.row(value - arithmetic.exact([[0.5]]) * multipliers",
    ),
    ("quadric.py", "Space.seen", "(rows - middle @ self._basis).norms()", "np.zeros((rows.shape[0], 1))"),
    ("quadric.py", "read_quadric", "if value < 0:", "if value is None:"),
    ("quadric.py", "read_quadric", "if lower is None and value != 0:", "if value is None:"),
    ("checker.py", "_parts", 'first["rows"] != len(rows) or not rows', 'first["rows"] < len(rows)'),
    (
        "together.py",
        "Together.leads",
        "least[row.situation.label] > most[row.unshown]",
        "most[row.situation.label] > least[row.unshown]",
    ),
    (
        "together.py",
        "Together.wins",
        "least[upper.rival] > most[situation.label]",
        "most[upper.rival] > least[situation.label]",
    ),
    ("univariate.py", "_lower_bound", "for current in settled + waiting:", "for current in settled:"),
    ("relaxation/constraints/minorant.py", "_read", "if not (weight >= 0).all():", "if not (weight >= 0).any():"),
    ("relaxation/constraints/minorant.py", "_check_below", "for sign in (1.0, -1.0):", "for sign in (1.0,):"),
    ("relaxation/constraints/minorant.py", "_check_below", "gap if sign > 0 else -gap", "gap"),
    ("relaxation/numbers.py", "Multipliers._checked", "if not (found >= 0).all():", "if not (found >= 0).any():"),
    (
        "relaxation/lemmas.py",
        "prove_enclosures",
        "Scene(enclosures, coordinates, ellipsoid, rows, number)",
        "Scene(enclosures, coordinates, ellipsoid, rows)",
    ),
    ("relaxation/tree.py", "Relaxations._scene", "if any(proof[key] !=", "if all(proof[key] !="),
    ("relaxation/tree.py", "split_parts", "if not low < where < high:", "if low > where > high:"),
    ("relaxation/tree.py", "Functional.__call__", "made.constant - self.lead", "made.constant"),
    ("relaxation/region.py", "Region.is_empty", "> rational(self.radius) ** power", ">= rational(self.radius)"),
]


def named_weakenings(folder: Path) -> Iterator[Mutant]:
    for file, place, before, after in _WEAKENINGS:
        yield by_hand(folder / file, file, place, before, after)
