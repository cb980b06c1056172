"""The comparison of printed output passes what differs from machine to machine and nothing else."""

from __future__ import annotations

import doctest

import pytest
from number_aware import TRAINED, agree

SAME = {
    "last bit": ("0.75", "0.7500000000000001"),
    "last bit above": ("([3.0, 4.0], 5.0)", "([3.0000000000000004, 3.9999999999999996], 5.0)"),
    "rounding beside zero": ("[0.0, 2.5]", "[-1.1e-17, 2.5]"),
    "signed zero": ("-0.0", "0.0"),
    "sixth digit": ("0.336204", "0.336203"),
    "exponent": ("2.5e-07", "2.5000000000000004e-07"),
    "complex": ("(1.5-2.25j)", "(1.5000000000000002-2.25j)"),
    "array that grew": ("array([20. , 60.5])", "array([20.        , 60.50000000001])"),
    "spaces": ("point   class\n 0  1", "point class\n   0      1\n"),
    "time": ("1  0.25  ... ms\n2  0.5  ... ms", "1  0.25  12 ms\n2  0.5  3.1 ms"),
    "beginning and end": ("... 36 ...", "the ED degree is 36 by a formula"),
    "end of a sentence": ("a distance of at most 0.2.", "a distance of at most 0.20000000000000001."),
}
DIFFERENT = {
    "third digit": ("0.751", "0.752"),
    "a third digit that is not written": ("0.75", "0.751"),
    "eighth of sixteen digits": ("0.3362040123456789", "0.3362040223456789"),
    "sixth digit by two": ("0.336204", "0.336206"),
    "sign": ("-0.75", "0.75"),
    "not zero": ("0.0", "1e-9"),
    "not small": ("2e-16", "4e-16"),
    "integer": ("16 / 8", "17 / 8"),
    "large integer": ("1000000000000", "1000000000001"),
    "integer for a float": ("1", "1.0"),
    "digits of a word": ("n8-eps0.5", "n8-eps0.50"),
    "version": ("0.1.0", "0.10.0"),
    "imaginary": ("1.5", "1.5j"),
    "word": ("ROBUST 0.5", "VULNERABLE 0.5"),
    "joined words": ("a bc", "ab c"),
    "something missing": ("0.5 0.25", "0.5"),
    "something more": ("0.5", "0.5 0.25"),
    "missing after anything": ("1 ... 36", "1 and 35"),
    "pieces that overlap": ("1 2 ... 2 3", "1 2 3"),
    "order": ("... 2 ... 1 ...", "1 2"),
    "nan": ("0.5", "nan"),
}


@pytest.mark.parametrize(("want", "got"), SAME.values(), ids=SAME.keys())
def test_what_a_machine_may_change_passes(want: str, got: str) -> None:
    assert agree(want, got)


@pytest.mark.parametrize(("want", "got"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_what_it_may_not_change_fails(want: str, got: str) -> None:
    assert not agree(want, got)


def test_doctests_are_compared_this_way() -> None:
    """In this session and by pytest's own collection, whose checker asks the one of the standard library."""
    checker = doctest.OutputChecker()
    assert checker.check_output("0.75\n", "0.7500000000000001\n", 0)
    assert checker.check_output("1\n<BLANKLINE>\n0.5\n", "1\n\n0.5000000000000001\n", 0)
    assert not checker.check_output("0.75\n", "0.751\n", 0)


@pytest.mark.parametrize(("printed", "passes"), [("0.1 + 0.2", True), ("0.3001", False), ("3", False)])
def test_collected_doctests(printed: str, passes: bool, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(example=f'"""\n>>> {printed}\n0.3\n"""')
    found = pytester.inline_run("--doctest-modules", "-p", "no:cacheprovider")
    found.assertoutcome(passed=int(passes), failed=int(not passes))


def test_training_magnifies_last_bits_and_changes_nothing_else() -> None:
    assert agree("class 0 at 0.1569155981", "class 0 at 0.1569155987", TRAINED)
    assert not agree("class 0 at 0.1569155981", "class 0 at 0.1579155981", TRAINED)
    assert not agree("class 0 at 0.1569155981", "class 1 at 0.1569155981", TRAINED)
