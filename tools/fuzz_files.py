"""Damaged files of every kind that polymargin reads: each one must be read or refused in one sentence.

    python tools/fuzz_files.py --count 100000 --seed 0

Real files are made first, then changed at random: bytes, blocks, numbers; inside archives entry by entry, inside ONNX
files field by field, inside JSON value by value. Mutation i of a seed is always the same. The reading happens in a process
of its own with a limit on memory and on time per file, so a crash, a hang or a flood of memory is seen, counted and told
with its number. Exit status 0 means that nothing of the kind happened.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from fuzz_corpus import make_corpus
from fuzz_damage import damaged

import polymargin as pm
from polymargin.errors import PolymarginError

KINDS = (
    *(
        "npz",
        "attention",
        "products",
        "plain-npz",
        "safetensors",
        "onnx",
        "vnnlib-2.0",
        "vnnlib-1.0",
        "certificate",
        "checked-model",
        "points-csv",
        "points-npy",
    ),
    *("instances", "torch", "plain-torch", "skops", "experiment"),
)
WARM_UP = 3 * len(KINDS)  # after so many files everything that is needed has been imported


def read(kind: str, content: bytes, source: str, folder: Path, corpus: Path) -> str:
    """Read a damaged file as the package does: 'accepted' or 'refused'; anything else is raised."""
    from polymargin.cli.points import read_points
    from polymargin.vnnlib import read_query
    from polymargin.vnnlib.competition import read_instances

    if kind == "experiment":
        for name in ("model_config.json", "model_weights.h5"):
            (folder / name).write_bytes(content if name == source else (corpus / "experiment" / name).read_bytes())
        return _outcome(lambda: pm.load(folder))
    file = folder / f"damaged{Path(source).suffix}"
    file.write_bytes(content)
    if kind in ("certificate", "checked-model"):
        from polymargin_checker.checker import check

        model = corpus / ("square.npz" if source == "robust.json" else "cubic.npz") if kind == "certificate" else file
        verdict = check(model, file if kind == "certificate" else corpus / "robust.json")
        if "\n" in verdict.reason or "could not finish" in verdict.reason:
            raise AssertionError(f"not one sentence: {verdict.reason!r}")
        return "accepted" if verdict.accepted else "refused"
    if kind in ("plain-npz", "safetensors", "plain-torch"):
        return _outcome(lambda: pm.load(file, activation="square"))
    readers = {
        "points-csv": read_points, "points-npy": read_points, "instances": read_instances, "vnnlib-1.0": read_query,
        "vnnlib-2.0": read_query,
    }  # fmt: skip
    return _outcome(lambda: readers.get(kind, pm.load)(file))


def _outcome(reader: Any) -> str:
    try:
        reader()
    except PolymarginError as error:
        if not str(error).strip() or "\n" in str(error).strip():
            raise AssertionError(f"not one sentence: {error!r}") from error
        return "refused"
    return "accepted"


# -- workers ---------------------------------------------------------------------------------------


def work(first: int, end: int, options: Any, corpus: dict[str, list[Path]], pipe: Any, other_end: Any) -> None:
    """Mutations first, first + 1, … below end; every outcome goes through the pipe."""
    other_end.close()  # so that this process ends when the one that listens does
    home = next(iter(corpus.values()))[0].parent

    def late(*_: Any) -> None:
        raise TimeoutError(f"more than {options.seconds} s")

    signal.signal(signal.SIGALRM, late)
    kinds = [kind for kind in KINDS if kind in corpus and kind in options.kinds]
    limited = False
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(first, end):
            chance = random.Random(f"{options.seed}:{number}")
            kind = kinds[number % len(kinds)]
            pipe.send((number, kind, None, "", 0.0))
            content, source = damaged(kind, corpus[kind], chance)
            started = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, options.seconds)
            try:
                outcome, detail = read(kind, content, source, Path(scratch), home), ""
            except BaseException as error:
                outcome, detail = type(error).__name__, traceback.format_exc()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            pipe.send((number, kind, outcome, detail, time.perf_counter() - started))
            if not limited and number >= first + WARM_UP:
                _limit_memory(options.megabytes)
                limited = True


def _limit_memory(megabytes: int) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = used + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def run(options: Any) -> int:
    """All mutations; the number of failures."""
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    failures: list[str] = []
    slowest = (0.0, -1, "")
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        corpus = make_corpus(Path(folder))
        position, end = options.first, options.first + options.count
        while position < end:
            receiving, sending = context.Pipe(duplex=False)
            worker = context.Process(target=work, args=(position, end, options, corpus, sending, receiving))
            worker.start()
            sending.close()
            last: tuple[int, str] = (position, "")
            while True:
                try:
                    message = receiving.recv() if receiving.poll(4 * options.seconds + 30) else None
                except EOFError:
                    break
                if message is None:
                    worker.kill()
                    break
                number, kind, outcome, detail, seconds = message
                last = (number, kind)
                if outcome is None:
                    continue
                counts[kind, outcome] += 1
                position = number + 1
                slowest = max(slowest, (seconds, number, kind))
                if outcome not in ("accepted", "refused"):
                    failures.append(f"mutation {number} ({kind}): {outcome}\n{detail}")
                    print(failures[-1], file=sys.stderr, flush=True)
            worker.join()
            if position < end and last[0] >= position:
                how = f"exit status {worker.exitcode}"
                counts[last[1], "crashed or hung"] += 1
                failures.append(f"mutation {last[0]} ({last[1]}): the process ended with {how}")
                print(failures[-1], file=sys.stderr, flush=True)
                position = last[0] + 1
    _report(counts, slowest, failures, options)
    return len(failures)


def _report(counts: Any, slowest: tuple[float, int, str], failures: list[str], options: Any) -> None:
    print(f"{sum(counts.values())} mutations, seed {options.seed}, {len(failures)} failures")
    print(f"slowest {slowest[0]:.2f} s (mutation {slowest[1]}, {slowest[2]})")
    for kind in KINDS:
        row = {outcome: count for (name, outcome), count in sorted(counts.items()) if name == kind}
        if row:
            print(f"{kind:15} {', '.join(f'{count} {outcome}' for outcome, count in row.items())}")


def parsed(arguments: list[str] | None = None) -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="number of mutations")
    parser.add_argument("--first", type=int, default=0, help="number of the first mutation")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0, help="time per file")
    parser.add_argument("--megabytes", type=int, default=1024, help="memory beyond what the imports need")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(1 if run(parsed()) else 0)
