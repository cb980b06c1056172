"""Many paths on the GPU: jobs in parts that fit its memory, one part computing while the one before comes back.

Which paths go there is decided here too. 'cuda' sends every job that has a kernel; 'auto', the default, those large enough to be
worth it, if there is a GPU; 'cpu' none. What the GPU could not settle is for the CPU core to follow again.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.gpu.device import Pending, launch
from polymargin.gpu.jobs import RESULTS
from polymargin.gpu.kernels import Kernels, cupy_or_reason, required_cupy
from polymargin.gpu.source import MOST_UNKNOWNS, Layout, layout_for
from polymargin.gpu.surveys import MOST_POINTS, SURVEY_ARRAYS, Rules, SurveyArrays
from polymargin.gpu.tape import Tape
from polymargin.polynomials import Program

ComplexArray = NDArray[np.complex128]
_logger = logging.getLogger(__name__)

# Environment variable with the default device.
DEVICE = "POLYMARGIN_DEVICE"
DEVICES = ("auto", "cpu", "cuda")
# Paths from which a GPU is chosen without being asked: two cores take about a second for them, a compiler one or two.
WORTH_IT = 100_000
# Bytes that the ends of a part may take, here and there; and those of a path beside its point.
MOST_BYTES = 1 << 32
BYTES_BESIDE_POINT = 36
# Parts whose ends stay on the GPU: few bytes come back, so that more of them may be on their way.
SURVEYS_UNDER_WAY = 3


def chosen_device(device: str | None) -> str:
    """Return the device chosen by argument or by POLYMARGIN_DEVICE."""
    name = device or os.environ.get(DEVICE) or "auto"
    if name not in DEVICES:
        raise InputError(f"device {name!r}: expected one of {', '.join(DEVICES)}")
    if name == "cuda":
        required_cupy()
    return name


def device_for(device: str | None, path_count: int) -> str:
    """Return 'cpu' or 'cuda' for so many paths."""
    name = chosen_device(device)
    if name != "auto":
        return name
    worth_it = path_count >= WORTH_IT and find_spec("cupy") is not None and not isinstance(cupy_or_reason(), str)
    return "cuda" if worth_it else "cpu"


def tape_for(program: Program) -> Tape | None:
    """Return the tape of a program, made once per program; None for a program that is not symmetric or too large."""
    if Tape not in program.cache:
        tape = Tape.of(program) if program.input_count <= MOST_UNKNOWNS else None
        program.cache[Tape] = None if tape is None or layout_for(tape) is None else tape
    found: Tape | None = program.cache[Tape]
    return found


@dataclass(frozen=True, eq=False)
class Bundle:
    """Paths of one tape: starts (N, n) at the parameters begin (P,) to every target (T, P), or those selected (T, N)."""

    tape: Tape
    starts: ComplexArray
    begin: ComplexArray
    targets: ComplexArray
    selected: NDArray[np.bool_] | None = None
    kernels: Kernels = field(default_factory=Kernels)

    def __post_init__(self) -> None:
        _require("start points", self.starts.shape[1], self.tape.inputs)
        _require("start parameters", len(self.begin), self.tape.parameters)
        _require("target parameters", self.targets.shape[1], self.tape.parameters)

    @cached_property
    def layout(self) -> Layout:
        """Return how the paths are spread."""
        found = layout_for(self.tape)
        assert found is not None  # as `tape_for` has seen
        return found

    def launch(self, part: _Part, settings: Any, brought: Collection[str] = tuple(RESULTS)) -> Pending:
        """Start the kernel on a part of the bundle."""
        mask = None if self.selected is None else self.selected[part.targets, part.starts]
        starts, targets = self.starts[part.starts], self.targets[part.targets]
        return launch(self.kernels, self.tape, self.layout, starts, self.begin, targets, settings, mask, brought)

    def parts(self) -> Iterator[_Part]:
        """Yield blocks of targets with all starts, or of starts for one target if these are too many."""
        targets, starts = len(self.targets), len(self.starts)
        if not targets or not starts:
            return
        most = max(1, MOST_BYTES // (16 * self.tape.inputs + BYTES_BESIDE_POINT))
        rows, columns = max(1, most // starts), min(starts, most)
        for row in range(0, targets, rows):
            for column in range(0, starts, columns):
                yield _Part(slice(row, min(row + rows, targets)), slice(column, min(column + columns, starts)))

    def allocated(self) -> dict[str, NDArray[Any]]:
        """Allocate arrays for the endpoints of all paths."""
        shape = (len(self.targets), len(self.starts))
        sizes = {name: (*shape, self.tape.inputs) if vector else shape for name, (_, vector) in RESULTS.items()}
        return {name: np.empty(sizes[name], dtype=kind) for name, (kind, _) in RESULTS.items()}


def follow(bundles: Sequence[Bundle], settings: Any) -> list[dict[str, NDArray[Any]]]:
    """Track the paths and return what the CPU core returns. Two parts run at a time."""
    results: list[dict[str, NDArray[Any]]] = [{} for _ in bundles]
    under_way: deque[tuple[int, _Part, Pending]] = deque()

    def collect() -> None:
        place, part, pending = under_way[0]
        found = pending.wait()
        under_way.popleft()
        bundle = bundles[place]
        if part.is_all_of(bundle):
            results[place] = dict(found)
            return
        results[place] = results[place] or bundle.allocated()
        for name, array in found.items():
            results[place][name][part.targets, part.starts] = array
        _logger.info("%s paths are back, %.1f steps each", f"{found['ends'].size:,}", found["steps"].mean())

    try:
        for place, bundle in enumerate(bundles):
            for part in bundle.parts():
                under_way.append((place, part, bundle.launch(part, settings)))
                if len(under_way) == 2:
                    collect()
        while under_way:
            collect()
    except BaseException:  # an interrupt, or no memory for the next part
        for _, _, pending in under_way:
            pending.stop()
        raise
    return [found or bundle.allocated() for found, bundle in zip(results, bundles, strict=True)]


def fits_survey(bundle: Bundle) -> bool:
    """Return whether the endpoints of the bundle can be surveyed on the device: all of them, in lists that are not too long."""
    return bundle.selected is None and len(bundle.starts) <= MOST_POINTS


def survey(
    bundles: Sequence[Bundle],
    settings: Any,
    rules: Sequence[Rules],
    settle: Callable[[int, NDArray[np.intp]], Mapping[str, NDArray[Any]]],
) -> Iterator[SurveyArrays]:
    """Survey the endpoints of each bundle list by list; see `fits_survey`.

    `settle(b, numbers)` tracks paths of bundle b again that have no settled endpoint, counted through all targets, and returns
    the arrays named in SURVEYED. Some parts run while the caller reads the surveys of previous ones.
    """
    parts = [(place, part) for place, bundle in enumerate(bundles) for part in bundle.parts()]
    left, under_way, surveys = iter(parts), deque[Pending](), list[SurveyArrays]()
    try:
        for number, (place, part) in enumerate(parts):
            while len(under_way) < SURVEYS_UNDER_WAY and (following := next(left, None)) is not None:
                under_way.append(bundles[following[0]].launch(following[1], settings, ("left_count",)))
            pending = under_way[0]
            numbers = pending.unsettled()
            if len(numbers):
                pending.settle(numbers, settle(place, numbers + part.targets.start * len(bundles[place].starts)))
            surveys.append(pending.survey(rules[place]))
            under_way.popleft()
            if number + 1 == len(parts) or parts[number + 1][0] != place:
                yield {name: np.concatenate([one[name] for one in surveys]) for name in SURVEY_ARRAYS}
                surveys = []
    except BaseException:  # an interrupt, no memory for the next part, or a caller that stopped
        for pending in under_way:
            pending.stop()
        raise


def _require(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"{what}: expected {expected} columns, got {found}")


@dataclass(frozen=True)
class _Part:
    targets: slice
    starts: slice

    def is_all_of(self, bundle: Bundle) -> bool:
        whole = (len(bundle.targets), len(bundle.starts))
        return (self.targets.stop - self.targets.start, self.starts.stop - self.starts.start) == whole
