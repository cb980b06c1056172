"""Images of the MNIST test set in L∞ ∩ [0, 1]: how many are decided, with what certificate, in how many CPU seconds.

The networks of the zoo, and VPN's own Π-net at the radii that its authors report (NeurIPS 2022). Rows are written as they
finish, one JSON object each, so that a run can be stopped and continued.

Run: python benchmarks/boxes.py ZOO MNIST OUT --network vpn_ccp4.npz --images 100 --radii 0.005,0.01,0.026 --check
     python benchmarks/boxes.py ZOO MNIST OUT --network lola.onnx --first 8000 --images 10 --radii 2/255,8/255
     python benchmarks/boxes.py ZOO MNIST OUT --table
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any

import common
import numpy as np
from reading import readers

import polymargin as pm
from polymargin_checker.checker import check


def images(folder: Path) -> np.ndarray:
    """Pixels in [0, 1], one row per image."""
    (file,) = folder.glob("t10k-images*")
    content = gzip.decompress(file.read_bytes())
    return np.frombuffer(content, dtype=np.uint8, offset=16).reshape(-1, 784) / 255.0


def answer(
    network: Any, model: Path, image: np.ndarray, radius: float, timeout: float, checked: bool
) -> dict[str, Any]:
    """One verdict, and what the checker says of it."""
    started = process_time()
    verdict = pm.verify(network, image, radius, within=pm.Linf(domain=(0, 1)), timeout=timeout, workers=1)
    row: dict[str, Any] = {"answer": verdict.answer.name, "seconds": round(process_time() - started, 3)}
    row |= {"reason": verdict.reason, "checked": None, "check_seconds": None}
    if checked and verdict.certificate is not None:
        with tempfile.TemporaryDirectory() as folder:
            file = verdict.certificate.save(Path(folder) / "proof.json")
            started = process_time()
            row["checked"] = check(model, file).accepted
            row["check_seconds"] = round(process_time() - started, 3)
    return row


def run(options: argparse.Namespace) -> None:
    network = readers(options.zoo)[options.network]()
    everything = images(options.mnist)
    radii = [float(Fraction(text)) for text in options.radii.split(",")]
    known = {(row["network"], row["image"], row["radius"]) for row in rows(options.out)}
    with tempfile.TemporaryDirectory() as folder, options.out.open("a", encoding="utf-8") as stream:
        model = Path(folder) / "model.npz"
        network.save(model)
        for number in range(options.first, options.first + options.images):
            for radius in radii:
                about = {"network": options.network, "image": number, "radius": radius}
                if tuple(about.values()) not in known:
                    found = answer(network, model, everything[number], radius, options.timeout, options.check)
                    stream.write(json.dumps(about | found) + "\n")
                    stream.flush()


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def table(file: Path) -> None:
    groups: dict[tuple[str, float], list[dict[str, Any]]] = defaultdict(list)
    for row in rows(file):
        groups[row["network"], row["radius"]].append(row)
    lines = []
    for (name, radius), group in sorted(groups.items()):
        counts = [sum(row["answer"] == word for row in group) for word in ("ROBUST", "VULNERABLE", "UNKNOWN")]
        checked = [row["checked"] for row in group if row["checked"] is not None]
        seconds = np.array([row["seconds"] for row in group])
        times = f"{np.median(seconds):.2f} / {seconds.max():.2f} s"
        lines.append(
            [name, f"{radius:.4g}", str(len(group)), *map(str, counts), times, f"{sum(checked)} of {len(checked)}"]
        )
    heads = [
        "network",
        "radius",
        "images",
        "robust",
        "vulnerable",
        "unknown",
        "median / longest",
        "accepted by the checker",
    ]
    common.print_table(heads, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo", type=Path)
    parser.add_argument("mnist", type=Path)
    parser.add_argument("out", type=Path, help="JSON lines; rows that are there already are not asked again")
    parser.add_argument("--network", default="vpn_ccp4.npz")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--radii", default="0.005,0.01,0.026")
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--check", action="store_true", help="have every certificate checked")
    parser.add_argument("--table", action="store_true", help="print what is there, ask nothing")
    options = parser.parse_args()
    if not options.table:
        run(options)
    table(options.out)


if __name__ == "__main__":
    main()
