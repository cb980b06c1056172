"""The answer of `certify`: a margin between two proved numbers, with the proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.class_names import AboutClasses
from polymargin.listing import Listing, html_of_one
from polymargin.margins import Margin
from polymargin.margins.certificate import Certificate
from polymargin.standing import PublishedStatus, Standing


@dataclass(frozen=True, eq=False)
class CertifiedMargin(AboutClasses, PublishedStatus):
    """A margin with proved bounds and the certificate that proves them; None for a row of a batch that has no answer."""

    margin: Margin
    certificate: Certificate | None

    @property
    def standing(self) -> Standing:
        return self.margin.standing

    @property
    def label(self) -> int | None:
        return self.margin.label

    @property
    def rival(self) -> int | None:
        return self.margin.rival

    @property
    def class_names(self) -> tuple[str, ...] | None:
        return self.margin.class_names

    def __repr__(self) -> str:
        m = self.margin
        if m.error is not None:
            return f"CertifiedMargin(no answer: {m.error})"
        return f"CertifiedMargin({m.lower:.12g} <= margin <= {m.upper:.12g}, {m.standing.name} by {m.method})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the margin's, and the certificate."""
        return self.margin.to_dict() | {"certificate": None if self.certificate is None else self.certificate.data}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CertifiedMargin:
        """The inverse of `to_dict`."""
        proof = data["certificate"]
        margin = Margin.from_dict({name: value for name, value in data.items() if name != "certificate"})
        return cls(margin, None if proof is None else Certificate(proof))

    def to_row(self) -> dict[str, Any]:
        """The answer in one line of a table."""
        return self.margin.to_row()

    def _repr_html_(self) -> str:
        return html_of_one(self)


class CertifiedMargins(Listing[CertifiedMargin]):
    """The certified margins of a batch, a list with one `CertifiedMargin` per point.

    lower, upper   the proved bounds as arrays; NaN where a row has no answer
    standings      how each is known
    to_csv(path), to_frame()   one line per point, as a file or as a pandas DataFrame
    """

    @property
    def lower(self) -> NDArray[np.float64]:
        return np.array([row.margin.lower for row in self], dtype=np.float64)

    @property
    def upper(self) -> NDArray[np.float64]:
        return np.array([row.margin.upper for row in self], dtype=np.float64)
