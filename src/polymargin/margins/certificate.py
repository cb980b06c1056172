"""Certificate files: what docs/certificates.md describes, as Python values and as JSON."""

from __future__ import annotations

import binascii
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin import __version__
from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.regions import ThreatModel

FORMAT = "polymargin-certificate-1"


@dataclass(frozen=True)
class Certificate:
    """A claim about a network and a point with its proof, ready to be written and checked."""

    data: dict[str, Any]

    @property
    def claim(self) -> dict[str, Any]:
        """Return the claim of the certificate."""
        claim: dict[str, Any] = self.data["claim"]
        return claim

    def to_bytes(self) -> bytes:
        """Return the certificate as JSON, as it is in its file."""
        return (json.dumps(self.data, separators=(",", ":"), allow_nan=False) + "\n").encode()

    def save(self, path: str | Path) -> Path:
        """Write the certificate as JSON."""
        file = Path(path)
        file.write_bytes(self.to_bytes())
        return file

    def __repr__(self) -> str:
        rivals = self.data.get("rivals", ())
        proofs = ", ".join(f"class {entry['rival']} by {entry['proof']['kind']}" for entry in rivals)
        if self.claim["kind"] == "ranges":
            return f"Certificate(ranges of {len(self.claim['layers'])} layers)"
        return f"Certificate({self.claim['kind']}; {proofs or 'counterexample'})"


def certificate(
    network: Network,
    u: NDArray[np.float64],
    label: int,
    claim: dict[str, Any],
    rivals: list[dict[str, Any]],
    upper: dict[str, Any] | None,
    seed: int,
    asked: ThreatModel | None = None,
) -> Certificate:
    """Return a certificate from its parts; without a threat model it is about L2, every perturbation and every rival."""
    about = {} if asked is None or asked.is_plain else {"neighbourhood": neighbourhood(asked)}
    rivals, ranges = shared_ranges(rivals)
    about |= {} if ranges is None else {"ranges": ranges}
    return Certificate(
        {
            "format": FORMAT,
            "created": {"version": __version__, "seed": seed},
            "model": {"sha256": network.fingerprint},
            "point": in_base64(u),
            "label": label,
            "claim": claim,
            "rivals": rivals,
            "upper": upper,
            **about,
        }
    )


OF_ALL_RIVALS = ("radius", "coordinates", "ellipsoid", "decided", "lemmas")


def shared_ranges(rivals: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Return the entries of rivals with what relaxation proofs of one radius have in common said once."""
    proofs = [entry["proof"] for entry in rivals if entry["proof"]["kind"] == "relaxation"]
    common = next((one for one in proofs if sum(_alike(one, other) for other in proofs) > 1), None)
    if common is None:
        return rivals, None
    shared = [
        {**entry, "proof": {**entry["proof"], "lemmas": "shared"}}
        if entry["proof"]["kind"] == "relaxation" and _alike(common, entry["proof"])
        else entry
        for entry in rivals
    ]
    return shared, {key: common[key] for key in OF_ALL_RIVALS}


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one[key] is other[key] or one[key] == other[key] for key in OF_ALL_RIVALS)


def neighbourhood(asked: ThreatModel) -> dict[str, Any]:
    """Return the neighbourhood as certificates state it: hexadecimal floats, null where a domain has no end."""
    near = asked.region
    skew = {} if near.frame is None else {"frame": _hexadecimals(near.frame.turn)}
    if near.subspace is not None:
        skew["subspace"] = _hexadecimals(near.subspace)
    return {
        "norm": near.norm.value,
        "weights": _hexadecimals(near.weights if near.ellipsoid is None else near.ellipsoid),
        "low": _hexadecimals(near.low),
        "high": _hexadecimals(near.high),
        "movable": None if near.movable is None else list(near.movable),
        "rivals": None if asked.rivals is None else list(asked.rivals),
        "abstain": float(asked.abstain).hex(),
        **skew,
    }


def _hexadecimals(array: NDArray[np.float64] | None) -> Any:
    """Return lists as deep as the array has axes; null for infinity."""
    if array is None:
        return None
    if array.ndim == 2:
        return [_hexadecimals(row) for row in array]
    return [None if math.isinf(value) else float(value).hex() for value in array.tolist()]


def hexadecimal(value: float) -> str:
    """Return a double, exactly; infinity as 'inf'."""
    return "inf" if math.isinf(value) else float(value).hex()


def in_base64(array: NDArray[Any], kind: str = "<f8") -> str:
    """Return the numbers of an array in order, little-endian; doubles unless another type is named."""
    return binascii.b2a_base64(np.ascontiguousarray(array, dtype=kind).tobytes(), newline=False).decode()


# What the rows of a file have in common.
SHARED = ("format", "created", "model", "neighbourhood", "ranges", "noise", "arithmetic")


def lines_of(certificates: Sequence[Certificate]) -> bytes:
    """Return the certificates of one model in one file: a line with what they share, and one for each."""
    shared = _shared(certificates[0])
    if any(_shared(one) != shared for one in certificates[1:]):
        raise InputError(
            "these certificates speak of different models or neighbourhoods; write them to different files"
        )
    rows = [{key: value for key, value in one.data.items() if key not in SHARED} for one in certificates]
    entries = [shared | {"rows": len(rows)}, *rows]
    return "".join(json.dumps(entry, separators=(",", ":"), allow_nan=False) + "\n" for entry in entries).encode()


def _shared(certificate: Certificate) -> dict[str, Any]:
    return {key: value for key, value in certificate.data.items() if key in SHARED}
