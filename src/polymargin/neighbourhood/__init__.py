"""What a perturbation may be: a norm, a domain, the coordinates that move, the classes that count."""

from polymargin.neighbourhood.neighbourhood import Neighbourhood, Norm

__all__ = ["Neighbourhood", "Norm"]
