"""The stratum of a quadric, up to a tolerance, and the ED degree there.

Weights found by training are on no special locus exactly; they come near one. What is measured is how near, as the
relative distance in the space of symmetric matrices (spectral norm): to the matrices of lower rank it is the smallest
|eigenvalue| over the largest (Eckart and Young), to those with a repeated eigenvalue half the smallest gap over the
largest |eigenvalue|. Within the tolerance a matrix counts as being there. The name and the ED
degree are those of `quadric.classification` and `quadric.ed_degree` for the ranks and signatures that remain.

Ranks are counted with the tolerance. The count is that of the scheme B = 0: a double hyperplane gets 0 although the
hyperplane alone has ED degree 1. M mixes lengths, so `unit` says which length of the input counts as one: about the
spread of the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.errors import InputError
from polymargin.networks import Network
from polymargin.quadric import ed_degree_by_ranks
from polymargin.quadric.classification import QuadricClass


@dataclass(frozen=True)
class Stratum:
    """The relative distances to the three loci (0: on it), what they amount to, and the ED degree of the stratum."""

    rank_distance: float
    singular_distance: float
    repeated_distance: float
    tolerance: float
    ed_degree: int
    general_ed_degree: int
    name: str

    def __repr__(self) -> str:
        return (
            f"Stratum({self.name}, ED degree {self.ed_degree} of {self.general_ed_degree} at tolerance "
            f"{self.tolerance:.0e}; distances: rank {self.rank_distance:.2e}, singular {self.singular_distance:.2e}, "
            f"repeated {self.repeated_distance:.2e})"
        )


def stratum(
    matrix: ArrayLike, linear: ArrayLike, constant: float, *, tolerance: float = 1e-2, unit: float = 1.0
) -> Stratum:
    """Return the stratum of xᵀA x + bᵀx + c.

    >>> stratum([[1, 0], [0, 4]], [0, 0], -4).name
    'ellipse'
    >>> near = stratum([[0, 0.5], [0.5, 0]], [0, 0], 1e-4)
    >>> near.name, near.ed_degree, near.singular_distance
    ('perpendicular lines', 2, 0.0002)
    """
    A, b, c = _checked(matrix, linear, constant, unit)
    n = len(b)
    bordered = np.block([[A, b[:, None] / 2], [b[None, :] / 2, np.array([[c]])]])
    values, spread = np.linalg.eigvalsh(A), np.linalg.eigvalsh(bordered)
    largest = float(np.abs(values).max())
    overall = float(np.abs(spread).max())
    if overall == 0.0:
        raise InputError("the quadric is zero everywhere; its classes never differ")
    if largest <= tolerance * overall:
        values, largest = np.zeros(n), 0.0
    flat = np.abs(values) <= tolerance * largest
    signature = _signature(values[~flat])
    # M has at least as many eigenvalues of each sign as A, and at most one more (Cauchy); tolerances must not deny that.
    bounds = zip(_signature(spread[np.abs(spread) > tolerance * overall]), signature, strict=True)
    positive, negative = (min(max(found, least), least + 1) for found, least in bounds)
    kind = QuadricClass(
        dimension=n,
        signature=signature,
        augmented_signature=(positive, negative),
        distinct_eigenvalues=_distinct(values[~flat], 2 * tolerance * largest),
        traceless=abs(float(values.sum())) <= tolerance * largest,
    )
    ranks = kind.rank, kind.augmented_rank
    gaps = np.diff(values)
    return Stratum(
        rank_distance=float(np.abs(values).min()) / largest if largest else 0.0,
        singular_distance=float(np.abs(spread).min()) / overall,
        repeated_distance=float(gaps.min()) / (2 * largest) if n > 1 and largest else 0.0 if n > 1 else 1.0,
        tolerance=tolerance,
        ed_degree=ed_degree_by_ranks(kind.distinct_eigenvalues, *ranks, exact=False).value,
        general_ed_degree=2 * n,
        name=kind.name,
    )


def network_stratum(
    network: Network, label: int = 0, rival: int = 1, *, tolerance: float = 1e-2, unit: float = 1.0
) -> Stratum:
    """Return the stratum of f_label − f_rival for a shallow network with activation x²."""
    chain = network.expect_chain()
    if chain.activations != ((0.0, 0.0, 1.0),):
        raise InputError(f"{network!r}: expected one hidden layer with activation x²")
    first, last = chain.layers
    signs = last.weights[label] - last.weights[rival]
    constant = signs @ first.bias**2 + last.bias[label] - last.bias[rival]
    matrix = first.weights.T @ (signs[:, None] * first.weights)
    linear = 2 * first.weights.T @ (signs * first.bias)
    return stratum(matrix, linear, float(constant), tolerance=tolerance, unit=unit)


def _checked(
    matrix: ArrayLike, linear: ArrayLike, constant: float, unit: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    A, b = np.asarray(matrix, dtype=np.float64), np.asarray(linear, dtype=np.float64)
    if b.ndim != 1 or A.shape != (len(b), len(b)) or not len(b):
        raise InputError(f"shapes {A.shape} and {b.shape}: expected (n, n) and (n,)")
    if not (np.isfinite(A).all() and np.isfinite(b).all() and np.isfinite(constant)) or not unit > 0:
        raise InputError("a quadric needs finite coefficients and a positive unit of length")
    return (A + A.T) / 2 * unit**2, b * unit, float(constant)


def _signature(values: NDArray[np.float64]) -> tuple[int, int]:
    return int((values > 0).sum()), int((values < 0).sum())


def _distinct(values: NDArray[np.float64], gap: float) -> int:
    """Count the groups that ascending values form if neighbours within `gap` belong together."""
    return int(np.sum(np.diff(values) > gap)) + 1 if len(values) else 0
