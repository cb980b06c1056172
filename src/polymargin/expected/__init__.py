"""Expected numbers of real critical points: the Kac–Rice integral, and simulations beside it."""

from polymargin.expected.conditional import expected_for_family
from polymargin.expected.expectation import expected_real_critical_points
from polymargin.expected.families import AttentionFamily, DeepFamily, Family, ShallowFamily
from polymargin.expected.fields import GaussianField, Jets, KernelField
from polymargin.expected.integral import expected_for_field, joint_density, location_density
from polymargin.expected.kernel import ShallowKernel
from polymargin.expected.random_polynomials import RandomPolynomial, ShallowEnsemble
from polymargin.expected.rates import Growth, growth, leading_constant
from polymargin.expected.result import ExpectedCount, SimulatedCounts
from polymargin.expected.simulation import simulate_real_counts

__all__ = [
    "AttentionFamily",
    "DeepFamily",
    "ExpectedCount",
    "Family",
    "GaussianField",
    "Growth",
    "Jets",
    "KernelField",
    "RandomPolynomial",
    "ShallowEnsemble",
    "ShallowFamily",
    "ShallowKernel",
    "SimulatedCounts",
    "expected_for_family",
    "expected_for_field",
    "expected_real_critical_points",
    "growth",
    "joint_density",
    "leading_constant",
    "location_density",
    "simulate_real_counts",
]
