"""python tools/mutation [FILE.py ...]: do the tests of the checker notice when it is weakened?

Every mutant that they do not notice has to be in results/mutations/survivors.txt with the reason why it proves nothing
false. Status 1: there is a survivor that is not on the list.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import polymargin as pm  # noqa: E402

# The solver as it is installed, with its core; the checker from here, where it is changed.
sys.path.insert(0, str(ROOT / "src"))

from mutation.by_hand import named_weakenings  # noqa: E402
from mutation.memory import Memory  # noqa: E402
from mutation.mutants import mutants  # noqa: E402
from mutation.session import MutationSession  # noqa: E402

PACKAGE = "polymargin_checker"
TESTS = ["tests/checker"]
LIST = ROOT / "results" / "mutations" / "survivors.txt"
LAST = ROOT / "build" / "mutation" / "new_survivors.txt"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tools/mutation", description=__doc__)
    parser.add_argument("files", nargs="*", help="files of the checker; all of them if none is named")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="what has to notice")
    parser.add_argument("--again", action="store_true", help="the mutants on the list, which are left out otherwise")
    parser.add_argument("--quick", action="store_true", help="what is not noticed soon has survived")
    parser.add_argument("--last", action="store_true", help="the new survivors of the last run, and nothing else")
    arguments = parser.parse_args()
    listed = dict(line.rsplit(" | ", 1) for line in LIST.read_text(encoding="utf-8").splitlines() if " | " in line)
    package = ROOT / "src" / PACKAGE
    every = {path.relative_to(package).as_posix(): path for path in sorted(package.rglob("*.py"))}
    if unknown := [name for name in arguments.files if name not in every]:
        parser.error(f"the checker has no file {unknown[0]}; files are named like relaxation/tree.py")
    files = {name: path for name, path in every.items() if not arguments.files or name in arguments.files}
    everything = [mutant for name, path in files.items() for mutant in mutants(path, name)]
    everything += [mutant for mutant in named_weakenings(package) if mutant.file in files]
    everything = list({mutant.key: mutant for mutant in everything}.values())
    seen = {key: key.split(" | ")[0] for key in listed.keys() - {mutant.key for mutant in everything}}
    gone = sorted(key for key, file in seen.items() if file in files or file not in every)
    for key in gone:
        print(f"on the list, but its function has changed, or there is no such mutant any more: {key}")
    everything = [mutant for mutant in everything if (mutant.key in listed) == arguments.again]
    if arguments.last:
        wanted = set(LAST.read_text(encoding="utf-8").splitlines())
        everything = [mutant for mutant in everything if mutant.key in wanted]
    memory = Memory(ROOT)
    for name in ("attack", "margin", "critical_points", "verify"):
        memory.remember(pm, name)
    tell = functools.partial(print, flush=True)
    session = MutationSession(PACKAGE, everything, arguments.jobs, arguments.quick, memory, tell)
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        options = ["-q", "-s", "--rootdir", str(ROOT), "--basetemp", f"{folder}/tests", "-p", "no:cacheprovider"]
        options += ["--assert=plain"]  # nobody reads why a test failed
        options += ["-o", "tmp_path_retention_policy=failed"]  # none is left, or looking for the next name takes long
        pytest.main([*options, *arguments.tests], [session])
    if len(session.killers) != len(everything):
        print("the tests did not run; see above")
        return 2
    new = [mutant for mutant in session.survivors if mutant.key not in listed]
    LAST.write_text("".join(f"{mutant.key}\n" for mutant in new), encoding="utf-8")
    for mutant in new:
        print(f"NEW SURVIVOR: {mutant.key}")
    for key in sorted(listed.keys() & {m.key for m in everything} - {m.key for m in session.survivors}):
        print(f"on the list, but noticed by now: {key}")
    minutes = (time.perf_counter() - begin) / 60
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, polymargin {pm.__version__}: {len(everything)} mutants, "
        f"{len(session.survivors)} survive, {len(new)} of them new, {minutes:.0f} minutes"
    )
    return 1 if new or gone else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # what was remembered for the mutants is not taken apart
