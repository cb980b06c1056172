"""Without torch the package can be imported, and what needs torch says so in one sentence."""

from __future__ import annotations

import sys

import pytest

from polymargin import learning
from polymargin.errors import MissingExtraError


def test_every_name_is_there() -> None:
    for name in learning.__all__:
        assert getattr(learning, name).__module__.startswith("polymargin.learning.")


def test_the_missing_extra_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'polymargin\[torch\]'"):
        learning.shallow_network(2, 2, 2, seed=0)
