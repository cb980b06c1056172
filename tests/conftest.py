"""Start solutions of a test run are kept in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's cache out of tests, and tests out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLYMARGIN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
