"""--norm, --domain, --movable, --rivals and --abstain, as `margin`, `verify` and `certify` take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polymargin.cli.points import interval
from polymargin.errors import InputError


@dataclass(frozen=True)
class Given:
    """What was written on the command line."""

    norm: str = "l2"
    domain: str | None = None
    movable: str | None = None
    rivals: str | None = None
    abstain: float = 0.0

    @property
    def keywords(self) -> dict[str, Any]:
        """For a function of a polynomial network."""
        return {
            "norm": self.norm,
            "domain": None if self.domain is None else interval(self.domain),
            "movable": None if self.movable is None else _numbers("--movable", self.movable),
            "rivals": None if self.rivals is None else _numbers("--rivals", self.rivals),
            "abstain": self.abstain,
        }

    def refuse_for_relu(self) -> None:
        if self != Given():
            raise InputError(
                "--norm, --domain, --movable, --rivals and --abstain: ReLU networks have L2 margins of every perturbation"
            )


def _numbers(option: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{option} {text!r}: expected whole numbers such as 0,3,5") from None


L2 = Given()
