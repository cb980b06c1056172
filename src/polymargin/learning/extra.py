"""The one door to torch."""

from __future__ import annotations

import importlib
from typing import Any

from polymargin.errors import MissingExtraError


def torch_package() -> Any:
    """Return the torch package; raise MissingExtraError if it is not installed."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise MissingExtraError("training needs PyTorch; install it with: pip install 'polymargin[torch]'") from None
