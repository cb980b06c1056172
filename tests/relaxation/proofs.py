"""Certificates from what the search for a radius returns, as files have them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from polymargin.networks.network import Network
from polymargin.regions import Region, ThreatModel
from polymargin.relaxation.search import RadiusBound
from polymargin_checker import check
from polymargin_checker.checker import CheckResult
from tests.checker.relaxation_prover import certificate
from tests.checker.stage_files import model_file


def judged(
    network: Network, u: np.ndarray, label: int, region: Region, bound: RadiusBound, **options: Any
) -> CheckResult:
    """Return what the checker says of the proofs of a radius."""
    from polymargin.margins.certificate import neighbourhood

    threat = ThreatModel(region, tuple(bound.proofs))
    more = {"ranges": bound.shared, "neighbourhood": neighbourhood(threat)}
    document = certificate(network, u, label, bound.radius, dict(bound.proofs), **more)
    return check(model_file(network), json.dumps(document).encode(), **options)
