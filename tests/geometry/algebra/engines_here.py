"""Marks for tests that need a Gröbner engine."""

from __future__ import annotations

import pytest

from polymargin.geometry.algebra import find_engine

needs_msolve = pytest.mark.skipif(find_engine("msolve") is None, reason="msolve is not installed")
needs_singular = pytest.mark.skipif(find_engine("Singular") is None, reason="Singular is not installed")
