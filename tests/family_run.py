"""python tests/family_run.py [--cases 2000] [--seconds 120] [--only "margin of"] [--extend]: the families at length.

Every check gets the members from `--first` on, up to so many or for so much CPU time. What it answers is kept under
results/families. With `--extend` a check goes on behind the members it has had, up to `--cases` in all. Status 1 if an answer is
wrong.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from typing import Any

from family_checks import CHECKS

import polymargin as pm

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "results" / "families" / "answers.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000, help="most cases of a check")
    parser.add_argument("--seconds", type=float, default=120.0, help="most CPU time of a check")
    parser.add_argument("--first", type=int, default=1000, help="the first member; the suite has those from 0 on")
    parser.add_argument("--only", default="", help="checks whose names contain this")
    parser.add_argument("--extend", action="store_true", help="add to what is kept")
    arguments = parser.parse_args()
    wrong = 0
    for name, check in CHECKS.items():
        if arguments.only in name:
            before = kept().get(name) if arguments.extend else None
            had = 0 if before is None else before["cases"]
            first = arguments.first if before is None else before["first"] + had
            found = answers(check, first, arguments.cases - had, arguments.seconds)
            if not found["cases"]:
                continue
            if before is not None:
                found = together(before, found)
            keep(name, found)
            print(f"{name}: {found}", flush=True)
            wrong += len(found["wrong"])
    return 1 if wrong else 0


def answers(check: Callable[[int], str], first: int, cases: int, seconds: float) -> dict[str, Any]:
    words: Counter[str] = Counter()
    wrong: dict[int, str] = {}
    begin, number = process_time(), first
    while number < first + cases and process_time() - begin < seconds:
        try:
            words[check(number)] += 1
        except Exception as failure:  # an exception is a wrong answer too
            wrong[number] = f"{type(failure).__name__}: {failure}"[:500]
        number += 1
    spent = round(process_time() - begin, 1)
    return {"first": first, "cases": number - first, "cpu_seconds": spent, "answers": dict(words), "wrong": wrong}


def together(before: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Two runs one after the other."""
    return {
        "first": before["first"],
        "cases": before["cases"] + found["cases"],
        "cpu_seconds": round(before["cpu_seconds"] + found["cpu_seconds"], 1),
        "answers": dict(Counter(before["answers"]) + Counter(found["answers"])),
        "wrong": before["wrong"] | found["wrong"],
    }


def kept() -> dict[str, Any]:
    """What earlier runs found, by check."""
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    return found


def keep(name: str, found: dict[str, Any]) -> None:
    """Written check by check: what was interrupted keeps what it has."""
    content = kept()
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    about = {"version": pm.__version__, "commit": commit.stdout.strip(), "date": f"{datetime.now(UTC):%Y-%m-%d}"}
    content[name] = about | found
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
