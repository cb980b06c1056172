"""How the file of a model is read, as the options of a command say it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelOptions:
    """--trust, --activation, --outputs and --input-shape, as they were typed."""

    trust: bool = False
    activation: str | None = None
    outputs: str | None = None
    input_shape: str | None = None

    @property
    def of_plain_weights(self) -> bool:
        """Whether the file is said to hold weights alone."""
        return self.activation is not None or self.outputs is not None
