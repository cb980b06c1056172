"""The compiled core where the system gives less than was asked for, and where its arguments are at the edge of their type."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from polymargin import _core

# A system, tracked on as many threads as asked for, in a process that has memory for the stack of hardly one.
FEW_THREADS = """
import resource
import numpy as np
import polymargin as pm
from polymargin.continuation import Tracker
from polymargin.enumeration import base_solutions
from polymargin.enumeration.cache import Cache

boundary = pm.Boundary.from_expression("x**{degree} + y**{degree} + x*y - 1")
def solve(threads):
    return base_solutions(boundary, Tracker(threads=threads), seed=0, cache=Cache(None)).solutions
alone = solve(1)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + {spare}, -1))
together = solve(16)
print(len(alone), np.array_equal(alone, together))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measures the process in /proc")
@pytest.mark.parametrize("spare", [6 << 20, 20 << 20])
def test_threads_that_cannot_start_are_done_without(spare: int) -> None:
    script = FEW_THREADS.format(degree=9, spare=spare)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.split()) == (0, ["81", "True"]), run.stderr


# With every block of 4 kB and more taken from the system anew, a workspace that is not kept costs page faults in every call.
MANY_CALLS = """
import resource
import numpy as np
import polymargin as pm
from polymargin.continuation import Tracker
from polymargin.enumeration import base_solutions
from polymargin.enumeration.cache import Cache

boundary = pm.Boundary.from_expression("x**3 + y**3 + 2*x*y - x - 1")
base = base_solutions(boundary, Tracker(threads=1), seed=0, cache=Cache(None))
def faults(calls):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(calls):
        Tracker(threads=2).track(
            base.program, base.solutions, base.parameters, base.parameters, double_double={double_double}
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults(100)
print(faults(400) / 400)
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or "asan" in os.environ.get("LD_PRELOAD", ""), reason="a setting of glibc"
)
@pytest.mark.parametrize("double_double", [False, True])
def test_workspaces_are_kept_and_used_again(double_double: bool) -> None:
    script = MANY_CALLS.format(double_double=double_double)
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "4096", "MALLOC_TOP_PAD_": "0"}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert float(run.stdout) < 1, run.stdout


MANY_ROWS = """
import numpy as np
import polymargin as pm

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
generator = np.random.default_rng(1)
network = pm.PolynomialNetwork(
    [(generator.normal(size=(4, 2)), generator.normal(size=4)), generator.normal(size=(2, 4))], degree=3
)
points = generator.normal(size=(20_000, 2))
pm.margin(network, points[:100], proof=False, workers=2)
before = resident()
kept = pm.margin(network, points, proof=False, workers=2)
print(resident() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measures the process in /proc")
def test_memory_does_not_grow_with_the_rows() -> None:
    run = subprocess.run([sys.executable, "-c", MANY_ROWS], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 60 << 20  # the rows themselves are some 20 MB; it was 1 GB


LARGEST = 2**31 - 1
PRODUCT = 2  # of the operations of the core


def program(**changes: int) -> _core.Program:
    """x·p, with its derivative p: three registers in, two instructions."""
    numbers = {"inputs": 1, "parameters": 1, "registers": 4, "value_code": 1} | changes
    code = np.array([[changes.get("operation", PRODUCT), 2, 1, 0, 0, 0]], dtype=np.int32)
    for place, name in enumerate(("target", "rows", "columns", "first_argument", "coefficients"), start=1):
        if name in changes:
            code[0, place] = numbers.pop(name)
    numbers.pop("operation", None)
    none = np.zeros(0)
    return _core.Program(
        **numbers,
        code=code,
        arguments=np.array([0, 1], np.int32),
        coefficient_hi=none,
        coefficient_lo=none,
        constant_hi=none,
        constant_lo=none,
        value_registers=np.array([2], np.int32),
        jacobian_registers=np.array([1], np.int32),
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"parameters": LARGEST},
        {"parameters": LARGEST, "registers": LARGEST},
        {"inputs": LARGEST},
        {"inputs": LARGEST, "parameters": LARGEST},
        {"operation": 0, "rows": LARGEST},
        {"operation": 0, "rows": LARGEST, "target": 3},
        {"operation": 0, "rows": 1, "columns": LARGEST, "first_argument": LARGEST},
        {"operation": 0, "rows": LARGEST, "columns": 0, "coefficients": LARGEST},
    ],
)
def test_numbers_at_the_edge_of_their_type_are_refused(changes: dict[str, int]) -> None:
    program()  # without the changes it is one
    with pytest.raises(ValueError, match="an index lies outside its array"):
        program(**changes)
