"""Make reports, an exported explorer and their screenshots, for which a Chromium and playwright are needed, in build/datasets.

python tools/make_dataset_reports.py
python tools/make_dataset_reports.py --zoo ZOO --data MNIST.npz --work FOLDER     # the zoo's networks too: a quarter of an hour

ZOO is the folder of networks that `benchmarks/deployed.py` takes, MNIST.npz holds the 10,000 test images, `points` and `labels`;
FOLDER keeps finished rows and the zoo's pages, which show images of the data; results/datasets has the table alone.
"""

from __future__ import annotations

import argparse
import csv
import shutil
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import polymargin as pm
from polymargin.explorer import Scene
from polymargin.explorer.export import export_page
from polymargin.reports import Report

ROOT = Path(__file__).parent.parent
PAGES, RESULTS = ROOT / "build" / "datasets", ROOT / "results" / "datasets"
# File -> first image, images, seconds per image. Degree two is exact and quick; for the others sizes are for two cores.
ZOO = {
    "digits_recognizer.pth": (0, 10_000, 5.0),
    "tenseal.onnx": (8_000, 10, 5.0),
    "orion_mlp.onnx": (8_000, 10, 5.0),
    "gelu4_mlp.onnx": (8_000, 10, 5.0),
    "cubic_mlp.onnx": (8_000, 10, 5.0),
    "cryptonets.onnx": (8_000, 4, 40.0),
    "lola.onnx": (8_000, 4, 60.0),
    "vpn_ccp4.npz": (8_000, 2, 60.0),
    "orion_lenet.onnx": (8_000, 2, 60.0),
}
# A screenshot: width, height, colour scheme.
SHOTS = {
    "desktop": (1280, 1400, "light"),
    "desktop-dark": (1280, 1400, "dark"),
    "phone": (390, 1500, "light"),
    "phone-dark": (390, 1500, "dark"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--zoo", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("build/datasets"))
    options = parser.parse_args()
    PAGES.mkdir(parents=True, exist_ok=True)
    options.work.mkdir(parents=True, exist_ok=True)
    digits().save(PAGES / "digits.html")
    data = Path(str(files("polymargin") / "data"))
    moons = Scene.of(pm.load(data / "moons.npz"), np.load(data / "moons_points.npz")["points"], title="Two moons")
    export_page(moons, PAGES / "explore-moons.html")
    pages = {"digits": PAGES / "digits.html", "explore-moons": PAGES / "explore-moons.html"}
    if options.zoo is not None:
        zoo(options.zoo, options.data, options.work)
    screenshots(pages)


def digits() -> Report:
    """The network of docs/report.md on all images that it was not trained with."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    images, right = load_digits(return_X_y=True)
    images = images / 16
    model = make_pipeline(PolynomialFeatures(2), LogisticRegression(C=0.1, max_iter=300))
    model.fit(images[:1200], right[:1200])
    command = "python tools/make_dataset_reports.py"
    title = "Digits of scikit-learn: a polynomial of degree two"
    made = pm.report(pm.from_sklearn(model), images[1200:], right[1200:], title=title)
    return replace(made, about=replace(made.about, command=command))


def zoo(folder: Path, data: Path, work: Path) -> None:
    """A page per network in the folder of work, one figure and one table of all in the results."""
    found = np.load(data)
    figure = Figure(figsize=(12.5, 5.4), layout="constrained")
    panels = figure.subplots(2, 5).ravel()
    lines: list[list[Any]] = []
    for axes, (file, (first, count, seconds)) in zip(panels, ZOO.items(), strict=False):
        name = file.partition(".")[0]
        network = _read(folder / file)
        made = pm.report(
            network,
            found["points"][first : first + count],
            found["labels"][first : first + count],
            title=f"{file} on MNIST",
            timeout=seconds,
            checkpoint=work / f"{name}.jsonl",
        )
        made.save(work / f"{name}.html")
        pm.plots.robust_accuracy(axes, made.margins, made.labels)
        axes.get_legend().remove()
        axes.set_title(f"{name}, {count:,} image{'s' if count > 1 else ''}", fontsize="medium")
        closed = np.median([m.lower / m.upper for m in made.margins])
        at = [f"{made.accuracy.at(r):.3f}" for r in (0.25, 0.5, 1.0)]
        spent = np.median([m.seconds for m in made.margins])
        lines.append(
            [name, count, f"{made.accuracy.clean:.3f}", *at, f"{made.median:.3f}", f"{closed:.3f}", f"{spent:.3g}"]
        )
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    named = {label: handle for label, handle in handles.items() if not label.startswith("clean")}
    panels[-1].legend(named.values(), named.keys(), loc="center", frameon=False)
    panels[-1].set_axis_off()
    figure.savefig(PAGES / "zoo.png", dpi=110)
    with (RESULTS / "zoo.csv").open("w", encoding="utf-8", newline="") as table:
        names = ["network", "images", "clean", "certified 0.25", "certified 0.5", "certified 1", "median lower bound"]
        csv.writer(table).writerows([[*names, "median lower / upper", "median seconds an image"], *lines])


def _read(file: Path) -> Any:
    if file.suffix == ".npz":  # the published arrays of a Π-net
        with np.load(file) as arrays:
            return pm.pi_net([arrays[f"U{k}"] for k in range(1, 5)], arrays["C"], arrays["C_bias"])
    return pm.load(file, activation="square") if file.suffix == ".pth" else pm.load(file)


def screenshots(pages: dict[str, Path]) -> None:
    """Each page at the width of a desk and of a phone, light and dark."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, page in pages.items():
            for kind, (width, height, scheme) in SHOTS.items():
                explorer = name.startswith("explore")
                size = {"width": width, "height": 960 if explorer and width > 500 else height if not explorer else 760}
                opened = browser.new_page(viewport=size, color_scheme=scheme)
                opened.goto(page.resolve().as_uri())
                opened.locator("body[data-settled=true]" if explorer else "#table tbody tr").first.wait_for()
                opened.evaluate(
                    "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
                )
                opened.screenshot(path=PAGES / f"{name}-{kind}.png")
                opened.close()
        browser.close()


if __name__ == "__main__":
    main()
