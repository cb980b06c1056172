"""What there is to say about rows, below their table: the same words once, with the rows they are about."""

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
    """One line per kind of remark; those beyond the most are found `elsewhere`.

    >>> remarks([(0, "point [nan] contains nan"), (1, "point [nan, 1] contains nan"), (2, "point [nan] contains nan"), (5, "x")])
    ['points 0–2: point […] contains nan', 'point 5: x']
    """
    groups: dict[str, list[tuple[int, str]]] = {}
    for row, text in texts:
        groups.setdefault(VALUES.sub("[…]", text), []).append((row, text))
    lines = [
        f"{_named([row for row, _ in group])}: {group[0][1] if len(group) == 1 else words}"
        for words, group in groups.items()
    ]
    if len(lines) > MOST:
        lines[MOST:] = [f"… and {len(lines) - MOST} more remarks; {elsewhere} has all of them"]
    return lines


def _named(rows: Sequence[int]) -> str:
    """Rows in their order, runs put together."""
    runs: list[list[int]] = []
    for row in sorted(set(rows)):
        if runs and row == runs[-1][-1] + 1:
            runs[-1].append(row)
        else:
            runs.append([row])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs[:MOST_RUNS]]
    left = sum(len(run) for run in runs[MOST_RUNS:])
    return f"point{'' if len(rows) == 1 else 's'} {', '.join(texts)}" + (f" and {left} others" if left else "")
