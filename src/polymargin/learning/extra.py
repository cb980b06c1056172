"""The one door to torch."""

from __future__ import annotations

import importlib
from typing import Any

from polymargin.errors import MissingExtraError


def torch_package() -> Any:
    """The torch package, or one sentence that says how to get it."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise MissingExtraError("training needs PyTorch; install it with: pip install 'polymargin[torch]'") from None
