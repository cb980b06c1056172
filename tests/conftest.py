"""Every test session has a cache directory of its own."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLYMARGIN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
