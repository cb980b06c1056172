"""Rows of a batch, each with an answer of its own: a bad one fails alone."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import PolymarginError
from polymargin.margins.models import ModelMargins
from polymargin.margins.result import Margin, failed


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a batch; a session travels to a worker with its model and comes back with nothing."""

    session: ModelMargins
    rows: NDArray[np.float64]


def margins_of_rows(task: Rows) -> list[Margin]:
    return [_margin_or_failure(task.session, row) for row in task.rows]


def _margin_or_failure(session: ModelMargins, u: NDArray[np.float64]) -> Margin:
    started = perf_counter()
    try:
        return session.margin_at(u)
    except PolymarginError as error:
        return failed(str(error), perf_counter() - started)
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        return failed(f"the arithmetic broke down ({error}); rescale the weights or inputs", perf_counter() - started)
