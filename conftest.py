"""Every test session has a cache directory of its own, property tests try the same examples every time, and doctests compare
numbers as numbers (`tests/number_aware.py`)."""

from __future__ import annotations

import doctest
from importlib.util import find_spec

import pytest
from hypothesis import settings
from number_aware import check_output

pytest_plugins = ["pytester"]
# Looking for their doctests would import what is made of torch, or run what needs it.
MADE_OF_TORCH = (
    "src/polymargin/networks/readers/torch_layers.py",
    "src/polymargin/learning/exact_margin.py",
    "src/polymargin/learning/rival_margins.py",
    "tests/bounds/lifted/torch_algebra.py",
)
collect_ignore = [] if find_spec("torch") else list(MADE_OF_TORCH)
# pytest's own checker asks this one first.
doctest.OutputChecker.check_output = check_output
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLYMARGIN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
