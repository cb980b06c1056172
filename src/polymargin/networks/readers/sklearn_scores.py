"""What every classifier of scikit-learn that is read here comes down to: sums of powers of linear forms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scores:
    """outer @ (rows @ x + offsets)**power + constants; one row of `outer` per class, or a single one for two classes."""

    rows: Array
    offsets: Array
    power: int
    outer: Array
    constants: Array

    @property
    def linear(self) -> tuple[Array, Array]:
        """Weights and constants where the power is 1."""
        return self.outer @ self.rows, self.outer @ self.offsets + self.constants


def linear_scores(weights: Array, constants: Array) -> Scores:
    return Scores(weights, np.zeros(len(weights)), 1, np.eye(len(weights)), np.array(constants))


def block_diagonal(blocks: list[Array]) -> Array:
    result = np.zeros((sum(len(block) for block in blocks), sum(block.shape[1] for block in blocks)))
    row = column = 0
    for block in blocks:
        result[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return result


def dense(values: Any) -> Array:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)


def sklearn_name(estimator: Any) -> str:
    """The class name, empty for classes from elsewhere: a subclass may decide in another way."""
    kind = type(estimator)
    return kind.__name__ if kind.__module__.split(".")[0] == "sklearn" else ""


def described(estimator: Any) -> str:
    return sklearn_name(estimator) or f"{type(estimator).__module__}.{type(estimator).__qualname__}"


def listed(names: Iterable[str]) -> str:
    return ", ".join(names)
