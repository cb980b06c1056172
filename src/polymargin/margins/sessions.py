"""The last few models that were asked about, with what was computed for them: another batch costs its points alone.

Stage 1 is on disk, but the exact structure of every boundary and its programs are not, and for ten classes making these takes
seconds. Kept are models with few paths, whose solutions take little memory, and only where solutions may be kept at all.
"""

from __future__ import annotations

import atexit
from collections import OrderedDict
from threading import Lock
from typing import Any

from polymargin.boundary import Boundary
from polymargin.margins.models import ModelMargins, margins_of
from polymargin.margins.pairs import Enumeration
from polymargin.networks.network import Network

MOST_SESSIONS = 4
# Paths per point of a model that is kept: its solutions take some ten megabytes.
MOST_PATHS = 50_000

_kept: OrderedDict[Any, ModelMargins] = OrderedDict()
_lock = Lock()


def forget() -> None:
    """Keep none of them any longer."""
    with _lock:
        _kept.clear()


atexit.register(forget)  # the core's programs must not outlive the core


def session_for(model: Network | Boundary, search: Enumeration) -> ModelMargins:
    """The model with what is known of it, for this search; the weights as they are now say which model it is."""
    if search.cache.directory is None:
        return margins_of(model, search)
    key = (type(model), model.source.fingerprint if isinstance(model, Boundary) else model.fingerprint, search)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    session = margins_of(model, search)
    if session.paths_per_point <= MOST_PATHS:
        with _lock:
            _kept[key] = session
            while len(_kept) > MOST_SESSIONS:
                _kept.popitem(last=False)
    return session
