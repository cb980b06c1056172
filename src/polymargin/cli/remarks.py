"""Remarks below a table: equal remarks once, with their rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# Kinds of remarks that are printed; the JSON has all of them.
MOST = 12
# Runs of rows that are named.
MOST_RUNS = 8
# The values of a point make remarks differ that say the same.
VALUES = re.compile(r"\[[^\]]*\]")


def remarks(texts: Iterable[tuple[int, str]], elsewhere: str = "--json") -> list[str]:
    """Return one line per kind of remark; those beyond the most are found `elsewhere`.

    >>> remarks([(0, "point [nan] contains nan"), (1, "point [nan, 1] contains nan"), (2, "point [nan] contains nan"), (5, "x")])
    ['points 0–2: point […] contains nan', 'point 5: x']
    >>> remarks([(0, "tie at [2] leaves [0, 1]"), (1, "tie at [3] leaves [0, 1]")])
    ['points 0–1: tie at […] leaves [0, 1]']
    """
    groups: dict[str, list[tuple[int, str]]] = {}
    for row, text in texts:
        groups.setdefault(VALUES.sub("[…]", text), []).append((row, text))
    lines = [
        f"{_named([row for row, _ in group])}: {_common([text for _, text in group])}" for group in groups.values()
    ]
    if len(lines) > MOST:
        lines[MOST:] = [f"… and {len(lines) - MOST} more remarks; {elsewhere} has all of them"]
    return lines


def _common(texts: Sequence[str]) -> str:
    """Return the common text, with the values in which they differ."""
    found = zip(*(VALUES.findall(text) for text in texts), strict=True)
    shown = iter([values[0] if len(set(values)) == 1 else "[…]" for values in found])
    return VALUES.sub(lambda _: next(shown), texts[0])


def _named(rows: Sequence[int]) -> str:
    """Return rows in their order, runs put together."""
    runs: list[list[int]] = []
    for row in sorted(set(rows)):
        if runs and row == runs[-1][-1] + 1:
            runs[-1].append(row)
        else:
            runs.append([row])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs[:MOST_RUNS]]
    left = sum(len(run) for run in runs[MOST_RUNS:])
    return f"point{'' if len(rows) == 1 else 's'} {', '.join(texts)}" + (f" and {left} others" if left else "")
