"""`--cluster`: real worker processes behind a scheduler, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli.test_cli import run
from problems import random_network


def test_commands_share_their_work_with_a_cluster(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    random_network([2, 4, 2], 3, seed=1).save(tmp_path / "model.npz")
    np.save(tmp_path / "points.npy", np.random.default_rng(0).normal(size=(6, 2)))
    files = [tmp_path / "model.npz", tmp_path / "points.npy"]
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options, silence_logs=50) as cluster:
        where = ["--cluster", cluster.scheduler_address, "--json"]
        for command, name in (
            (["margin"], "margins"),
            (["verify", "--radius", "0.1"], "verdicts"),
            (["margin"], "margins"),
        ):
            words = [command[0], *files, *command[1:]]
            alone, shared = (json.loads(run(*words, *more).stdout)[name] for more in (["--json"], where))
            for one, other in zip(alone, shared, strict=True):
                assert one["standing"] == other["standing"]
                assert one["upper"] == pytest.approx(other["upper"], rel=1e-9)
        counted = run("expected", "--dimension", "2", "--degree", "3", "--simulate", "40", *where)
        assert json.loads(counted.stdout)["simulation"]["samples"] == 40
        both = run("margin", *files, "--cluster", cluster.scheduler_address, "--jobs", "2")
        assert (both.returncode, both.stderr.count("\n")) == (2, 1)


def test_no_scheduler_is_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    random_network([2, 4, 2], 3, seed=1).save(tmp_path / "model.npz")
    np.save(tmp_path / "points.npy", np.zeros((1, 2)))
    for address, sentence in (
        ("no address", "not an address"),
        ("tcp://127.0.0.1:1", "no Dask scheduler answers there"),
    ):
        found = run("margin", tmp_path / "model.npz", tmp_path / "points.npy", "--cluster", address)
        assert (found.returncode, found.stdout) == (2, "")
        assert sentence in found.stderr
