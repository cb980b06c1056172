"""Virtual environments for the test matrix: other Pythons, and the oldest releases that pyproject.toml admits.

Each lies in `.venv-NAME` of the checkout and is made once; the package is installed into it anew for every run. torch is left
out: of its releases only one comes without gigabytes of its own, and not for every Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
EXTRAS = ("test", "plot", "explore", "sklearn", "onnx", "h5", "piecewise", "vnnlib")
# Extras whose packages take part in answers, files or pictures; the others only run tests.
FLOORS = ("plot", "sklearn", "onnx", "vnnlib")


@dataclass(frozen=True)
class Environment:
    """An interpreter and releases that packages are held to."""

    name: str
    interpreter: Path
    constraints: tuple[str, ...] = ()

    @property
    def python(self) -> Path:
        return ROOT / f".venv-{self.name}" / "bin" / "python"

    def install(self) -> None:
        """Make the environment if it is not there, and put the package of this checkout into it."""
        if not self.python.exists():
            subprocess.run([self.interpreter, "-m", "venv", self.python.parent.parent], check=True)
        held = self.python.parent.parent / "constraints.txt"
        held.write_text("\n".join(self.constraints))
        package = f"{ROOT}[{','.join(EXTRAS)}]"
        subprocess.run([self.python, "-m", "pip", "install", "--quiet", "--constraint", held, package], check=True)


def environments() -> Iterator[Environment]:
    """Those that can be had here, apart from the one that runs this."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    for version in PYTHONS:
        if version != own and (interpreter := find_interpreter(version)) is not None:
            yield Environment(f"python{version}", interpreter)
    if (oldest := find_interpreter(PYTHONS[0])) is not None:
        yield Environment("oldest", oldest, tuple(oldest_releases(ROOT / "pyproject.toml")))


def find_interpreter(version: str) -> Path | None:
    """On the path, or among the versions that pyenv keeps."""
    if (found := shutil.which(f"python{version}")) is not None:
        works = subprocess.run([found, "-c", ""], capture_output=True).returncode == 0  # a shim may lead nowhere
        if works:
            return Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return max(pyenv.glob(f"{version}.*/bin/python"), default=None)


def oldest_releases(project: Path) -> list[str]:
    """`numpy>=1.26` as `numpy==1.26.*`, for what the package needs and for the extras that answers pass through."""
    data = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    extras = data["optional-dependencies"]
    wanted = data["dependencies"] + [requirement for name in FLOORS for requirement in extras[name]]
    matches = (re.match(r"([A-Za-z0-9-]+)>=([0-9.]+)", requirement) for requirement in wanted)
    return sorted({f"{match[1]}=={match[2]}.*" for match in matches if match is not None})
