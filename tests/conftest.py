"""Every test session has a cache directory of its own, and property tests try the same examples every time."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLYMARGIN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
