"""What hostile files may cost: work and memory are counted in operations and entries, never in seconds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from flint import fmpq

from polymargin_checker.row import Row


class Compared:
    """Counts how often it is compared."""

    count = 0

    def __eq__(self, other: object) -> bool:
        Compared.count += 1
        return False

    __hash__ = None  # type: ignore[assignment]


def test_classes_are_not_compared_with_entries_one_by_one() -> None:
    asked: list[int] = []
    situation: Any = SimpleNamespace(
        label=0, model=SimpleNamespace(class_count=100), lead=lambda rival: asked.append(rival) or fmpq(1)
    )
    strange = [Compared(), [1], None, "1", 1.5, True, {}]
    entries = [{"rival": rival, "proof": {"kind": "relaxation"}} for rival in [*strange, 7]]
    row: Any = SimpleNamespace(situation=situation, document={"rivals": entries})
    row.unshown = Row._unshown(row)
    Row.show_label(row)
    assert asked == [rival for rival in range(1, 100) if rival != 7]
    assert Compared.count == 0
