"""Sizes of the code, and what they may be: lines of each package, lines with `Any`, parameters, long functions.

Run: python tools/budgets.py            (part of `make lint`; ends with 1 where a number is above its ceiling)
     python tools/budgets.py --lower    (after code was removed: ceilings become what is there now)

Ceilings stand in budgets.json beside this file. Goals are in GOALS; a ceiling above its goal is one that is still to be lowered.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
CEILINGS = Path(__file__).with_suffix(".json")
MOST_PARAMETERS, MOST_LINES = 6, 50
GOALS = {
    "src": 45_000,
    "polymargin/networks": 5_500,
    "polymargin/cli": 2_400,
    "polymargin/relaxation": 5_000,
    "polymargin/margins": 3_500,
    "polymargin_checker": 3_800,
    "lines with Any": 150,
}


def measured(source: Path) -> dict[str, int]:
    """Return every number by its name."""
    found = {
        "src": 0,
        "lines with Any": 0,
        "functions of seven or more parameters": 0,
        "functions of more than 50 lines": 0,
    }
    for file in sorted(source.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        package = _package(file.relative_to(source))
        lines, tree = text.count("\n"), ast.parse(text)
        found["src"] += lines
        found[package] = found.get(package, 0) + lines
        found["lines with Any"] += sum(1 for _ in _lines_with_any(text, tree))
        for function in _functions(tree):
            many = _parameters(function) > MOST_PARAMETERS and not _is_command(function)
            found["functions of seven or more parameters"] += many
            found["functions of more than 50 lines"] += (function.end_lineno or 0) - function.lineno + 1 > MOST_LINES
    return found


def _package(file: Path) -> str:
    """polymargin/networks, or polymargin for its own modules; the checker is one package."""
    return "/".join(file.parts[:2]) if file.parts[0] == "polymargin" and len(file.parts) > 2 else file.parts[0]


def _lines_with_any(text: str, tree: ast.Module) -> Iterator[int]:
    imports = {
        line
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    for number, line in enumerate(text.splitlines(), start=1):
        if number not in imports and re.search(r"\bAny\b", line.partition("#")[0]):
            yield number


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _is_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether parameters are options of the command line, which nothing calls."""
    return any(isinstance(each, ast.Name) and each.id == "spread" for each in function.decorator_list)


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Parameters without self and cls."""
    given = function.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lower", action="store_true", help="Lower the ceilings to what is there now.")
    options = parser.parse_args()
    found = measured(ROOT / "src")
    ceilings = json.loads(CEILINGS.read_text(encoding="utf-8")) if CEILINGS.exists() else {}
    if options.lower:
        kept = {
            name: max(min(number, ceilings.get(name, number)), GOALS.get(name, 0)) for name, number in found.items()
        }
        CEILINGS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    above = [
        f"{name}: {number}, more than {ceilings.get(name, 'no ceiling')}"
        for name, number in found.items()
        if number > ceilings.get(name, GOALS.get(name, -1))
    ]
    for name, goal in GOALS.items():
        print(f"{name}: {found.get(name, 0)} (goal {goal})")
    print(
        "\n".join(
            ["above their ceilings (tools/budgets.json); remove code, or say why it grows:", *above] if above else []
        )
    )
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
