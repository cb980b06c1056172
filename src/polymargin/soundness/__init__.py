"""The soundness benchmark: networks with planted counterexamples, an exactly labelled edition, verification and scores.

torch is an extra, imported only when networks are trained; onnx and vnnlib are extras of the files.
"""

from polymargin.soundness.benchmark_files import Instance, read_instances
from polymargin.soundness.exact_edition import ExactPlan, generate_exact_edition
from polymargin.soundness.planted_benchmark import generate_benchmark, train_benchmark
from polymargin.soundness.planted_training import PlantedNetwork, PlantingError, plant
from polymargin.soundness.scoring import Score, read_results, score
from polymargin.soundness.settings import Plan, Setting, paper_settings, settings_grid
from polymargin.soundness.verification import VerifierOutcome, verify_benchmark

__all__ = [
    "ExactPlan",
    "Instance",
    "Plan",
    "PlantedNetwork",
    "PlantingError",
    "Score",
    "Setting",
    "VerifierOutcome",
    "generate_benchmark",
    "generate_exact_edition",
    "paper_settings",
    "plant",
    "read_instances",
    "read_results",
    "score",
    "settings_grid",
    "train_benchmark",
    "verify_benchmark",
]
