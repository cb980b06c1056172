"""The explorer: milliseconds per answer over HTTP for the demo networks, against the 33 ms of a frame.

python benchmarks/explorer.py [--answers 300]
"""

from __future__ import annotations

import argparse
import http.client
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

from common import print_table  # before NumPy

import numpy as np  # isort: skip

import polymargin as pm
from polymargin.explorer.answers import Answers

FRAME = 1 / 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=300)
    count = parser.parse_args().answers
    data = Path(str(files("polymargin") / "data"))
    rows = []
    for name in ("moons", "spheres", "cubic8"):
        network = pm.load(data / f"{name}.npz")
        points = np.load(data / f"{name}_points.npz")["points"]
        with pm.explore(network, points, browser=False) as explorer:
            left, right, low, high = explorer.scene.plane.window
            turn = np.linspace(0, 2 * np.pi, count)
            s = (left + right) / 2 + 0.2 * (right - left) * np.cos(turn)
            c = (low + high) / 2 + 0.2 * (high - low) * np.sin(turn)
            served = _served(explorer, s, c)
            computed = _computed(explorer.scene, s, c)
        slow = float(np.quantile(served, 0.95))
        rows.append(
            [
                name,
                f"{1e3 * np.median(computed):.1f}",
                f"{1e3 * np.median(served):.1f}",
                f"{1e3 * slow:.1f}",
                f"{FRAME / np.median(served):.1f}",
                f"{FRAME / slow:.1f}",
            ]
        )
    print_table(["network", "solver, ms", "served, ms", "95 % within, ms", "answers per frame", "slowest 5 %"], rows)


def _served(explorer: pm.Explorer, s: np.ndarray, c: np.ndarray) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", explorer.port)
    path, times = urlsplit(explorer.address).path, []
    for x, y in zip(s, c, strict=True):
        started = perf_counter()
        connection.request("GET", f"{path}answer?at={x},{y}")
        connection.getresponse().read()
        times.append(perf_counter() - started)
    connection.close()
    return times[5:]  # the first answers prepare stage 1


def _computed(scene: object, s: np.ndarray, c: np.ndarray) -> list[float]:
    answers, times = Answers(scene), []
    for x, y in zip(s, c, strict=True):
        started = perf_counter()
        answers.at((x, y))
        times.append(perf_counter() - started)
    return times[5:]


if __name__ == "__main__":
    main()
