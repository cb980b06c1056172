"""Options about noise in the values of a network, and about the arithmetic of programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from polymargin.errors import InputError


@dataclass(frozen=True)
class NoiseOptions:
    """What may be off beside the inputs."""

    noise: Annotated[
        list[str] | None,
        typer.Option(
            help="LAYER=SIZE: every pre-activation of a layer may be off by so much, as in 0=1e-3 or logits=0.1% of its range; "
            "again for more layers. Layers have the names and numbers that `ranges` prints.",
            show_default="none",
        ),
    ] = None
    arithmetic: Annotated[
        str | None,
        typer.Option(help="Prove it for programs that round: float32, bfloat16 or float16.", show_default="none"),
    ] = None

    @property
    def keywords(self) -> dict[str, Any]:
        """Return the keywords of `margin` and `verify`."""
        given: dict[int | str, float | str] = {}
        for text in self.noise or []:
            layer, equals, size = text.rpartition("=")
            if not equals or not layer or not size:
                raise InputError(f"--noise {text!r}: expected LAYER=SIZE, such as 0=1e-3 or logits=0.1%")
            given[int(layer) if layer.isdecimal() else layer] = size if size.endswith("%") else _number(text, size)
        found: dict[str, Any] = {"noise": given} if given else {}
        return found if self.arithmetic is None else found | {"arithmetic": self.arithmetic}


def _number(text: str, size: str) -> float:
    try:
        return float(size)
    except ValueError:
        raise InputError(f"--noise {text!r}: {size!r} is no number; expected one, or a share such as 0.1%") from None
