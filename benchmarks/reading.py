"""The time to read each model of the zoo: CPU seconds of one core, the best of several, after the packages are imported.

Run: python benchmarks/reading.py ZOO --repeat 5
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import common
import numpy as np

import polymargin as pm

LIMIT, LIMITS = 0.5, {"orion_lenet.onnx": 1.0}


def readers(zoo: Path) -> dict[str, Callable[[], Any]]:
    """What a user would write for each file."""
    result: dict[str, Callable[[], Any]] = {}
    for file in sorted(zoo.glob("*.onnx")):
        result[file.name] = lambda file=file: pm.load(file)
    for file in sorted(zoo.glob("*.pth")):
        result[file.name] = lambda file=file: pm.load(file, activation="square")
    result["vpn_ccp4.npz"] = lambda: _pi_net(zoo / "vpn_ccp4.npz")
    return result


def _pi_net(file: Path) -> Any:
    with np.load(file) as arrays:
        return pm.pi_net([arrays[f"U{k}"] for k in range(1, 5)], arrays["C"], arrays["C_bias"])


def best(action: Callable[[], Any], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        started = process_time()
        action()
        times.append(process_time() - started)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    rows = []
    for name, action in readers(options.zoo).items():
        network = action()  # imports what it needs
        seconds, limit = best(action, options.repeat), LIMITS.get(name, LIMIT)
        rows.append([name, str(network), f"{seconds:.3f} s", f"{seconds / limit:.2f} of {limit:g} s"])
    common.print_table(["file", "read as", "time", "share of what it may take"], rows)


if __name__ == "__main__":
    main()
