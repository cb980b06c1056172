"""What is printed is true as printed, and is one line, whatever the files are called."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from checker.certificate_makers import certificate, write
from flint import fmpq

import polymargin as pm
from polymargin_checker import check
from polymargin_checker.__main__ import main
from polymargin_checker.words import one_line, rounded_down, rounded_up

NET = pm.PolynomialNetwork([([[1.0, 1.0], [0.0, 0.0]], [1.0, 0.0])])
"""The tie is at distance √½ from the origin, just below the double 0.7071067811865476."""


def robust(radius: object) -> dict:
    rivals = [{"rival": 1, "lower": radius, "proof": {"kind": "hyperplane"}}]
    return certificate(NET, [0.0, 0.0], 0, {"kind": "robust", "radius": radius}, rivals, None)


def test_a_lower_bound_is_printed_rounded_down(tmp_path: Path) -> None:
    less_than_half_an_ulp_below = ["0x1.6a09e667f3bcdp-1", "-0x1.cp-55"]
    verdict = check(*write(tmp_path, NET, robust(less_than_half_an_ulp_below)))
    assert verdict.accepted, verdict.reason
    printed = verdict.reason.split(" (")[0].rsplit(" ", 1)[1]
    assert not check(*write(tmp_path, NET, robust((0.7071067811865476).hex()))).accepted
    assert Fraction(printed) ** 2 < Fraction(1, 2)
    assert printed == "0.7071067811865475"


def test_an_upper_bound_is_printed_rounded_up(tmp_path: Path) -> None:
    net = pm.PolynomialNetwork([([[1.0], [0.0]], [2.0**-1074, 0.0])])
    tie = {"kind": "counterexample", "rival": 1, "point": ["-0x1p-1074"]}
    for claim, radius in (("0x1p-1074", Fraction(1, 1 << 1074)), (["0x1p-1074", "0x1p-1090"], Fraction(1, 1 << 1074))):
        document = certificate(net, [0.0], 0, {"kind": "vulnerable", "radius": claim}, [], tie)
        verdict = check(*write(tmp_path, net, document))
        assert verdict.accepted, verdict.reason
        assert Fraction(verdict.reason.split(" (")[0].rsplit(" ", 1)[1]) >= radius > 0


def test_both_ends_of_a_margin_are_rounded_outward(tmp_path: Path) -> None:
    claim = {"kind": "margin", "lower": (0.7).hex(), "upper": (0.8).hex()}
    tie = {"kind": "counterexample", "rival": 1, "point": ["-0x1p-1", "-0x1p-1"]}
    rivals = [{"rival": 1, "lower": (0.7).hex(), "proof": {"kind": "hyperplane"}}]
    verdict = check(*write(tmp_path, NET, certificate(NET, [0.0, 0.0], 0, claim, rivals, tie)))
    # The double 0.7 is a little below the decimal, the double 0.8 a little above: shortest digits would point inward.
    assert verdict.reason.startswith(
        "class 0: the margin lies in [0.6999999999999999, 0.8000000000000001], an L2 distance ("
    )


def test_decimals_bracket_every_number() -> None:
    generator = random.Random(0)
    for _ in range(2000):
        value = fmpq(generator.getrandbits(generator.randint(1, 200)), 1) / 2 ** generator.randint(0, 1200)
        value = value * generator.choice((-1, 1, 1 << 900))
        exact = Fraction(int(value.p), int(value.q))
        low, high = Fraction(rounded_down(value)), Fraction(rounded_up(value))
        assert low <= exact <= high
        assert high - low <= abs(exact) * Fraction(2, 10**15) + Fraction(5e-324)
    for exact_value, text in ((fmpq(1, 2), "0.5"), (fmpq(0), "0.0"), (fmpq(3), "3.0"), (None, "inf")):
        assert rounded_down(exact_value) == rounded_up(exact_value) == text
    assert rounded_down(fmpq(10) ** 400) == "1.000000000000000E+400"


def test_a_refusal_prints_two_numbers_in_their_order(tmp_path: Path) -> None:
    document = robust("0x1p-1")
    document["rivals"][0]["lower"] = ["0x1p-1", "-0x1p-100"]
    assert "lower bound 0.4999999999999999 is below the claimed 0.5" in check(*write(tmp_path, NET, document)).reason


def test_a_rival_is_named_once(tmp_path: Path) -> None:
    verdict = check(*write(tmp_path, NET, robust("0x1p0")))
    assert verdict.reason == "rival 1: the hyperplane is nearer than the stated lower bound"


@pytest.mark.parametrize(
    "name", ["a\nPROVED: class 0.json", "b\rPROVED: \x1b[2K.json", "PROVED: c.json", "d\u2028e.json"]
)
def test_no_file_name_can_look_like_a_verdict(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    model, good = write(tmp_path, NET, robust("0x1p-1"))
    strange = tmp_path / name
    for content in ("{}", None):
        if content is None:
            strange.unlink()
        else:
            strange.write_text(content)
        for arguments in ([strange], [strange, good], [good, strange]):
            main([str(model), *map(str, arguments)])
            lines = capsys.readouterr().out.splitlines()
            assert [line.startswith("PROVED: ") for line in lines] == [argument is good for argument in arguments]
            assert all(line.isprintable() for line in lines)
    assert main([str(strange), str(good)]) == 2
    assert all(line.startswith("UNUSABLE: ") for line in capsys.readouterr().out.splitlines())


def test_readable_text_is_left_alone() -> None:
    assert one_line("Größe ‖x‖ \\ 'a' \"b\"") == "Größe ‖x‖ \\ 'a' \"b\""
    assert one_line("\n\x1b\u202e\udcff") == "\\n\\x1b\\u202e\\udcff"
    assert np.all([one_line(chr(code)).isprintable() for code in range(0x3000)])
