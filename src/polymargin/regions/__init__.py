"""Sets of perturbations: a norm, a domain, coordinates that move. Values without a solver."""

from polymargin.regions.norms import Norm
from polymargin.regions.perturbations import Perturbations
from polymargin.regions.region import L1, L2, Linf, Region
from polymargin.regions.threat_model import ThreatModel, ThreatOptions

__all__ = ["L1", "L2", "Linf", "Norm", "Perturbations", "Region", "ThreatModel", "ThreatOptions"]
