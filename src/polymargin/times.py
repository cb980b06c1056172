"""Times in units that are easy to read."""

from __future__ import annotations


def readable_time(seconds: float) -> str:
    """Format seconds with a fitting unit.

    >>> [readable_time(s) for s in (0.00031, 0.0117, 0.123, 3.21, 11.7, 75.0, 7300.0)]
    ['0.3 ms', '11.7 ms', '123 ms', '3.2 s', '11.7 s', '1 min 15 s', '2 h 1 min']
    """
    if seconds < 0.9995:
        return f"{seconds * 1e3:.1f} ms" if seconds < 0.09995 else f"{seconds * 1e3:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, left = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {left} s" if left else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
