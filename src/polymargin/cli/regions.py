"""--norm, --weights, --domain, --movable, --rivals and --abstain: which perturbations and which ties count."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymargin.cli.options import Domain, Norm
from polymargin.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from polymargin.regions import Region


_NUMBERS = "whole numbers such as 0,3,5"


@dataclass(frozen=True)
class RegionOptions:
    """What was written on the command line."""

    norm: Norm = "l2"
    weights: Annotated[
        Path | None,
        typer.Option(
            help="File (.npy, .npz, .csv) with a weight for each input, or for l2 a positive definite matrix.",
            show_default="none",
        ),
    ] = None
    domain: Domain = None
    movable: Annotated[
        str | None,
        typer.Option(
            help="Only these inputs change: their numbers, such as 0,3,5, or for l2 a file with the columns of a subspace.",
            show_default="all",
        ),
    ] = None
    rivals: Annotated[
        str | None, typer.Option(help="Only ties with these classes count, such as 1,7.", show_default="all")
    ] = None
    abstain: Annotated[
        float, typer.Option(min=0.0, help="An answer counts only if its logit leads by more than this.")
    ] = 0.0

    @property
    def keywords(self) -> dict[str, Any]:
        """Return keywords for a function of a polynomial network."""
        from polymargin.cli.points import whole_numbers

        return {
            "within": self.region,
            "rivals": None if self.rivals is None else whole_numbers(self.rivals, "--rivals", _NUMBERS),
            "abstain": self.abstain,
        }

    @property
    def region(self) -> Region:
        """Return the region of the options; a matrix of weights is an ellipsoid, directions are a subspace."""
        from polymargin.cli.points import interval
        from polymargin.regions import L1, L2, Linf

        kinds = {"l2": L2, "linf": Linf, "l1": L1}
        if self.norm not in kinds:
            raise InputError(f"--norm {self.norm!r}: expected l2, linf or l1")
        options: dict[str, Any] = {"domain": None if self.domain is None else interval(self.domain)}
        if self.weights is not None:
            weights = _weights(self.weights)
            options["weights" if weights.ndim == 1 else "ellipsoid"] = weights
        if self.movable is not None:
            movable = _movable(self.movable)
            options["movable" if isinstance(movable, list) else "subspace"] = movable
        for name in ("ellipsoid", "subspace"):
            if name in options and self.norm != "l2":
                raise InputError(
                    f"--norm {self.norm} with a matrix of numbers: only l2 has an {name}; expected a vector"
                )
        return kinds[self.norm](**options)

    @property
    def named(self) -> dict[str, Any]:
        """Return the norm and the other given options for JSON, as they were written."""
        from polymargin.cli.points import interval, whole_numbers

        given = {
            "weights": None if self.weights is None else str(self.weights),
            "domain": None if self.domain is None else list(interval(self.domain)),
            "movable": self.movable,
            "rivals": None if self.rivals is None else whole_numbers(self.rivals, "--rivals", _NUMBERS),
            "abstain": self.abstain or None,
        }
        return {"norm": self.norm} | {name: value for name, value in given.items() if value is not None}

    @property
    def words(self) -> str:
        """Return the words for the title of a table, after a comma; none for plain L2.

        >>> RegionOptions(norm="linf", domain="-1,1").words
        ', norm linf, domain [-1, 1]'
        """
        parts = {} if self.norm == "l2" else {"norm": self.norm}
        for name, value in self.named.items():
            if name != "norm":
                parts[name] = (
                    f"[{', '.join(f'{number:g}' for number in value)}]" if isinstance(value, list) else f"{value}"
                )
        return "".join(f", {name} {text}" for name, text in parts.items())


def _weights(path: Path) -> NDArray[np.float64]:
    """Return a row or a column of numbers as a vector, anything else as a matrix."""
    from polymargin.cli.points import read_array

    array = read_array(path, "weights")
    return array.ravel() if 1 in array.shape else array


def _movable(text: str) -> list[int] | NDArray[np.float64]:
    """Return the numbers of inputs, or the columns of a subspace in a file."""
    from polymargin.cli.points import FILES, read_array, whole_numbers

    if Path(text).suffix not in FILES:
        expected = f"{_NUMBERS}, or a .npy, .npz or .csv file with the columns of a subspace"
        return whole_numbers(text, "--movable", expected)
    array = read_array(Path(text), "directions")
    return array[:, None] if array.ndim == 1 else array
