"""Norms of perturbations; their values are the words of certificates."""

from enum import StrEnum


class Norm(StrEnum):
    """The norm of a perturbation."""

    L2 = "l2"
    LINF = "linf"
    L1 = "l1"
