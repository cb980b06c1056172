"""Files from strangers: every defect is one sentence, never an exception, and random damage is never accepted as truth."""

from __future__ import annotations

import binascii
import copy
import io
import json
import random
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import certificate, completeness, from_base64, hexes, write
from checker.relaxation_prover import packed, shared
from checker.test_relaxation_forgeries import CUBE, SQUARE, chain, with_curvatures
from problems import random_network

import polymargin as pm
from polymargin_checker import check, npy
from polymargin_checker.checker import FORMAT as CERTIFICATES
from polymargin_checker.refusal import Refused
from polymargin_checker.stages import read_network

GOOD: dict[str, Any] = pm.PolynomialNetwork([np.eye(2) + 1.0]).to_arrays()


def saved(folder: Path, **arrays: Any) -> Path:
    path = folder / "model.npz"
    np.savez(path, **arrays)
    return path


# -- models --------------------------------------------------------------------------------------


def entry(header: bytes, data: bytes, version: int = 1) -> bytes:
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x01\x00\xff\xff",
        entry(b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999, 99999), }\n", b"12345678"),
        entry(b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }\n", b"12345678" * 5),
        entry(b"{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }\n", b"12345678" * 4),
        entry(b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }\n", b"12345678" * 2),
        entry(b"__import__('os').system('true')\n", b""),
        entry(b"(" * 4000, b""),
        entry(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-2, 2), }\n", b""),
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
        entry(b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }\n", b"12345678" * 4, version=9),
    ],
)
def test_strange_arrays_are_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = saved(tmp_path, **{name: array for name, array in GOOD.items() if name != "readout/0"})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("readout/0.npy", content)
    verdict = check(path, tmp_path / "none.json")
    assert not verdict.usable
    assert "readout/0" in verdict.reason


