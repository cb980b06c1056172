"""Files that ask for too much: each is refused before the work is done, and what honest files need is not."""

from __future__ import annotations

import random
import struct
import zipfile
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import base64_of, certificate, hexes, write
from checker.deep_exclusions import deep_leaf
from flint import arb, arb_poly, fmpq
from problems import random_network

import polymargin as pm
from polymargin.networks import Network
from polymargin.networks.attention import LightningAttention
from polymargin_checker import (
    check,
    document,
    exact,
    exclusion,
    krawczyk,
    leaf,
    npy,
    quadratic,
    univariate,
    views,
    work,
)
from polymargin_checker.quadratic import BallQuadratic
from polymargin_checker.refusal import OutOfTime, Refused
from polymargin_checker.views import Matrix
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


def long_number(generator: random.Random) -> list[str]:
    """About 1,900 bits."""
    return [f"0x{generator.getrandbits(64):x}p{exponent}" for exponent in (900, 0, -940)]


def attention(keys: Any, point: Any = None) -> tuple[Network, Any]:
    size = len(keys)
    generator = np.random.default_rng(0)
    key, query = generator.normal(size=(2, size, size))
    network = LightningAttention(generator.normal(size=(1, size)), key, query, [[1.0], [0.0]], [9.0, 0.0])
    lowering = {"values": [["0x1p0"]], "keys": keys, "scales": [[["0x1p0"] * 3] * size]}
    tree = {"ranges": [], "bound": {"slopes": [], "quadratics": [], "multiplier": "0x0p0"}}
    proof = {"kind": "exclusion", "radius": "0x1p-9", "lowering": lowering, "tree": tree}
    made = {
        "format": "polymargin-certificate-1",
        "model": {"sha256": network.fingerprint},
        "point": hexes(np.zeros(size)) if point is None else point,
        "label": 0,
        "claim": {"kind": "robust", "radius": "0x1p-9"},
        "rivals": [{"rival": 1, "lower": "0x1p-9", "proof": proof}],
        "upper": None,
    }
    return network, made


def little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same refusals for smaller files."""
    monkeypatch.setattr(work, "FLAT", 1 << 34)
    monkeypatch.setattr(work, "PER_NUMBER", 0)


@pytest.mark.parametrize(("size", "reason"), [(64, "more memory than this checker allows"), (20, MORE)])
def test_a_basis_of_long_numbers_is_refused_before_it_is_inverted(
    tmp_path: Path, size: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason is MORE:
        little_work(monkeypatch)
    generator = random.Random(0)
    keys = [[long_number(generator) for _ in range(size)] for _ in range(size)]
    assert reason in check(*write(tmp_path, *attention(keys))).reason


def test_a_basis_of_doubles_is_not_too_much(tmp_path: Path) -> None:
    keys = [hexes(row) for row in np.random.default_rng(1).normal(size=(30, 30))]
    assert "quadratics: expected 120 entries" in check(*write(tmp_path, *attention(keys))).reason


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


def square_exclusion(inputs: int, hidden: int, leaves: int) -> tuple[pm.Network, Any]:
    """1 + Σ y_j² > 0 by multiplier 0 and exact parabolas, in many equal leaves."""
    first = np.random.default_rng(0).normal(size=(hidden, inputs))
    net = pm.PolynomialNetwork([first, ([[1.0] * hidden, [0.0] * hidden], [1.0, 0.0])], degree=2)
    bound = {"slopes": [], "quadratics": [["0x1p0", "0x0p0", "0x0p0"]] * hidden, "multiplier": "0x1p-9"}
    tree: Any = {"ranges": [], "bound": bound}
    for _ in range(leaves - 1):
        tree = {"split": [0, "0x0p0"], "low": tree, "high": tree}
    proof = {"kind": "exclusion", "radius": "0x1p-3", "tree": tree}
    rivals = [{"rival": 1, "lower": "0x1p-3", "proof": proof}]
    return net, certificate(net, np.zeros(inputs), 0, {"kind": "robust", "radius": "0x1p-3"}, rivals, None)


def test_a_positive_definite_test_in_many_variables_is_refused() -> None:
    size = 1300
    quadratic = BallQuadratic(Matrix(size, size, [0.0] * size**2), fmpq(1))
    with limited_work(), pytest.raises(Refused, match=f"positive definite tests of an exclusion proof: {MORE}"):
        quadratic.positive([], [], arb(1), arb(0))


def test_image_sized_exclusions_are_not_too_much(tmp_path: Path) -> None:
    verdict = check(*write(tmp_path, *square_exclusion(784, 60, 2)))
    assert verdict.accepted, verdict.reason


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
    for module in (views, exact, exclusion, krawczyk, leaf, quadratic, univariate):
        monkeypatch.setattr(module, "spend", lambda products, bits, what: asked.update([what]))
    return asked


def test_every_step_of_an_exclusion_is_counted(tmp_path: Path, counted: Counter[str]) -> None:
    net, made = square_exclusion(2, 2, 4)
    assert check(*write(tmp_path, net, made), exact=True).accepted
    assert counted["the exact logits"] == 3
    assert counted["the splits of an exclusion proof"] == 7
    assert counted["the first layer of an exclusion proof"] == 1
    assert counted["the positive definite tests of an exclusion proof"] == 8
    assert counted["polynomials in one variable"] == 16


def test_the_second_try_of_a_definite_test_is_counted(counted: Counter[str]) -> None:
    """Equal rows: the small space is singular, the full one is tried."""
    weights = BallQuadratic(Matrix(2, 3, [1.0, 0.0, 0.0] * 2), fmpq(1))
    assert weights.positive([arb(1)] * 2, [arb(0)] * 2, arb(3), arb(1))
    assert counted == {"the positive definite tests of an exclusion proof": 2}


def test_every_step_of_a_deep_exclusion_is_counted(tmp_path: Path, counted: Counter[str]) -> None:
    net = random_network([2, 3, 4, 2], 2, 4)
    u = next(u for u in np.random.default_rng(0).normal(size=(50, 2)) if net.predict(u) == 0)
    tree = deep_leaf(net, u, 1e-3, 0, 1, intervals_only=True)
    proof = {"kind": "exclusion", "radius": (1e-3).hex(), "tree": tree}
    rivals = [{"rival": 1, "lower": (1e-3).hex(), "proof": proof}]
    made = certificate(net, u, 0, {"kind": "robust", "radius": (1e-3).hex()}, rivals, None)
    verdict = check(*write(tmp_path, net, made))
    assert verdict.accepted, verdict.reason
    assert counted["leaf 0, intervals of layer 2"] == 1
    assert counted["leaf 0, bound, slopes of layer 2"] == 1


def test_every_step_for_attention_is_counted(tmp_path: Path, counted: Counter[str]) -> None:
    keys = [hexes(row) for row in np.random.default_rng(1).normal(size=(3, 3))]
    check(*write(tmp_path, *attention(keys)))
    assert counted["the matrices of the lowering"] == 2
    assert counted["the layer of cubes"] == 1


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
