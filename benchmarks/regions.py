"""Proved radii of deployed networks in four regions: the part of the nearest counterexample that is proved, and its time.

    python benchmarks/regions.py --networks tenseal,orion_mlp --images 8000,8100 --timeout 60 --jobs 2 --out regions.json

Run it with OMP_NUM_THREADS=1 and OPENBLAS_NUM_THREADS=1: one thread for each image.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import polymargin as pm
from polymargin.deadlines import Deadline
from polymargin.margins.provers import bound
from polymargin.regions import L2, Linf
from polymargin.relaxation.attack import nearest_counterexample

SHARED = Path(os.environ.get("POLYMARGIN_SHARED", Path(__file__).resolve().parents[2] / "shared"))
REGIONS = {"L2": L2(), "L2 in [0,1]": L2(domain=(0, 1)), "Linf": Linf(), "Linf in [0,1]": Linf(domain=(0, 1))}
POLYNOMIAL = ["digits_recognizer", "gelu4_mlp", "tenseal", "orion_mlp", "cubic_mlp", "cryptonets", "lola"]
RELU = ["relu_mlp", "relu_mlp_pgd", "relu_deep", "relu_deep_pgd", "relu_conv"]


def images() -> np.ndarray:
    with gzip.open(SHARED / "data/mnist/t10k-images-idx3-ubyte.gz") as file:
        content = file.read()
    return np.frombuffer(content, np.uint8, offset=16).reshape(-1, 784) / 255.0


def network(name: str) -> Any:
    path = next(p for p in (SHARED / "zoo").iterdir() if p.stem == name)
    return pm.load(path, activation=2) if path.suffix == ".pth" else pm.load(path)


def measure(name: str, region_name: str, image: int, timeout: float) -> dict[str, Any]:
    """Attack an image and prove a radius against all rivals."""
    net, u = network(name), images()[image].astype(float)
    region = REGIONS[region_name].in_dimension(len(u))
    label = int(np.argmax(net(u)))
    rivals = [k for k in range(net.class_count) if k != label]
    started = time.perf_counter()
    nearest = nearest_counterexample(net, u, label, rivals, region)
    attacked = time.perf_counter()
    row = {"network": name, "region": region_name, "image": image, "attack_seconds": attacked - started}
    if nearest is None:
        return row
    found = bound(net, u, label, rivals, region, limit=nearest.distance, deadline=Deadline.after(timeout))
    return {
        **row,
        "attack": nearest.distance,
        "proved": found.radius / nearest.distance,
        "seconds": time.perf_counter() - attacked,
        "bytes": len(json.dumps(list(found.proofs.values()))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", default=",".join(POLYNOMIAL + RELU))
    parser.add_argument("--regions", default=";".join(REGIONS))
    parser.add_argument("--images", default="8000,8100,8003,8250,8499,8500,8750,8999")
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    tasks = [
        (name, region, int(image), given.timeout)
        for name in given.networks.split(",")
        for region in given.regions.split(";")
        for image in given.images.split(",")
    ]
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(given.jobs) as pool:
        for done in as_completed([pool.submit(measure, *task) for task in tasks]):
            rows.append(done.result())
            print(json.dumps(rows[-1]), flush=True)
    print(f"\n{'network':18s} {'region':14s} {'proved: median':>14s} {'least':>7s} {'seconds':>8s} {'attack':>7s}")
    for name in given.networks.split(","):
        for region in given.regions.split(";"):
            own = [row for row in rows if row["network"] == name and row["region"] == region and "proved" in row]
            if own:
                proved, seconds, attack = (
                    np.array([r[k] for r in own]) for k in ("proved", "seconds", "attack_seconds")
                )
                print(
                    f"{name:18s} {region:14s} {np.median(proved):14.4f} {proved.min():7.3f} {np.median(seconds):8.1f}"
                    f" {np.median(attack):7.1f}"
                )
    if given.out:
        about = {"date": date.today().isoformat(), "version": pm.__version__, "timeout": given.timeout}
        given.out.write_text(json.dumps({**about, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
