"""Every public function with a timeout answers in time, on networks that people deploy: POLYMARGIN_ZOO names their folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
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
REGIONS = {
    "l2": None,
    "linf in a box": IMAGES,
    "l1 in a box": pm.L1(domain=(0, 1)),
    "l2 in a box": pm.L2(domain=(0, 1)),
}
QUESTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "margin with a lead": lambda net, x: pm.margin(net, x, abstain=0.5, timeout=SECONDS, workers=1),
    "margin without proof": lambda net, x: pm.margin(net, x, proof=False, timeout=SECONDS, workers=1),
    "report": lambda net, x: pm.report(net, x[None], [0], timeout=SECONDS, workers=1),
}
for place, region in REGIONS.items():
    for name, ask in (("margin", pm.margin), ("attack", pm.attack), ("verify", partial(pm.verify, radius=0.01))):
        workers = {} if name == "attack" else {"workers": 1}
        QUESTIONS[f"{name} in {place}"] = partial(ask, within=region, timeout=SECONDS, **workers)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_answers_come_in_time(name: str, question: str) -> None:
    network = pm.load(ZOO / f"{name}.onnx")
    x = np.random.default_rng(0).uniform(0, 1, network.dimension)
    network(x)
    begin = process_time()
    QUESTIONS[question](network, x)
    assert process_time() - begin <= SECONDS + SPARE.get(name, 1.0)
