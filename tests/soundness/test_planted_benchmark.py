"""The paper's kind of benchmark, trained small: files for everybody, and every answer right."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import polymargin as pm
from polymargin.soundness import (
    generate_benchmark,
    paper_settings,
    read_instances,
    read_results,
    score,
    train_benchmark,
)
from polymargin.soundness.checking import proved
from polymargin.soundness.planting import squared_distance
from polymargin.soundness.verification import check_agreement
from polymargin.standing import Standing


def outcomes(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "outcomes.csv").open(newline="") as lines:
        return {row["vnnlib"]: row for row in csv.DictReader(lines)}


def test_counterexamples_are_where_they_should_be(planted: Path) -> None:
    instances = read_instances(planted)
    assert [i.kind for i in instances].count("unverifiable") == 8
    assert len(instances) == 15
    for instance in instances:
        network = pm.load(planted / instance.model)
        logits = network.exact_logits(instance.point)
        assert logits.index(max(logits)) == instance.label
        if instance.kind == "unverifiable":
            assert instance.counterexample is not None
            square = squared_distance(instance.counterexample, instance.point)
            assert Fraction(0.979) ** 2 < square / Fraction(instance.radius) ** 2 <= 1
            there = network.exact_logits(instance.counterexample)
            assert there[instance.label] < max(there)
        else:
            assert instance.counterexample is None


def test_onnx_files_hold_the_same_weights(planted: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    for instance in {i.model: i for i in read_instances(planted)}.values():
        network, imported = pm.load(planted / instance.model), pm.load(planted / instance.onnx)
        assert imported.fingerprint == network.fingerprint
        session = runtime.InferenceSession(planted / instance.onnx, providers=["CPUExecutionProvider"])
        points = np.random.default_rng(0).uniform(-1, 1, (50, network.dimension)).astype(np.float32)
        (logits,) = session.run(None, {session.get_inputs()[0].name: points})
        np.testing.assert_allclose(logits, network(points), rtol=1e-4, atol=1e-4)


def test_every_verdict_is_proved_and_right(planted: Path) -> None:
    found = outcomes(planted)
    for instance in read_instances(planted):
        row = found[instance.vnnlib]
        assert row["proved"] == "True"
        assert row["standing"] == "NUMERICAL"
        if instance.kind == "unverifiable":
            assert row["result"] == "sat"
        assert row["result"] == ("sat" if float(row["margin"]) <= instance.radius else "unsat")
        certificate = json.loads((planted / row["certificate"]).read_text())
        assert certificate["claim"]["kind"] == ("vulnerable" if row["result"] == "sat" else "robust")
    total = score(read_instances(planted), read_results(planted / "results.csv"))
    assert total.unverifiable_instance_falsified_ratio == 1.0
    assert (total.soundness_errors, total.undecided) == (0, 0)


def test_margins_agree_with_a_local_search(planted: Path) -> None:
    """No descent to the boundary ends nearer than the margin, and the best of many ends there."""
    found = outcomes(planted)
    generator = np.random.default_rng(0)
    for instance in read_instances(planted):
        network, u, label = pm.load(planted / instance.model), instance.point, instance.label
        best = np.inf
        for rival in range(network.class_count):
            if rival == label:
                continue
            tie = {"type": "eq", "fun": lambda x, r=rival: network(x)[label] - network(x)[r]}  # noqa: B023
            for _ in range(25):
                start = u + generator.normal(size=u.size)
                run = minimize(lambda x: np.sum((x - u) ** 2), start, constraints=[tie], method="SLSQP")  # noqa: B023
                if run.success and abs(tie["fun"](run.x)) < 1e-7:
                    best = min(best, float(np.sqrt(run.fun)))
        assert best == pytest.approx(float(found[instance.vnnlib]["margin"]), rel=1e-4)


def test_the_query_files_ask_the_same_question(planted: Path) -> None:
    from polymargin.vnnlib import answer_query, read_query

    found = outcomes(planted)
    for instance in read_instances(planted)[::4]:
        answer = answer_query(read_query(planted / instance.vnnlib), pm.load(planted / instance.onnx))
        assert answer.result.value == found[instance.vnnlib]["result"]
    with (planted / "instances.csv").open() as lines:
        assert [row[:2] for row in csv.reader(lines)] == [[i.onnx, i.vnnlib] for i in read_instances(planted)]


def test_seeds_and_failed_attempts_are_recorded(planted: Path) -> None:
    with (planted / "training.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [f"models/{row['network']}.npz" for row in rows] == list(
        dict.fromkeys(i.model for i in read_instances(planted))
    )
    assert all(row["seed"] == "1" and int(row["failed_attempts"]) >= 0 for row in rows)


def test_the_checker_refuses_a_certificate_about_another_radius(planted: Path, tmp_path: Path) -> None:
    instance = next(i for i in read_instances(planted) if i.kind == "unverifiable")
    file = planted / outcomes(planted)[instance.vnnlib]["certificate"]
    document = json.loads(file.read_text())
    document["claim"]["radius"] = (1e-9).hex()
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(document))
    assert proved(planted / instance.model, [file, forged]) == [True, False]
    assert proved(planted / instance.model, [forged]) == [False]
    assert proved(planted / instance.model, []) == []


def test_a_margin_that_contradicts_its_verdict_stops_the_run(planted: Path) -> None:
    instance = next(i for i in read_instances(planted) if i.kind == "unverifiable")
    network = pm.load(planted / instance.model)
    margin = pm.margin(network, instance.point, proof=False)
    verdict = pm.verify(network, instance.point, instance.radius)
    check_agreement(instance, margin, verdict)
    with pytest.raises(pm.PolymarginError, match="contradicts"):
        check_agreement(instance, replace(margin, lower=1.0, upper=1.0, radius=1.0), verdict)
    with pytest.raises(pm.PolymarginError, match="class"):
        check_agreement(replace(instance, label=1 - instance.label), margin, verdict)
    check_agreement(instance, replace(margin, standing=Standing.FAILED), verdict)


def test_folders_that_are_something_else_are_refused(planted: Path, tmp_path: Path) -> None:
    with pytest.raises(pm.InputError, match="another benchmark"):
        generate_benchmark(planted, paper_settings())
    with pytest.raises(pm.InputError, match=r"no benchmark\.json"):
        train_benchmark(tmp_path)
    with pytest.raises(pm.InputError, match="different"):
        generate_benchmark(tmp_path, paper_settings() * 2)
    with pytest.raises(pm.InputError, match="Pow"):
        generate_benchmark(tmp_path, paper_settings(), powers="Power")
    generate_benchmark(tmp_path, paper_settings())
    with pytest.raises(pm.InputError, match="no instances yet"):
        read_instances(tmp_path)
    (tmp_path / "benchmark.json").write_text('{"format": "x"}')
    with pytest.raises(pm.InputError, match="not a soundness benchmark"):
        train_benchmark(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("onnx,vnnlib,model", "onnx,vnnlib,file", "columns"),
        (",unverifiable,sat,0.5,", ",unverifiable,sat,much,", "row 1"),
        (",unverifiable,sat,0.5,", ",unverifiable,sat,-1.0,", "positive radius"),
        (",unverifiable,sat,0.5,", ",unsure,sat,0.5,", "unsure"),
    ],
)
def test_a_ground_truth_that_was_damaged_is_refused(
    planted: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    shutil.copy(planted / "benchmark.json", tmp_path)
    text = (planted / "ground_truth.csv").read_text()
    assert old in text
    (tmp_path / "ground_truth.csv").write_text(text.replace(old, new, 1))
    with pytest.raises(pm.InputError, match=message):
        read_instances(tmp_path)
