"""Certificates from what the search for a radius returns, as files have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from polymargin.margins.certificate import certificate, hexadecimal
from polymargin.networks.network import Network
from polymargin.regions import Region, ThreatModel
from polymargin.relaxation.search import ProvedRadius
from polymargin_checker import check
from polymargin_checker.checker import CheckResult
from tests.checker.stage_files import model_file


def judged(
    network: Network, u: np.ndarray, label: int, region: Region, bound: ProvedRadius, **options: Any
) -> CheckResult:
    """Return what the checker says of the proofs of a radius."""
    radius = hexadecimal(bound.radius)
    rivals = [{"rival": rival, "lower": radius, "proof": proof} for rival, proof in bound.proofs.items()]
    threat = ThreatModel(region, tuple(bound.proofs))
    document = certificate(network, u, label, {"kind": "robust", "radius": radius}, rivals, None, 0, threat)
    return check(model_file(network), document.to_bytes(), **options)
