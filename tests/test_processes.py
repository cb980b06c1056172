"""Threads and processes where the system gives fewer than were asked for: the answer is the same, and nothing hangs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# What is needed is imported before the rights to read it are given up: the limit does not bind a superuser.
LIMITED = """
import multiprocessing.synchronize, multiprocessing.popen_fork, multiprocessing.queues, multiprocessing.connection
import os, resource, sys
import numpy as np
import polymargin as pm
import polymargin.continuation.krawczyk as krawczyk
import polymargin.margins.batch as batch
from polymargin.processes import in_processes, startable_threads

batch.MOST_ROWS, krawczyk.SMALLEST_PARALLEL_JOB = 2, 2
generator = np.random.default_rng(1)
network = pm.PolynomialNetwork(
    [(generator.normal(size=(3, 2)), generator.normal(size=3)), generator.normal(size=(2, 3))], degree=3
)
points = generator.normal(size=(20, 2))
def answers(threads):
    verifier = pm.Verifier(network, workers=threads, settings=pm.Settings(cache=False))
    rows = verifier.margin(points, proof=False)
    proved = verifier.margin(points[0])
    return [row.radius for row in rows], str(proved)
alone = answers(1)
if os.getuid() == 0:
    os.setgid(64_321)
    os.setuid(64_321)
resource.setrlimit(resource.RLIMIT_NPROC, ({limit}, {limit}))
print(startable_threads(8), in_processes(abs, [-3, 2, -1], 4), answers(8) == alone)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a limit of Linux")
@pytest.mark.parametrize("limit", [0, 3])
def test_what_cannot_start_is_done_without(limit: int) -> None:
    """With 3 a pool of four begins, and is left with processes that wait for work."""
    run = subprocess.run(
        [sys.executable, "-c", LIMITED.format(limit=limit)], capture_output=True, text=True, check=False, timeout=120
    )
    assert run.returncode == 0, run.stderr
    threads, *rest = run.stdout.split(maxsplit=1)
    assert rest == ["[3, 2, 1] True\n"]
    if os.getuid() == 0:  # otherwise the other processes of this person count too
        assert int(threads) == max(limit - 1, 0)
