"""Model files as what rules for layers, attention modules and products take."""

from __future__ import annotations

from typing import Any

from polymargin_checker.stages import read_network
from polymargin_checker.views import view_of


def read_view(source: Any) -> Any:
    return view_of(read_network(source))