def test_bombs_and_broken_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert npy.LARGEST_FILE == 1 << 28
    monkeypatch.setattr(npy, "LARGEST_FILE", 1 << 26)
    path = saved(tmp_path, **GOOD)
    whole = path.read_bytes()
    for size in (0, 1, 10, 100, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:size])
        assert not check(path, path).usable
    generator = random.Random(0)
    for _ in range(100):
        broken = bytearray(whole)
        for _ in range(3):
            broken[generator.randrange(len(broken))] = generator.randrange(256)
        path.write_bytes(bytes(broken))
        assert not check(path, path).accepted
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("readout/0.npy", bytes(1 << 27))
    assert "unpacked" in check(path, path).reason
    lying = io.BytesIO()
    with zipfile.ZipFile(lying, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("format.npy", bytes(1 << 27))
    path.write_bytes(lying.getvalue().replace(struct.pack("<I", 1 << 27), struct.pack("<I", 100)))
    assert not check(path, path).usable
    path.write_bytes(whole)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("readout/0.npy", b"")
    assert "two entries are named" in check(path, path).reason
    with pytest.raises(Refused, match="no such file"):
        read_network(tmp_path / "absent.npz")


# -- certificates --------------------------------------------------------------------------------


NO_CERTIFICATES = (
    "",
    "{",
    "null",
    "[]",
    "3",
    '"x"',
    "9" * 10_000,
    "\ufeff{}",
    "\x00",
    '"\\ud800"',
    "{}",
    '{"format": 1}',
)
REFUSED = (
    "NaN", "[NaN]", '{"format": Infinity}', "[" * 100_000, '{"a":' * 100_000, '{"format": 1, "format": 1}',
    '{"format": "polymargin-certificate-1"}',
)  # fmt: skip


@pytest.mark.parametrize("text", NO_CERTIFICATES + REFUSED)
def test_strange_json_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = saved(tmp_path, **GOOD)
    file = tmp_path / "certificate.json"
    file.write_text(text, encoding="utf-8")
    verdict = check(path, file)
    assert not verdict.accepted
    assert verdict.usable == (text in REFUSED)
    assert verdict.usable or verdict.reason.startswith(f"{file}: ")
    assert verdict.reason
    assert "could not finish" not in verdict.reason
    file.write_bytes(b"\xff\xfe{}")
    assert "not valid JSON" in check(path, file).reason


def test_deep_trees_and_huge_numbers_do_not_hang(tmp_path: Path) -> None:
    net = pm.PolynomialNetwork([(np.eye(2), np.zeros(2)), ([[1.0, 1.0], [0.0, 0.0]], [1.0, 0.0])], degree=2)
    leaf: Any = {"judge": "definite", "ball": "0x0p0"}
    tree = leaf
    for level in range(150):
        tree = {"split": ["input", level % 2, (2.0 ** (level - 150)).hex()], "low": tree, "high": leaf}
    proof = {"kind": "relaxation", **shared(1.0), "tree": tree}
    rivals = [{"rival": 1, "lower": "0x1p0", "proof": proof}]
    document = certificate(net, [0.0, 0.0], 0, {"kind": "robust", "radius": "0x1p0"}, rivals, None)
    assert check(*write(tmp_path, net, document)).accepted
    document["point"] = ["0x1p+1100", "-0x1p-1100"]
    assert not check(*write(tmp_path, net, document)).accepted


@pytest.mark.parametrize("exact", [False, True])
def test_curvatures_of_nothing_are_one_sentence(exact: bool) -> None:
    """w = Σ y alone: σ'(0) = 0 for cubes, so that no product and no w of an earlier stage is left in it."""
    found = check(*with_curvatures(chain(SQUARE, CUBE, SQUARE)), exact)
    assert "could not finish" not in found.reason


def test_a_network_too_large_for_exact_arithmetic_is_refused(tmp_path: Path) -> None:
    layers = [([[1.1]], [0.3])] * 6 + [([[1.0], [0.0]], [1.0, 0.0])]
    net = pm.PolynomialNetwork(layers, degree=50)
    document = certificate(net, [0.5], 0, {"kind": "robust", "radius": "0x0p0"}, [], None)
    verdict = check(*write(tmp_path, net, document), exact=True)
    assert "exact logits need more memory" in verdict.reason


# -- random damage -------------------------------------------------------------------------------

JUNK = (
    None, True, 0, -1, 10**30, 1.5, "", "inf", "nan", "-inf", "0x1p0", "0x0p0", "-0x1p0", "0x1p+1000", "0x1p-1000",
    "0x1p99999", "1e999", [], {}, [[]], ["0x1p0"], ["0x1p0", "0x1p0"], [["0x1p0", "0x1p0"]] * 3, {"kind": "hyperplane"},
)  # fmt: skip


def places(node: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a JSON value."""
    found: list[tuple[Any, Any]] = []
    keys = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        found.append((node, key))
        found += places(node[key])
    return found


def doubles_of(text: str) -> Any:
    """The doubles of an array in base64; None for other texts."""
    try:
        return from_base64(text) if len(text) >= 12 else None
    except (binascii.Error, ValueError):
        return None


def damage(document: Any, generator: random.Random) -> None:
    container, key = generator.choice(places(document))
    value = container[key]
    choice = generator.randrange(6)
    if choice == 0:
        del container[key]
    elif choice == 1:
        container[key] = copy.deepcopy(generator.choice(JUNK))
    elif choice == 2 and isinstance(container, list):
        container.insert(key, copy.deepcopy(value))
    elif choice == 3 and isinstance(container, list):
        other = generator.randrange(len(container))
        container[key], container[other] = container[other], container[key]
    elif isinstance(value, str) and value.lstrip("-").startswith("0x") and len(value) < 30:
        number = float.fromhex(value.replace("99999", "9"))
        size = 10.0 ** generator.randint(-16, 1)
        container[key] = (number + generator.choice((-1, 1)) * size * max(abs(number), 1e-3)).hex()
    elif isinstance(value, str) and key != "sha256" and (numbers := doubles_of(value)) is not None:
        place = generator.randrange(len(numbers))
        numbers[place] = generator.choice((-numbers[place], 2 * numbers[place], numbers[place] + 0.1, 0.0, np.nan))
        container[key] = packed(numbers)
    elif type(value) is int:
        container[key] = value + generator.choice((-1, 1))
    else:
        container[key] = copy.deepcopy(generator.choice(JUNK))


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, pm.PolynomialNetwork, Any]]:
    result = []
    for name, widths, degree, share in (
        ("completeness", [2, 3, 2], 3, 1.0),
        ("square", [2, 3, 3, 2], 2, 0.99),
        ("cube", [2, 4, 2], 3, 0.9),
        ("deep", [2, 3, 3, 3, 2], 2, 0.5),
    ):
        folder = tmp_path_factory.mktemp(name)
        net = random_network(widths, degree, 4)
        u = next(
            u
            for u in np.random.default_rng(0).normal(size=(50, widths[0]))
            if net.predict(u) == 0 and np.isfinite(pm.margin(net, u, proof=False).radius)
        )
        margin = pm.margin(net, u, proof=False)
        radius = share * min(margin.radius, 1.0)
        if name == "completeness":
            proof, _ = completeness(folder, net, u, 0, 1)
            low, high = (margin.radius * (1 - 1e-9)).hex(), (margin.radius * (1 + 1e-9)).hex()
            claim = {"kind": "margin", "lower": low, "upper": high}
            upper: Any = {"kind": "critical-point", "rival": 1, "index": 0}
        else:
            verdict = pm.verify(net, u, radius)
            assert verdict.answer is pm.Answer.ROBUST
            proof = verdict.certificate.data["rivals"][0]["proof"]
            assert proof["kind"] == "relaxation"
            low = radius.hex()
            beyond = np.asarray(margin.point) + 1e-6 * (np.asarray(margin.point) - u)
            claim = {"kind": "margin", "lower": low, "upper": (margin.radius * (1 + 2e-6)).hex()}
            upper = {"kind": "counterexample", "rival": 1, "point": hexes(beyond)}
        document = certificate(net, u, 0, claim, [{"rival": 1, "lower": low, "proof": proof}], upper)
        verdict = check(*write(folder, net, document))
        assert verdict.accepted, (name, verdict.reason)
        result.append((folder, net, document))
    return result


def true(net: pm.Network, document: Any) -> bool:
    """Whether the claim holds, by the numerical margin at the point that the document names."""

    def value(entry: Any) -> float:
        return sum(map(float.fromhex, entry)) if isinstance(entry, list) else float.fromhex(entry)

    margin = pm.margin(net, [value(entry) for entry in document["point"]], proof=False)
    claim = document["claim"]
    lower, upper = value(claim.get("lower", "0x0p0")), value(claim.get("upper", "inf"))
    return (
        int(document["label"]) == margin.label
        and lower <= margin.radius * (1 + 1e-12)
        and upper >= margin.radius * (1 - 1e-12)
    )


@pytest.mark.parametrize("which", range(4))
def test_random_damage_never_raises_and_never_proves_a_falsehood(
    collection: list[tuple[Path, pm.PolynomialNetwork, Any]], which: int
) -> None:
    folder, net, document = collection[which]
    generator = random.Random(which)
    refused = 0
    for _ in range(200):
        broken = copy.deepcopy(document)
        for _ in range(generator.randint(1, 2)):
            damage(broken, generator)
        verdict = check(*write(folder, net, broken))
        assert verdict.usable == (isinstance(broken, dict) and broken.get("format") == CERTIFICATES)
        assert "could not finish" not in verdict.reason, verdict.reason
        assert "\n" not in verdict.reason
        refused += not verdict.accepted
        if verdict.accepted:
            assert true(net, broken)
    assert refused > 100


def test_truncated_certificates_are_refused(collection: list[tuple[Path, pm.PolynomialNetwork, Any]]) -> None:
    for folder, net, document in collection:
        text = json.dumps(document)
        for size in np.linspace(0, len(text) - 1, 12, dtype=int):
            assert "not valid JSON" in check(*write(folder, net, text[:size])).reason
