"""ReLU networks: cells of the search against regions that exist, a mixed-integer solver, and trained networks.

1. Random networks small enough to list all regions: how many there are, how many have a tie (one critical point each, the foot
   of the perpendicular: local ED degree 1), how many lie within the margin, and how few cells the search bounds instead. The
   nearest tie over all regions must be the margin.
2. SCIP (`pip install pyscipopt`; left out where absent) on the same margins as mixed-integer programs, in a box of twice the
   margin.
3. With --mnist FOLDER (t10k-*.gz; needs torch): networks trained on the first 8000 test digits, margins of others.

    python benchmarks/relu.py --out results/relu --mnist FOLDER
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import common  # before NumPy, which it keeps to one thread
import numpy as np
from common import Array
from relu_strata import relu_strata

import polymargin as pm
from polymargin.margins import Margin
from polymargin.networks import Network, ReLUNetwork, from_torch
from polymargin.piecewise import linear_regions

SEEDS = 5
LISTED = ([2, 30, 3], [3, 20, 3], [5, 12, 3], [3, 8, 8, 3], [3, 6, 6, 6, 3])
SEARCHED = ([5, 30, 3], [10, 40, 3], [5, 10, 10, 10, 3], [10, 20, 20, 4])
INTEGER = ([3, 10, 3], [5, 15, 3], [5, 20, 3], [4, 6, 6, 3], [5, 8, 8, 3])
TRAINED = ([784, 50, 10], [784, 100, 10], [784, 50, 50, 10], [784, 40, 40, 40, 10])
DIGITS, TIMEOUT = 20, 60.0
PICTURE = ([2, 8, 3], 5)


def random_network(widths: Sequence[int], seed: int) -> tuple[Network, Array]:
    """Normal weights with variance 2 / inputs, biases of size one half, and a standard normal point."""
    generator = np.random.default_rng(seed)
    layers = [
        (generator.normal(size=(out, inputs)) * np.sqrt(2 / inputs), 0.5 * generator.normal(size=out))
        for inputs, out in pairwise(widths)
    ]
    return ReLUNetwork(layers), np.random.default_rng([seed, 1]).normal(size=widths[0])


def against_regions(widths: list[int]) -> list[str]:
    rows, worst = [], 0.0
    for seed in range(SEEDS):
        network, u = random_network(widths, seed)
        found: Margin = pm.margin(network, u, proof=False)
        started = perf_counter()
        regions = linear_regions(network)
        rivals = [c for c in range(network.class_count) if c != found.label]
        ties = [(region, rival) for region in regions for rival in rivals if region.tie(found.label, rival) is not None]
        nearest = [region.nearest_tie(u, found.label, rival) for region, rival in ties]
        met = [point for point in nearest if point is not None]
        listing = min((float(np.linalg.norm(point - u)) for point in met), default=math.inf)
        worst = max(worst, 0.0 if listing == found.radius else abs(listing - found.radius))
        within = sum(region.distance(u) < found.radius for region in regions)
        seconds = perf_counter() - started
        rows.append(
            (
                len(regions),
                len(ties),
                len(met),
                within,
                found.cells,
                found.regions,
                found.programs,
                found.seconds,
                seconds,
            )
        )
    middle = [median(column) for column in zip(*rows, strict=True)]
    name = "-".join(map(str, widths))
    return [name, *(f"{value:,.0f}" for value in middle[:7]), f"{middle[7]:.3f}", f"{middle[8]:.1f}", f"{worst:.0e}"]


def search_only(widths: list[int]) -> list[str]:
    found = [pm.margin(*random_network(widths, seed), proof=False, timeout=TIMEOUT) for seed in range(SEEDS)]
    existing = "–"
    if len(widths) == 3:  # hyperplanes in general position (Zaslavsky)
        existing = f"{sum(math.comb(widths[1], i) for i in range(widths[0] + 1)):,}"
    counts = [median(getattr(each, name) for each in found) for name in ("cells", "regions", "programs", "seconds")]
    done = sum(each.standing is pm.Standing.NUMERICAL for each in found)
    cells = [f"{value:,.0f}" for value in counts[:3]]
    return ["-".join(map(str, widths)), existing, *cells, f"{counts[3]:.3f}", f"{done} of {SEEDS}"]


def scip_margin(network: Network, u: Array, label: int, rival: int, reach: float) -> float:
    """min ‖x − u‖ subject to f_rival ≥ f_label in a box, one binary variable per neuron whose sign the box leaves open."""
    import pyscipopt as scip

    model = scip.Model()
    model.hideOutput()
    low, high = u - reach, u + reach
    inputs = [model.addVar(lb=float(a), ub=float(b)) for a, b in zip(low, high, strict=True)]
    steps: list[Any] = inputs
    for layer in network.chain.layers[:-1]:
        middle, width = layer((low + high) / 2), np.abs(layer.weights) @ ((high - low) / 2)
        low, high, after = middle - width, middle + width, []
        for row, shift, least, most in zip(layer.weights, layer.bias, low, high, strict=True):
            value = scip.quicksum(float(w) * v for w, v in zip(row, steps, strict=True)) + float(shift)
            active = model.addVar(lb=0.0, ub=max(float(most), 0.0))
            model.addCons(active >= value)
            if least >= 0:
                model.addCons(active <= value)
            elif most > 0:
                on = model.addVar(vtype="B")
                model.addCons(active <= value - float(least) * (1 - on))
                model.addCons(active <= float(most) * on)
            after.append(active)
        steps, low, high = after, np.maximum(low, 0.0), np.maximum(high, 0.0)
    last = network.chain.layers[-1]
    lead, behind = last.weights[rival] - last.weights[label], float(last.bias[label] - last.bias[rival])
    model.addCons(scip.quicksum(float(w) * v for w, v in zip(lead, steps, strict=True)) >= behind)
    square = model.addVar(lb=0.0)
    model.addCons(square >= scip.quicksum((v - float(c)) * (v - float(c)) for v, c in zip(inputs, u, strict=True)))
    model.setObjective(square)
    model.optimize()
    return math.sqrt(max(model.getObjVal(), 0.0)) if model.getStatus() == "optimal" else math.inf


def against_scip(widths: list[int]) -> list[str]:
    ours, theirs, worst = [], [], 0.0
    for seed in range(SEEDS):
        network, u = random_network(widths, seed)
        found = pm.margin(network, u, proof=False)
        if math.isinf(found.radius):
            continue
        ours.append(found.seconds)
        started = perf_counter()
        rivals = [c for c in range(network.class_count) if c != found.label]
        best = min(scip_margin(network, u, found.label, rival, 2 * found.radius) for rival in rivals)
        theirs.append(perf_counter() - started)
        worst = max(worst, abs(best - found.radius))
    name = "-".join(map(str, widths))
    ratio = sum(theirs) / sum(ours)
    return [name, f"{median(ours):.3f}", f"{median(theirs):.2f}", f"{ratio:.0f}", f"{worst:.0e}"]


def trained(widths: list[int], folder: Path) -> list[str]:
    import torch

    from polymargin.learning.idx import read_idx

    images = read_idx(folder / "t10k-images-idx3-ubyte.gz").reshape(-1, 784) / 255.0
    labels = read_idx(folder / "t10k-labels-idx1-ubyte.gz").astype(np.int64)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    parts: list[Any] = []
    for inputs, out in pairwise(widths):
        parts += [torch.nn.Linear(inputs, out), torch.nn.ReLU()]
    module = torch.nn.Sequential(*parts[:-1])
    optimiser = torch.optim.Adam(module.parameters(), 3e-3)
    x, y = torch.tensor(images[:8000], dtype=torch.float32), torch.tensor(labels[:8000])
    for _ in range(6):
        for batch in torch.randperm(8000).split(200):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(module(x[batch]), y[batch]).backward()
            optimiser.step()
    network = from_torch(module)
    right = float(np.mean(network.predict(images[8000:]) == labels[8000:]))
    found = pm.margin(network, images[8000 : 8000 + DIGITS], proof=False, timeout=TIMEOUT)
    done = [each for each in found if each.standing is pm.Standing.NUMERICAL]
    return [
        "-".join(map(str, widths)),
        f"{right:.3f}",
        f"{len(done)} of {DIGITS}",
        f"{median(each.radius for each in done):.4f}",
        f"{median(each.cells for each in found):.0f}",
        f"{median(each.regions for each in found):.0f}",
        f"{median(each.seconds for each in found):.2f}",
        f"{max(each.seconds for each in found):.1f}",
    ]


TABLES = {
    "Regions that exist, and cells that the search bounds": (
        "Medians of {seeds} random networks. *Ties*: pairs of a region and a rival whose tie is a hyperplane there, with one "
        "critical point each; *met*: those that meet their region; *within*: regions nearer than the margin. Last column: "
        "largest difference of the margin to the nearest tie over all regions.",
        "network regions ties met within cells single programs s s,listing difference",
    ),
    "Too many regions to list": (
        "Medians of {seeds} random networks; regions by Zaslavsky's formula for one hidden layer.",
        "network regions cells single programs s finished",
    ),
    "Against SCIP": (
        "Median seconds per margin over all rivals, ratio of the sums.",
        "network s,search s,SCIP ratio difference",
    ),
    "Trained on digits": (
        "Margins of digits 8000 to 8019 of MNIST's test set, the first 8000 trained on; {timeout:.0f} s per margin.",
        "network accuracy finished margin cells single s s,worst",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for README.md and the picture of the strata")
    parser.add_argument(
        "--mnist", type=Path, help="folder with t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz"
    )
    options = parser.parse_args()
    makers: list[Any] = [lambda: [against_regions(w) for w in LISTED], lambda: [search_only(w) for w in SEARCHED]]
    makers.append(lambda: [against_scip(w) for w in INTEGER] if _has("pyscipopt") else [])
    makers.append(lambda: [trained(w, options.mnist) for w in TRAINED] if options.mnist else [])
    sections = []
    for (title, (text, names)), make in zip(TABLES.items(), makers, strict=True):
        rows = make()
        if not rows:
            continue
        header = [name.replace(",", ", ") for name in names.split()]
        text = text.format(seeds=SEEDS, timeout=TIMEOUT)
        print(f"\n{title}\n{text}")
        common.print_table(header, rows)
        lines = [header, ["---"] * len(header), *rows]
        sections.append(f"## {title}\n\n{text}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines))
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        widths, seed = PICTURE
        network, _ = random_network(widths, seed)
        relu_strata(network, options.out / "strata.png", points=[[0.0, 1.75], [0.55, 0.1], [1.9, 1.0], [-0.5, -2.2]])
        when = datetime.now(UTC).strftime("%Y-%m-%d")
        command = " ".join(["python", *(word if word != str(options.mnist) else "FOLDER" for word in sys.argv)])
        head = (
            f"polymargin {pm.__version__}, {when}, `{command}`, one {platform.machine()} core; seeds 0 to {SEEDS - 1}."
        )
        picture = f"`strata.png`: the network {'-'.join(map(str, widths))} of seed {seed}, see docs/piecewise.md."
        page = "\n\n".join(["# ReLU networks", head, picture, *sections])
        (options.out / "README.md").write_text(page + "\n", encoding="utf-8")


def _has(module: str) -> bool:
    from importlib.util import find_spec

    return find_spec(module) is not None


if __name__ == "__main__":
    main()
