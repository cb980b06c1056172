"""Files that ask for too much: each is refused before the work is done, and what honest files need is not."""

from __future__ import annotations

import struct
import zipfile
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import base64_of, certificate, write
from checker.relaxation_prover import shared
from checker.stage_files import as_read, random_network
from flint import arb, arb_poly, fmpq

import polymargin as pm
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import Polynomial
from polymargin_checker import balls, check, document, exact, intervals, krawczyk, npy, univariate, work
from polymargin_checker.neighbourhood import PLAIN
from polymargin_checker.refusal import OutOfTime, Refused
from polymargin_checker.relaxation import enclosures, expansion, functions, tree
from polymargin_checker.relaxation.arithmetic import Arithmetic
from polymargin_checker.relaxation.expansion import Expansion
from polymargin_checker.relaxation.region import region_of
from polymargin_checker.work import FLAT, PER_NUMBER, SHORTEST, count_number, limited_work, spend

MORE = "more work than this checker does"


def test_work_is_bounded_and_every_number_allows_more() -> None:
    unit = SHORTEST * SHORTEST.bit_length() ** 2
    spend(10**30, 10**6, "outside nothing is counted")
    with limited_work():
        spend(FLAT // unit, 1, "all of it")
        with pytest.raises(Refused, match="one more: more work"):
            spend(1, 1, "one more")
        count_number()
        spend(PER_NUMBER // unit, 1, "what the number allows")
        with pytest.raises(Refused, match=MORE):
            spend(1, 1, "one more")
    with limited_work():
        spend(1, 1 << 20, "a new certificate")
        with pytest.raises(Refused, match=MORE):
            spend(FLAT // (2048 * 144) + 1, 2048, "long numbers count for more")
    with pytest.raises(ZeroDivisionError), limited_work():
        _ = 1 / 0
    spend(10**30, 10**6, "outside again")


def little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same refusals for smaller files."""
    monkeypatch.setattr(work, "FLAT", 1 << 34)
    monkeypatch.setattr(work, "PER_NUMBER", 0)


def flat_completeness(inputs: int) -> tuple[pm.Network, Any]:
    """The one critical point of f = x₁ + … + 1, at −1/n in every coordinate; the box is right and not too small."""
    net = pm.PolynomialNetwork([([[1.0] * inputs, [0.0] * inputs], [1.0, 0.0])])
    radii = base64_of([-20, -20], "<i2")
    proof = {"kind": "completeness", "reals": 1, "points": base64_of([-1 / inputs] * inputs), "radii": radii}
    rivals = [{"rival": 1, "lower": "0x1p-9", "proof": proof}]
    return net, certificate(net, np.zeros(inputs), 0, {"kind": "robust", "radius": "0x1p-9"}, rivals, None)


@pytest.mark.parametrize("exact", [False, True])
def test_boxes_in_very_many_variables_are_refused(tmp_path: Path, exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    little_work(monkeypatch)
    verdict = check(*write(tmp_path, *flat_completeness(300)), exact)
    assert f"Krawczyk's test in 300 variables: {MORE[:20]}" in verdict.reason


@pytest.mark.parametrize("exact", [False, True])
def test_a_hundred_variables_are_not_too_many(tmp_path: Path, exact: bool) -> None:
    verdict = check(*write(tmp_path, *flat_completeness(100)), exact)
    assert verdict.accepted, verdict.reason


def squares(inputs: int, hidden: int, leaves: int, seed: int = 0) -> tuple[pm.Network, Any]:
    """1 + Σ z_j² > 0 by a little of the ball, in many leaves."""
    first = np.random.default_rng(seed).normal(size=(hidden, inputs))
    net = pm.PolynomialNetwork([first, ([[1.0] * hidden, [0.0] * hidden], [1.0, 0.0])], degree=2)
    leaf: Any = {"judge": "definite", "ball": "0x1p-9"}
    made = leaf
    for power in range(1, leaves):
        made = {"split": ["input", 0, (2.0 ** (power - leaves - 3)).hex()], "low": made, "high": leaf}
    proof = {"kind": "relaxation", **shared(0.125), "tree": made}
    rivals = [{"rival": 1, "lower": "0x1p-3", "proof": proof}]
    return net, certificate(net, np.zeros(inputs), 0, {"kind": "robust", "radius": "0x1p-3"}, rivals, None)


@pytest.mark.parametrize("leaves", [1, 2])
def test_image_sized_proofs_are_not_too_much(tmp_path: Path, leaves: int) -> None:
    verdict = check(*write(tmp_path, *squares(784, 60, leaves)))
    assert verdict.accepted, verdict.reason


@pytest.mark.parametrize("in_balls", [False, True])
def test_forms_in_very_many_variables_are_refused_before_they_are_judged(
    tmp_path: Path, in_balls: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    little_work(monkeypatch)
    monkeypatch.setattr(work, "PATIENCE", 1)
    verdict = check(*write(tmp_path, *squares(1200, 2, 3)), in_balls)
    assert MORE in verdict.reason


def cubes(inputs: int, *sizes: int, classes: int = 2) -> Network:
    """Stages of cubes, each of a form of all values before it."""
    stages, widths = [], [inputs]
    for number, size in enumerate(sizes):
        blocks = ((number, np.ones((size, widths[-1]))),)
        stages.append(Polynomial(Forms(tuple(widths), blocks, np.zeros(size)), (0.0, 0.0, 0.0, 1.0)))
        widths.append(size)
    readout = np.ones((classes, widths[-1]))
    return Network(stages, Forms(tuple(widths), ((len(sizes), readout),), np.zeros(classes)))


def is_too_large(network: Network) -> bool:
    region = region_of(PLAIN, [fmpq(0)] * network.dimension, fmpq(1), Arithmetic(False))
    try:
        Expansion(as_read(network), region, {})
    except Refused as refusal:
        return "this checker accepts fewer" in str(refusal)
    return False


def test_rows_that_no_memory_holds_are_refused_before_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_too_large(cubes(expansion.LARGEST_SPACE, 1))
    assert is_too_large(cubes(3, expansion.LARGEST_SPACE // 3, expansion.LARGEST_SPACE // 3))
    network = cubes(3, 40, 40)  # in 1 + 3 + y + (w + y) variables, with 80 forms
    for name, least in (("LARGEST_SPACE", 124), ("LARGEST_ROWS", 124 * 80)):
        with monkeypatch.context() as patched:
            patched.setattr(expansion, name, least)
            assert not is_too_large(network)
            patched.setattr(expansion, name, least - 1)
            assert is_too_large(network)
    with monkeypatch.context() as patched:  # weights alone
        patched.setattr(expansion, "LARGEST_ROWS", 3 * 2 + 300 * 2)
        assert not is_too_large(cubes(3, 2, classes=300))
        assert is_too_large(cubes(3, 2, classes=301))


def test_lists_without_end_are_refused_before_they_are_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, file = write(tmp_path, *flat_completeness(2))
    file.write_text("[" + "[]," * 8_000_000 + "[]]")
    monkeypatch.setattr(document, "json", None)
    assert "bytes of memory" in check(model, file).reason


def test_a_full_sized_certificate_of_numbers_is_parsed() -> None:
    """One pair of two-part numbers after the other, as `certify` writes them, up to the largest file."""
    pair = b'[["0x1.0000000000000p+0", "0x1.0000000000000p-53"], ["0x1.0000000000000p+0", "0x1.0000000000000p-53"]], '
    memory = len(pair) + sum(pair.count(mark) * size for mark, size in document._BYTES.items())
    assert document.LARGEST_FILE // len(pair) * memory <= document.LARGEST_VALUE


def test_an_archive_of_many_entries_is_refused_before_they_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for index in range(25_000):
            archive.writestr(str(index), b"")
    monkeypatch.setattr(zipfile, "ZipFile", None)
    verdict = check(path, path)
    assert not verdict.usable
    assert "a list of entries of" in verdict.reason


def test_an_end_of_an_archive_that_says_less_than_there_is(tmp_path: Path) -> None:
    """A size in a record for large archives, or a second end behind a comment, cannot replace the one that is bounded."""
    net, _ = flat_completeness(2)
    path = tmp_path / "model.npz"
    net.save(path)
    whole = path.read_bytes()
    assert npy.read_entries(path)
    for changed in (
        whole[:-22] + b"PK\x06\x07" + bytes(16) + whole[-22:],
        whole + b"comment",
        whole[:-2] + struct.pack("<H", 7) + b"comment",
        whole[:-2] + struct.pack("<H", 22) + whole[-22:-2] + struct.pack("<H", 1),
        whole[-21:],
    ):
        path.write_bytes(changed)
        assert "no plain end of a zip archive" in check(path, path).reason


@pytest.mark.parametrize("degree", [1, 12])
def test_long_logits_are_refused_for_their_work(tmp_path: Path, degree: int, monkeypatch: pytest.MonkeyPatch) -> None:
    little_work(monkeypatch)
    generator = np.random.default_rng(0)
    layers = [generator.normal(size=shape) for shape in ((400, 1), (400, 400), (2, 400))]
    net = pm.PolynomialNetwork(layers, degree=degree)
    made = certificate(net, [0.0], 0, {"kind": "robust", "radius": "0x0p0"}, [], None)
    made["point"] = [["0x1p1000", "0x1p-1000"]]
    assert f"the exact logits: {MORE}" in check(*write(tmp_path, net, made)).reason


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What the checker asks for, by name, without any limit."""
    asked: Counter[str] = Counter()
    for module in (exact, krawczyk, univariate, balls, tree, expansion):
        monkeypatch.setattr(module, "spend", lambda products, bits, what: asked.update([what]))
    for module in (intervals, functions, enclosures):
        monkeypatch.setattr(module, "spend_doubles", lambda products, what: asked.update([what]))
    return asked


SPLITS, PARTS = "the splits of a relaxation proof", "the parts of a relaxation proof"


@pytest.mark.parametrize("in_balls", [False, True])
def test_every_step_of_a_relaxation_is_counted(tmp_path: Path, counted: Counter[str], in_balls: bool) -> None:
    net, made = squares(2, 2, 4)
    verdict = check(*write(tmp_path, net, made), in_balls)
    assert verdict.accepted, verdict.reason
    assert (counted[SPLITS], counted[PARTS]) == (3, 6)  # both sides of a split are bounded
    names = {name for name in counted if "relaxation" in name} - {SPLITS, PARTS}
    assert names
    if not in_balls:
        assert {name for name in counted if name.startswith("Cholesky")}
        assert counted["Cholesky factors in a relaxation proof"] >= 4  # once for each leaf


def test_neurons_of_high_degree_are_counted(counted: Counter[str]) -> None:
    network = random_network(np.random.default_rng(0), 3, [4], ["powers"], 2)
    region = region_of(PLAIN, [fmpq(0)] * 3, fmpq(1), Arithmetic(False))
    made = Expansion(as_read(network), region, {})
    assert counted["Taylor coefficients"] == 1
    enclosures.Enclosures.unknown(made).narrow()
    assert counted["polynomials in one variable"] >= 2


def test_krawczyk_and_hyperplanes_are_counted(tmp_path: Path, counted: Counter[str]) -> None:
    net, made = flat_completeness(2)
    assert check(*write(tmp_path, net, made), exact=True).accepted
    assert counted["Krawczyk's test in 2 variables"] == 1
    deep = pm.PolynomialNetwork([np.eye(2), ([[1.0, 1.0], [0.0, 0.0]], [1.0, 0.0])], degree=1)
    rivals = [{"rival": 1, "lower": "0x1p-2", "proof": {"kind": "hyperplane"}}]
    made = certificate(deep, [0.0, 0.0], 0, {"kind": "robust", "radius": "0x1p-2"}, rivals, None)
    counted.clear()
    (tmp_path / "model.npz").unlink()
    assert check(*write(tmp_path, deep, made), exact=True).accepted
    assert counted["the exact logits"] == 5  # two forms and an activation; the slope through both layers


def test_a_file_is_read_to_its_end_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the last byte that is read there could be anything."""
    model, file = write(tmp_path, *flat_completeness(2))
    size = file.stat().st_size
    monkeypatch.setattr(document, "LARGEST_FILE", size)
    assert check(model, file).accepted
    file.write_bytes(file.read_bytes() + b" ")
    assert f"more than {size} bytes" in check(model, file).reason


def test_pieces_of_a_polynomial_are_counted(counted: Counter[str]) -> None:
    touching = arb_poly([arb(1) / 9 + arb(1) / 1000, -arb(2) / 3, 1])  # (x − 1/3)² and a little
    assert univariate.nonnegative(touching, (arb(0), arb(1)))
    assert counted["polynomials in one variable"] > 3


def test_a_step_that_would_end_too_late_is_refused_before_it_begins() -> None:
    with limited_work(end=perf_counter() + 1000):
        spend(1, 128, "a short step")
        with pytest.raises(OutOfTime, match="a long step: not enough time"):
            spend(1 << 43, 128, "a long step")
    with limited_work(end=perf_counter()), pytest.raises(OutOfTime):
        spend(1, 128, "a short step")


def test_the_time_that_is_missing_is_told_from_a_refusal(tmp_path: Path) -> None:
    net = pm.PolynomialNetwork([([[3.0, 4.0], [0.0, 0.0]], [5.0, 0.0])])
    rivals = [{"rival": 1, "lower": "0x1p0", "proof": {"kind": "hyperplane"}}]
    claim = {"kind": "robust", "radius": "0x1p0"}
    files = write(tmp_path, net, certificate(net, [0.0, 0.0], 0, claim, rivals, None))
    assert check(*files, seconds=1000).accepted
    late = check(*files, seconds=0)
    assert (late.accepted, late.usable, late.in_time) == (False, True, False)
    assert "not enough time" in late.reason
    claim["radius"] = rivals[0]["lower"] = "0x1.8p0"
    files = write(tmp_path, net, certificate(net, [0.0, 0.0], 0, claim, rivals, None))
    refused = check(*files, seconds=1000)
    assert (refused.accepted, refused.in_time) == (False, True)
