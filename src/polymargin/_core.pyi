"""Types of the C++ core (cpp/bindings*.cpp)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

class Program:
    def __init__(
        self,
        *,
        inputs: int,
        parameters: int,
        registers: int,
        value_code: int,
        code: NDArray[np.int32],
        arguments: NDArray[np.int32],
        coefficient_hi: NDArray[np.float64],
        coefficient_lo: NDArray[np.float64],
        constant_hi: NDArray[np.float64],
        constant_lo: NDArray[np.float64],
        value_registers: NDArray[np.int32],
        jacobian_registers: NDArray[np.int32],
    ) -> None: ...

class TrackerSettings:
    def __init__(
        self,
        *,
        contraction: float,
        correction: float,
        change: float,
        accuracy: float,
        final_accuracy: float,
        smallest_step: float,
        infinity: float,
        most_steps: int,
    ) -> None: ...

class Job:
    def __init__(
        self,
        program: Program,
        start_parameters: NDArray[np.complex128],
        target_parameters: NDArray[np.complex128],
        start_points: NDArray[np.complex128],
        selected: NDArray[np.int64] | None = None,
        stopped: NDArray[np.complex128] | None = None,
        remaining: NDArray[np.float64] | None = None,
    ) -> None: ...

def track(
    jobs: Sequence[Job],
    settings: TrackerSettings,
    threads: int = 1,
    double_double: bool = False,
    instruction_set: str | None = None,
) -> list[dict[str, Any]]: ...
def survey(
    points: NDArray[np.complex128],
    ends: NDArray[np.int32],
    condition: NDArray[np.float64],
    targets: NDArray[np.complex128],
    directions: NDArray[np.float64],
    same: float,
    same_conjugate: float,
    real: float,
    clearly_complex: float,
    largest_condition: float,
) -> dict[str, NDArray[Any]]: ...
def gather(
    known: NDArray[np.complex128],
    margins: NDArray[np.float64],
    counts: NDArray[np.int32],
    real_counts: NDArray[np.int32],
    lists: NDArray[np.int64],
    found: NDArray[np.complex128],
    usable: NDArray[np.bool_],
    corrections: NDArray[np.float64],
    real: float,
    same: float,
    multiple: float,
    threads: int = 1,
) -> None: ...
def count_real_zeros(coefficients: NDArray[np.float64], threads: int = 1) -> NDArray[np.int32]: ...
def evaluate(
    program: Program,
    inputs: NDArray[np.complex128],
    parameters: NDArray[np.complex128],
    double_double: bool = False,
    instruction_set: str | None = None,
) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]: ...
def view(
    points: NDArray[np.float64],
    *,
    weights: NDArray[np.float64],
    bias: NDArray[np.float64],
    bends: NDArray[np.float64] | None,
    slopes: NDArray[np.float64],
    constant: float,
    map: NDArray[np.float64],
    eigenvalues: NDArray[np.float64],
    sizes: NDArray[np.float64],
    instruction_set: str | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def product(
    rows: NDArray[np.float64], matrix: NDArray[np.float64], instruction_set: str | None = None
) -> NDArray[np.float64]: ...

class NearestRules:
    def __init__(
        self,
        *,
        weights: NDArray[np.float64],
        bias: NDArray[np.float64],
        bends: NDArray[np.float64] | None,
        slopes: NDArray[np.float64],
        constant: float,
        map: NDArray[np.float64],
        eigenvalues: NDArray[np.float64],
        sizes: NDArray[np.float64],
        rotation: NDArray[np.float64],
        basis: NDArray[np.float64] | None,
        fixed: NDArray[np.float64],
        least: float,
        tolerance: float,
        cluster_tolerance: float,
        touch_tolerance: float,
        noise: float,
        largest_doubt: float,
        largest_correction: float,
        largest_miss: float,
    ) -> None: ...

def nearest(
    points: NDArray[np.float64],
    rules: Sequence[NearestRules],
    counts: NDArray[np.int64],
    rows: NDArray[np.int64],
    threads: int = 1,
    instruction_set: str | None = None,
) -> tuple[NDArray[Any], ...]: ...
def instruction_sets() -> dict[str, int]: ...
def end_with(status: int) -> None: ...
