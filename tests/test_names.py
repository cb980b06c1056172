"""One word for one thing; the checker shares no code with the package, and calls the same things by the same names."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import polymargin
import polymargin_checker

ROOTS = [Path(str(package.__file__)).parent for package in (polymargin, polymargin_checker)]


def nodes() -> Iterator[tuple[str, ast.AST]]:
    for root in ROOTS:
        for file in sorted(root.rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                yield str(file.relative_to(root.parent)), node


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file, node in nodes():
        if isinstance(node, ast.ClassDef):
            places[f"{Path(file).parts[0]}.{node.name}"].append(file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_what_holds_a_standing_is_called_standing() -> None:
    """Fields and arguments; `status` is the published name, defined once and used by nobody here."""
    holders = set()
    for file, node in nodes():
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "Standing":
            holders.add((file, ast.unparse(node.target)))
        elif isinstance(node, ast.arg) and node.annotation is not None and ast.unparse(node.annotation) == "Standing":
            holders.add((file, node.arg))
    assert len(holders) >= 6
    assert {holder for holder in holders if holder[1] != "standing"} == set()
