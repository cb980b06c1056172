"""The kind and name of a quadric B(x) = xᵀAx + bᵀx + c, by the signatures of A and of M = [[A, b/2], [bᵀ/2, c]], and its name.

Who finds the signatures, in rational arithmetic, with a tolerance for rounding or with one for "nearly there", is another
matter; a conic has the same name for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QuadricClass:
    """Signatures count (positive, negative) eigenvalues of A and of M; `distinct_eigenvalues` counts the nonzero ones of A."""

    dimension: int
    signature: tuple[int, int]
    augmented_signature: tuple[int, int]
    distinct_eigenvalues: int
    traceless: bool

    @property
    def rank(self) -> int:
        """Return the rank of A."""
        return sum(self.signature)

    @property
    def augmented_rank(self) -> int:
        """Return the rank of M."""
        return sum(self.augmented_signature)

    @property
    def repeated_eigenvalues(self) -> bool:
        """Return whether two of the n eigenvalues of A agree, zero included."""
        return self.distinct_eigenvalues + (self.rank < self.dimension) < self.dimension

    @property
    def empty(self) -> bool:
        """Return True if there is no real point: B has one sign everywhere, or is a nonzero constant."""
        extra = tuple(m - a for m, a in zip(self.augmented_signature, self.signature, strict=True))
        return (extra == (1, 0) and self.signature[1] == 0) or (extra == (0, 1) and self.signature[0] == 0)

    @property
    def name(self) -> str:
        """Return the name of a conic; other quadrics are named by missing terms."""
        if self.dimension == 2:
            return self._conic()
        excess = self.augmented_rank - self.rank
        if self.rank == 0:
            return ("whole space", "empty (constant)", "hyperplane")[excess]
        kind = ("cone", "quadric with a centre", "paraboloid")[excess]
        return f"{kind}, rank {self.rank}, {self.distinct_eigenvalues} distinct eigenvalues"

    def _conic(self) -> str:
        """Return the name over the reals; without real points it is `empty` with the complex name."""
        match (self.rank, self.augmented_rank):
            case (2, 3):
                if self.signature == (1, 1):
                    return "rectangular hyperbola" if self.traceless else "hyperbola"
                name = "circle" if self.repeated_eigenvalues else "ellipse"
                return f"empty (imaginary {name})" if self.empty else name
            case (2, 2):
                if self.signature != (1, 1):
                    return "point"
                return "perpendicular lines" if self.traceless else "crossing lines"
            case (1, 3):
                return "parabola"
            case (1, 2):
                return "empty (imaginary parallel lines)" if self.empty else "parallel lines"
            case (1, 1):
                return "double line"
            case (0, 2):
                return "line"
            case (0, 1):
                return "empty (constant)"
            case _:
                return "whole plane"
