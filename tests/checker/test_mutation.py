"""The mutation tester itself, on a small function; and, slowly, on the whole checker."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = '''
LIMIT = 3
PAIR = (1.5, "a")

def inside(x, low, high):
    """A sentence, which is left alone."""
    if x is None:
        raise ValueError("another sentence " + str(1 + 1))
    return low <= x and x < high
'''


def mutants_of(source: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[Any]:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from mutation.mutants import mutants

    (folder / "small.py").write_text(source)
    return list(mutants(folder / "small.py"))


def test_every_decision_of_a_function_is_weakened_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = mutants_of(SOURCE, monkeypatch, tmp_path)
    found = {f"{m.file} | {m.place} | {m.change}": ast.unparse(m.build()) for m in made}
    assert set(found) == {
        "small.py | PAIR | 1.5 → 2.5",
        "small.py | PAIR | (1.5, 'a') → (1.5,)",
        "small.py | inside | if x is None → if True",
        "small.py | inside | if x is None → if False",
        "small.py | inside | x is None → x is not None",
        "small.py | inside | raise ValueError('another sentence ' + str(1 + 1)) → pass",
        "small.py | inside | low <= x and x < high → low <= x or x < high",
        "small.py | inside | low <= x and x < high → low <= x",
        "small.py | inside | low <= x and x < high → x < high",
        "small.py | inside | low <= x → low < x",
        "small.py | inside | x < high → x <= high",
        "small.py | inside | low → high",
        "small.py | inside | high → low",
    }
    originals = [ast.unparse(node) for node in ast.parse(SOURCE).body]
    assert all(text not in originals for text in found.values())
    assert len(set(found.values())) == len(found)


def test_what_was_said_of_a_mutant_counts_until_its_function_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = {mutant.key for mutant in mutants_of(SOURCE, monkeypatch, tmp_path)}
    elsewhere = {mutant.key for mutant in mutants_of("import math\n" + SOURCE, monkeypatch, tmp_path)}
    inside = {mutant.key for mutant in mutants_of(SOURCE.replace("x < high", "high > x"), monkeypatch, tmp_path)}
    assert elsewhere == before
    assert {key for key in before & inside if "inside" in key} == set()


@pytest.mark.slow
def test_no_weakening_of_the_checker_survives_without_a_reason() -> None:
    command = [sys.executable, str(ROOT / "tools" / "mutation")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=dict(os.environ))
    new = [line for line in result.stdout.splitlines() if line.startswith("NEW SURVIVOR")]
    assert result.returncode == 0, "\n".join(new) or result.stdout[-2000:] + result.stderr[-2000:]
