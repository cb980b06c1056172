"""Chambers in the explorer while its window moves: seconds a frame, through the function that answers the page.

Two networks: attention (2, 2, 1, 1), 17 critical points, and a shallow cubic one of two inputs and six neurons, 9. A frame is the
answer to one question of the page, from the query to the JSON that goes out; its raster is filled from up to 12,000 samples.

    python benchmarks/frames.py [--frames 20]
"""

from __future__ import annotations

import argparse
import json
from time import perf_counter

import common  # before NumPy
import numpy as np

from polymargin import gpu
from polymargin.explorer.application import Application
from polymargin.explorer.scene import Scene
from polymargin.networks import Network
from polymargin.networks.attention import random_attention

WINDOW = (-2.0, 2.0, -2.0, 2.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--frames", type=int, default=20)
    options = parser.parse_args()
    print(gpu.description())
    generator = np.random.default_rng(0)
    networks = {
        "attention (2, 2, 1, 1)": random_attention(2, 2, 1, 1, seed=1),
        "shallow (2, 6), z³": common.network(2, [6], 3, generator),
    }
    rows = [frames(name, network, options.frames) for name, network in networks.items()]
    common.print_table(["network", "samples", "first", "median", "worst", "frames a second"], rows)


def frames(name: str, network: Network, count: int) -> list[str]:
    scene = Scene.of(network, None, window=WINDOW)
    application = Application(scene, "token", lambda: frozenset({"here"}))
    seconds = []
    for frame in range(count + 1):
        shift = 0.05 * frame
        window = ",".join(f"{end + shift:.4f}" for end in WINDOW)
        environ = {
            "REQUEST_METHOD": "GET",
            "HTTP_HOST": "here",
            "PATH_INFO": "/token/chambers",
            "QUERY_STRING": f"label=0&rival=1&window={window}",
        }
        status: list[str] = []
        started = perf_counter()
        body = b"".join(application(environ, lambda line, headers, status=status: status.append(line)))
        seconds.append(perf_counter() - started)
        answer = json.loads(body)
        assert status == ["200 OK"], answer
    typical = float(np.median(seconds[1:]))
    samples = f"{answer['size']} × {answer['size']}"
    return [name, samples, *(f"{s:.3f} s" for s in (seconds[0], typical, max(seconds[1:]))), f"{1 / typical:.1f}"]


if __name__ == "__main__":
    main()
