"""Faults injected into real runs of the command line, and what must hold after each.

A shot is one fault, chosen by (seed, number), and one undisturbed run of the same command in the same folder:

    kill    a signal at a random moment of `margin --checkpoint`, begun or continued, or of `verify`
    cut     the checkpoint or a file of the cache loses its end
    flip    one bit of the checkpoint, of a file of the cache or of the model is another
    limit   the run has little memory, few open files, or may not write large files

After the fault: status 0 or 1 only with exactly the answer of an undisturbed run, otherwise the status of the signal or 2 with
one sentence; and every byte of the checkpoint is where it was. After the second run: that answer, whatever the first one left
behind, and no file that nobody will ever use.

`python tests/faults/injection.py --count 10000 --seed 1 --output results/faults/summary.json` runs many and keeps the counts.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import polymargin as pm

ROWS = 12
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
ENDINGS = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGHUP: 129}


class Bench:
    """One model, its points, the truth about them, and a process that runs the command line."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.fresh = folder / "run", folder / "fresh"
        self.fresh.mkdir(parents=True)
        generator = np.random.default_rng(7)
        layers = [(generator.normal(size=(4, 2)), generator.normal(size=4)), generator.normal(size=(2, 4))]
        pm.PolynomialNetwork(layers, degree=3).save(self.fresh / "model.npz")
        np.save(self.fresh / "points.npy", generator.normal(size=(ROWS, 2)))
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, str(Path(__file__).parent / "zygote.py"), str(self.fresh)]
        self.zygote = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.words = {
            "margin": ["margin", "model.npz", "points.npy", "--json", "--checkpoint", "rows", "--threads", "2"],
            "verify": ["verify", "model.npz", "points.npy", "--json", "--radius", "0.5", "--threads", "2"],
        }
        self.truth: dict[str, Any] = {}
        self.seconds: dict[str, float] = {}
        for name in (*self.words, *self.words):  # the first run waits for the process to be ready
            self.start_over()
            started = time.perf_counter()
            status = self.run(name)
            self.seconds[name] = time.perf_counter() - started
            self.truth[name] = (status, self.answer())
        self.start_over()
        self.run("margin")
        for state in ("done", "half"):
            shutil.copytree(self.folder, self.fresh.parent / state)
        rows = self.rows().splitlines(keepends=True)
        (self.fresh.parent / "half" / "rows").write_bytes(b"".join(rows[: 1 + ROWS // 2]))

    def start_over(self, state: str = "fresh") -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.fresh.parent / state, self.folder)

    def run(self, name: str, number: int = 0, after: float = 0.0, limits: dict[str, int] | None = None) -> int:
        order = {"folder": str(self.folder), "words": self.words[name], "limits": limits or {}}
        assert self.zygote.stdin is not None
        assert self.zygote.stdout is not None
        print(json.dumps(order | {"signal": int(number), "after": after}), file=self.zygote.stdin, flush=True)
        return int(json.loads(self.zygote.stdout.readline()))

    def answer(self) -> Any:
        """What was printed, without times; None if it is not a whole answer."""
        try:
            data = json.loads((self.folder / "stdout").read_bytes())
        except ValueError:
            return None
        rows = data.get("margins") or data["verdicts"]
        return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]

    def rows(self) -> bytes:
        """The checkpoint as it is."""
        file = self.folder / "rows"
        return file.read_bytes() if file.exists() else b""

    def sentences(self) -> list[str]:
        return (self.folder / "stderr").read_text().splitlines()

    def close(self) -> None:
        with self.zygote:  # closes its standard input, which is the end of its work, and waits
            pass


def shot(bench: Bench, seed: int, number: int) -> tuple[str, str]:
    """Inject one fault and judge what comes of it; (kind, outcome), or AssertionError."""
    generator = np.random.default_rng([seed, number])
    kind = ("kill", "cut", "flip", "limit")[number % 4]
    name = "verify" if kind in ("kill", "limit") and generator.random() < 0.3 else "margin"
    states = ("fresh", "half") if kind in ("kill", "limit") else ("done",)
    bench.start_over(states[int(generator.integers(len(states)))])
    options: dict[str, Any] = {}
    allowed = {2}
    damaged = None
    if kind == "kill":
        chosen = SIGNALS[int(generator.integers(len(SIGNALS)))]
        options = {"number": chosen, "after": float(generator.uniform(0, bench.seconds[name]))}
        # A signal that comes before Python is ready for it, or when it is already leaving, ends the process by itself.
        allowed = {ENDINGS[chosen], -chosen}
    elif kind == "limit":
        name_of_limit = ("RLIMIT_AS", "RLIMIT_FSIZE", "RLIMIT_NOFILE")[int(generator.integers(3))]
        most = {"RLIMIT_AS": 40 << 20, "RLIMIT_FSIZE": 20_000, "RLIMIT_NOFILE": 12}[name_of_limit]
        options = {"limits": {name_of_limit: int(generator.integers(most))}}
    else:
        damaged = _damage(bench, generator, kind)
    before = bench.rows()
    status = bench.run(name, **options)
    assert bench.rows().startswith(before), (kind, options, damaged, "bytes of the checkpoint were lost")
    truth = bench.truth[name]
    if status in (0, 1):
        assert (status, bench.answer()) == truth, (kind, options, damaged, status)
        outcome = "the answer"
    else:
        assert status in allowed, (kind, options, damaged, status, bench.sentences())
        outcome = f"status {status}"
        if status > 0 and "RLIMIT_FSIZE" not in options.get("limits", {}):
            assert len(bench.sentences()) <= 2, bench.sentences()
            assert not any("Traceback" in line for line in bench.sentences())
    if damaged == "model.npz":
        shutil.copy(bench.fresh / "model.npz", bench.folder / "model.npz")
    again = bench.run(name)
    assert (again, bench.answer()) == truth, (kind, options, damaged, again, bench.sentences())
    assert not list(bench.folder.glob("cache/*.part"))
    return f"{kind} {damaged or name}", outcome


def _damage(bench: Bench, generator: np.random.Generator, kind: str) -> str:
    """Cut or flip one file of a finished run; its name."""
    names = ["rows", "cache"] if kind == "cut" else ["rows", "cache", "model.npz"]
    name = names[int(generator.integers(len(names)))]
    file = bench.folder / name
    if name == "cache":
        (file,) = file.iterdir()
        (bench.folder / "rows").unlink()  # otherwise nothing is computed, and the cache is not looked at
    content = bytearray(file.read_bytes())
    place = int(generator.integers(len(content)))
    if kind == "cut":
        del content[place:]
    else:
        content[place] ^= 1 << int(generator.integers(8))
    file.write_bytes(content)
    return name


def shots(
    folder: Path,
    count: int,
    seed: int,
    report: Callable[[Counter[tuple[str, str]]], None] | None = None,
    first: int = 0,
) -> Counter[tuple[str, str]]:
    """Many shots; how often each kind ended in what."""
    bench = Bench(folder)
    found: Counter[tuple[str, str]] = Counter()
    try:
        for number in range(first, first + count):
            found[shot(bench, seed, number)] += 1
            if report is not None and (number + 1) % 100 == 0:
                report(found)
    finally:
        bench.close()
    return found


def main() -> None:
    """A shot that goes wrong ends the run with its AssertionError; what was counted until then is kept."""
    parser = argparse.ArgumentParser(description="Inject faults into runs of the command line.")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first shot, where an earlier run ended")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)

    def report(found: Counter[tuple[str, str]]) -> None:
        table = {f"{kind}: {outcome}": number for (kind, outcome), number in sorted(found.items())}
        summary = {
            "version": pm.__version__,
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "seed": arguments.seed,
            "first": arguments.first,
            "shots": sum(found.values()),
            "outcomes": table,
        }
        arguments.output.write_text(json.dumps(summary, indent=1) + "\n")

    with tempfile.TemporaryDirectory(prefix="polymargin-faults-") as folder:
        report(shots(Path(folder), arguments.count, arguments.seed, report, arguments.first))


if __name__ == "__main__":
    main()
