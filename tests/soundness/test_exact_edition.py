"""The exactly labelled edition: labels that hold without this package's word for it."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import polymargin as pm
from polymargin.soundness import (
    ExactPlan,
    generate_exact_edition,
    read_instances,
    score,
    train_benchmark,
    verify_benchmark,
)
from polymargin.soundness.checking import proved
from polymargin.soundness.exact_edition import FACTORS
from polymargin.soundness.planting import squared_distance


def test_six_radii_in_two_spellings_for_every_point(labelled: Path) -> None:
    instances = read_instances(labelled)
    assert len(instances) == 4 * 2 * 2 * len(FACTORS)
    assert Counter(i.truth for i in instances) == {"sat": 48, "unsat": 48}
    assert {Path(i.onnx).stem.rpartition("-")[2] for i in instances} == {"Pow", "Mul"}
    assert {i.onnx.split("/")[1].partition("-")[0] for i in instances} == {"shallow", "deep", "attention"}
    for instance in instances:
        assert instance.margin_lower is not None
        assert instance.margin_upper is not None
        factor = float(instance.name.rpartition("-")[2])
        assert instance.radius == pytest.approx(factor * instance.margin_upper, rel=0.15)
        assert instance.truth == ("unsat" if factor < 1 else "sat")
        assert instance.kind == ("clean" if factor < 1 else "unverifiable")
        ends = Fraction(instance.margin_lower), Fraction(instance.margin_upper)
        assert Fraction(instance.radius) < ends[0] if factor < 1 else Fraction(instance.radius) > ends[1]


def test_sat_labels_have_a_witness_in_exact_arithmetic(labelled: Path) -> None:
    for instance in read_instances(labelled):
        if instance.truth == "sat":
            assert instance.nearest is not None
            network = pm.load(labelled / instance.model)
            beyond = instance.point + (1 + 1e-7) * (instance.nearest - instance.point)
            assert squared_distance(beyond, instance.point) <= Fraction(instance.radius) ** 2
            logits = network.exact_logits(beyond)
            assert max(logits[: instance.label] + logits[instance.label + 1 :]) >= logits[instance.label]


def test_unsat_labels_survive_a_search_and_the_checker(labelled: Path) -> None:
    generator = np.random.default_rng(0)
    for instance in read_instances(labelled):
        if instance.truth == "unsat":
            network = pm.load(labelled / instance.model)
            directions = generator.normal(size=(300, network.dimension))
            directions *= instance.radius / np.linalg.norm(directions, axis=1, keepdims=True)
            assert (network.predict(instance.point + directions) == instance.label).all()
            found = pm.attack(network, instance.point)
            assert found is None or found.distance > instance.radius
    models = {i.certificate: i.model for i in read_instances(labelled)}
    assert all(proved(labelled / model, [labelled / certificate])[0] for certificate, model in models.items())


def test_both_spellings_are_the_same_function(labelled: Path) -> None:
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    for instance in {i.onnx: i for i in read_instances(labelled)}.values():
        network = pm.load(labelled / instance.model)
        operators = {node.op_type for node in onnx.load(labelled / instance.onnx).graph.node}
        if not instance.model.startswith("models/attention"):
            assert ("Pow" in operators) == instance.onnx.endswith("-Pow.onnx")
        session = runtime.InferenceSession(labelled / instance.onnx, providers=["CPUExecutionProvider"])
        points = generator_points(network.dimension)
        (logits,) = session.run(None, {session.get_inputs()[0].name: points})
        np.testing.assert_allclose(logits, network(points), rtol=1e-4, atol=1e-4)


def generator_points(dimension: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(-1, 1, (50, dimension)).astype(np.float32)


def test_verification_answers_every_label(labelled: Path) -> None:
    outcomes = verify_benchmark(labelled)
    answers = {(Path(o.onnx).name, Path(o.vnnlib).name): (o.result, o.verdict_seconds) for o in outcomes}
    found = score(read_instances(labelled), answers)
    assert (found.soundness_errors, found.undecided) == (0, 0)
    assert found.clean_instance_verified_ratio == found.unverifiable_instance_falsified_ratio == 1.0
    assert all(outcome.proved for outcome in outcomes)


def test_it_is_the_same_every_time(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    plan = ExactPlan(layered=(((3, 3, 2), 2),), attention=(), points=1, seed=4)
    texts = []
    for name in ("one", "two"):
        generate_exact_edition(tmp_path / name, plan)
        texts.append((tmp_path / name / "ground_truth.csv").read_text())
    assert texts[0] == texts[1]
    assert math.isfinite(float(read_instances(tmp_path / "one")[0].margin_upper or math.nan))
    with pytest.raises(pm.InputError, match="needs no training"):
        train_benchmark(tmp_path / "one")


@pytest.mark.parametrize("bad", [{"points": 0}, {"seed": -1}, {"layered": (), "attention": ()}])
def test_plans_without_sense_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(pm.InputError):
        ExactPlan(**bad)  # type: ignore[arg-type]
