"""The baseline kernels are plain C++20: without vector extensions, and for more than one compiler."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "cpp"
STRICT = ["-std=c++20", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-fsyntax-only"]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("options", [[], ["-DPM_PORTABLE"]], ids=["vectors", "portable"])
def test_the_baseline_compiles(compiler: str, options: list[str]) -> None:
    if shutil.which(compiler) is None or not SOURCES.is_dir():
        pytest.skip(f"needs {compiler} and the sources of the core")
    words = [compiler, *STRICT, *options, str(SOURCES / "kernels_baseline.cpp")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_portable_lanes_use_no_extension() -> None:
    if not SOURCES.is_dir():
        pytest.skip("needs the sources of the core")
    assert "__" not in (SOURCES / "portable_lanes.hpp").read_text(encoding="utf-8")
