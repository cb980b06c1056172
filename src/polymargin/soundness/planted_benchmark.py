"""The paper's benchmark as a folder: planned first, then trained."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from polymargin.errors import InputError
from polymargin.networks.writers.to_onnx import to_onnx
from polymargin.soundness.benchmark_files import (
    CLEAN,
    UNVERIFIABLE,
    Instance,
    read_header,
    write_header,
    write_instances,
)
from polymargin.soundness.planted_training import PlantedNetwork, plant
from polymargin.soundness.settings import Plan, Setting
from polymargin.work import Workers, completed

EDITION = "planted"


def generate_benchmark(
    directory: str | Path, settings: Sequence[Setting], plan: Plan | None = None, *, powers: str = "Pow"
) -> Path:
    """Write down what is to be trained. `powers` is how z^d is spelled in the ONNX files: 'Pow' or 'Mul'."""
    folder = Path(directory)
    names = [setting.name for setting in settings]
    if not names or len(set(names)) != len(names):
        raise InputError(f"{len(names)} settings, {len(set(names))} different; expected at least one, each once")
    if powers not in ("Pow", "Mul"):
        raise InputError(f"powers {powers!r}; expected 'Pow' or 'Mul'")
    data = {"powers": powers, "plan": asdict(plan or Plan()), "settings": [setting.to_dict() for setting in settings]}
    write_header(folder, EDITION, data)
    return folder


def train_benchmark(
    directory: str | Path,
    *,
    executor: Workers | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[PlantedNetwork]:
    """Train every network of the plan and write models, queries, instances and ground truth."""
    folder = Path(directory)
    powers, plan, settings = _read_plan(folder)
    found: dict[int, PlantedNetwork] = {}
    # A pool cannot carry the caller's function to another process.
    work = partial(plant, plan=plan, progress=None if executor is not None else progress)
    for index, trained in completed(work, settings, executor):
        found[index] = trained
        if progress is not None:
            progress(f"{trained.setting.name}: planted at attempt {trained.attempt} in {trained.seconds:.1f} s")
    networks = [found[index] for index in range(len(settings))]
    write_planted(folder, networks, plan, powers)
    return networks


def write_planted(folder: Path, networks: Sequence[PlantedNetwork], plan: Plan, powers: str) -> None:
    """Write the trained networks, their queries and the results of training."""
    for part in ("models", "onnx"):
        (folder / part).mkdir(exist_ok=True)
    for trained in networks:
        trained.network.save(folder / _model(trained))
        to_onnx(trained.network, folder / _onnx(trained), powers=powers)
    instances = [instance for trained in networks for instance in planted_instances(trained)]
    write_instances(folder, instances, {_model(trained): trained.setting.classes for trained in networks})
    with (folder / "training.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["network", "seed", "failed_attempts", "epochs", "seconds"])
        for item in networks:
            writer.writerow([item.setting.name, plan.seed, item.attempt, plan.epochs, f"{item.seconds:.1f}"])


def planted_instances(trained: PlantedNetwork) -> list[Instance]:
    """Return the unverifiable instances and then the clean ones."""
    data, setting = trained.data, trained.setting
    return [
        Instance(
            onnx=_onnx(trained),
            vnnlib=f"vnnlib/{setting.name}-{index}.vnnlib",
            model=_model(trained),
            kind=UNVERIFIABLE if index < setting.unverifiable else CLEAN,
            truth="sat" if index < setting.unverifiable else "",
            radius=setting.epsilon,
            label=int(data.labels[index]),
            point=point,
            counterexample=data.counterexamples[index] if index < setting.unverifiable else None,
        )
        for index, point in enumerate(data.points)
    ]


def _model(trained: PlantedNetwork) -> str:
    return f"models/{trained.setting.name}.npz"


def _onnx(trained: PlantedNetwork) -> str:
    return f"onnx/{trained.setting.name}.onnx"


def _read_plan(folder: Path) -> tuple[str, Plan, list[Setting]]:
    header: dict[str, Any] = read_header(folder)
    if header.get("edition") != EDITION:
        raise InputError(f"{folder} is of the edition {header.get('edition')!r}, which needs no training")
    try:
        settings = [Setting.from_dict(item) for item in header["settings"]]
        return header["powers"], Plan(**header["plan"]), settings
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder / 'benchmark.json'}: not a plan ({error})") from None
