"""Every public function with a timeout answers in time, on networks that people deploy: POLYMARGIN_ZOO names their folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest

import polymargin as pm

ZOO = Path(os.environ.get("POLYMARGIN_ZOO", "zoo"))
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not ZOO.is_dir(), reason="POLYMARGIN_ZOO names no folder")]
NAMES = ("cryptonets", "cubic_mlp", "gelu4_mlp", "lola", "orion_lenet", "orion_mlp", "tenseal")
SECONDS = 10.0
# The time of this process and not that of the clock: others may be at work on the machine. One second more is allowed, and
# what it takes to write LeNet's 6,272 neurons as integers and to expand it once.
SPARE = {"orion_lenet": 3.0}
IMAGES = pm.Linf(domain=(0, 1))
QUESTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "margin": lambda net, x: pm.margin(net, x, timeout=SECONDS, threads=1),
    "margin in linf": lambda net, x: pm.margin(net, x, within=IMAGES, timeout=SECONDS, threads=1),
    "margin in l1": lambda net, x: pm.margin(net, x, within=pm.L1(domain=(0, 1)), timeout=SECONDS, threads=1),
    "margin in a box": lambda net, x: pm.margin(net, x, within=pm.L2(domain=(0, 1)), timeout=SECONDS, threads=1),
    "margin with a lead": lambda net, x: pm.margin(net, x, abstain=0.5, timeout=SECONDS, threads=1),
    "verify": lambda net, x: pm.verify(net, x, 0.05, timeout=SECONDS, threads=1),
    "verify in linf": lambda net, x: pm.verify(net, x, 0.005, within=IMAGES, timeout=SECONDS, threads=1),
    "certify": lambda net, x: pm.certify(net, x, timeout=SECONDS, threads=1),
    "certify in linf": lambda net, x: pm.certify(net, x, within=IMAGES, timeout=SECONDS, threads=1),
    "lower_bound": lambda net, x: pm.lower_bound(net, x, timeout=SECONDS),
    "lower_bound in linf": lambda net, x: pm.lower_bound(net, x, within=IMAGES, timeout=SECONDS),
    "report": lambda net, x: pm.report(net, x[None], [0], timeout=SECONDS, threads=1),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_answers_come_in_time(name: str, question: str) -> None:
    network = pm.load(ZOO / f"{name}.onnx")
    x = np.random.default_rng(0).uniform(0, 1, network.dimension)
    network(x)
    begin = process_time()
    QUESTIONS[question](network, x)
    assert process_time() - begin <= SECONDS + SPARE.get(name, 1.0)
