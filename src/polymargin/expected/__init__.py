"""Expected numbers of real critical points: the Kac–Rice integral, and simulations beside it."""

from polymargin.expected.conditional import expected_for_family
from polymargin.expected.expectation import expected_real_critical_points, leading_constant
from polymargin.expected.families import AttentionFamily, DeepFamily, Family, ShallowFamily
from polymargin.expected.integral import expected_for_field
from polymargin.expected.kernel import ShallowKernel
from polymargin.expected.random_polynomials import RandomPolynomial, ShallowEnsemble
from polymargin.expected.result import ExpectedCount, SimulatedCounts
from polymargin.expected.simulation import simulate_real_counts
from polymargin.expected.tangent import GaussianField

__all__ = [
    "AttentionFamily",
    "DeepFamily",
    "ExpectedCount",
    "Family",
    "GaussianField",
    "RandomPolynomial",
    "ShallowEnsemble",
    "ShallowFamily",
    "ShallowKernel",
    "SimulatedCounts",
    "expected_for_family",
    "expected_for_field",
    "expected_real_critical_points",
    "leading_constant",
    "simulate_real_counts",
]
