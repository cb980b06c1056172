"""The tree of a region proof: every part needs its own proof, and no part is proved by that of another.

The network is B = 1 + x₀/2 − x₀² − x₁² by hand, around the point 0. On |x| ≤ r it is least at (−r, ±r).
"""

from __future__ import annotations

import gc
import weakref
from array import array
from collections import Counter
from typing import Any

import pytest
from checker.product_programs import mixed_program
from flint import fmpq

from polymargin_checker import arithmetic as arithmetics
from polymargin_checker import region_proof
from polymargin_checker.enclosures import Balls
from polymargin_checker.floats import Floats
from polymargin_checker.neighbourhood import PLAIN, StatedNeighbourhood
from polymargin_checker.refusal import Refused
from polymargin_checker.region_proof import KnownExpansions, check_region
from polymargin_checker.views import Matrix, Model

U = (fmpq(0), fmpq(0))
LINEAR = {"linear": "point"}


def network() -> Model:
    """x₀/2 − x₀² is the activation 1/16 − (z)² at z = x₀ − 1/4."""
    return Model(
        (
            Matrix(2, 2, array("d", [1.0, 0.0, 0.0, 1.0])),
            Matrix(3, 2, array("d", [-1.0, -1.0, 0.0, 0.0, 0.0, 0.0])),
        ),
        (array("d", [-0.25, 0.0]), array("d", [1.0625, 0.0, 2.0])),
        ((0.0, 0.0, 1.0),),
    )


def near(norm: str = "linf", **changes: Any) -> StatedNeighbourhood:
    fields = {"weights": None, "low": None, "high": None, "movable": None, "rivals": None, "abstain": fmpq(0)}
    return StatedNeighbourhood(norm, **{**fields, **changes})


def known_of(stated: StatedNeighbourhood, exact: bool = False) -> KnownExpansions:
    return KnownExpansions(network(), exact, stated, U)


def judged(
    tree: Any,
    radius: str = "0x1p-1",
    stated: StatedNeighbourhood | None = None,
    known: KnownExpansions | None = None,
    rival: int = 1,
    lead: fmpq = fmpq(1),  # noqa: B008
    **more: Any,
) -> str:
    proof = {"kind": "region", "radius": radius, "tree": tree, **more}
    around = known_of(stated or near()) if known is None else known
    try:
        found = check_region(around, 0, rival, proof, lead)
    except Refused as refusal:
        return str(refusal)
    assert found == fmpq(*float.fromhex(radius).as_integer_ratio())
    return "proved"


def split(coordinate: Any, value: Any, low: Any, high: Any) -> dict[str, Any]:
    return {"split": [coordinate, value], "low": low, "high": high}


def quadratic(centre: str = "point", box: str = "0x1p+0", norm: str = "0x0p+0") -> dict[str, Any]:
    return {
        "quadratic": centre,
        "box": [box] * 2,
        "norm": norm,
        "rests": None,
        "shifts": None,
        "minorants": [None],
    }


def test_one_leaf_proves_what_it_can() -> None:
    assert judged(LINEAR) == "proved"  # 1 − 1/4 − 1/4 − 1/4
    assert judged({"linear": "middle"}) == "proved"
    assert judged(LINEAR, rival=2) == "leaf 0: ranges do not prove that the label stays ahead"
    assert judged(LINEAR, "0x1.4p-1").startswith("leaf 0: ranges do not prove")  # 1 − 5/16 − 25/32 < 0
    assert judged(quadratic(box="0x1.8p+0")) == "proved"
    assert "positive definite" in judged(quadratic(box="0x1.8p+0"), "0x1.4p-1")
    assert "positive definite" in judged(quadratic(box="0x1.ep-1"))
    assert judged(quadratic(box="0x0p+0", norm="0x1.2p+0"), "0x1.4p-1", PLAIN) == "proved"
    assert "positive definite" in judged(quadratic(box="0x0p+0", norm="0x1.2p+0"), "0x1p+0", PLAIN)


@pytest.mark.parametrize("leaf", [LINEAR, quadratic(box="0x1.8p+0")], ids=["linear", "quadratic"])
def test_the_lead_is_asked_for_everywhere(leaf: dict[str, Any]) -> None:
    """The least value is 1/4; the form of the multipliers loses a little."""
    assert judged(leaf, stated=near(abstain=fmpq(1, 16))) == "proved"
    assert judged(leaf, stated=near(abstain=fmpq(1, 4))) != "proved"


TWO = split(0, "0x0p+0", split(1, "0x0p+0", LINEAR, LINEAR), LINEAR)


def test_both_parts_of_every_split_are_proved() -> None:
    """With r = 5/8 the part x₀ < 0 has points with B < 0, the other has none."""
    assert judged(split(0, "0x0p+0", LINEAR, LINEAR)) == "proved"
    assert judged(TWO) == "proved"
    assert judged(split(1, "0x0p+0", LINEAR, split(0, "0x0p+0", LINEAR, LINEAR))) == "proved"
    for coordinate in (0, 1):
        for side in ("low", "high"):
            tree = split(coordinate, "0x0p+0", LINEAR, LINEAR) | {side: {"empty": True}}
            assert "is not shown to be empty" in judged(tree)
    assert judged(split(0, "0x0p+0", LINEAR, LINEAR), "0x1.4p-1").startswith("leaf 0: ranges do not prove")
    stated = near(low=(fmpq(0), None), high=(None, None))
    assert judged(LINEAR, "0x1.4p-1", stated) == "proved"
    assert judged(split(1, "0x1p-2", LINEAR, LINEAR), "0x1.4p-1", stated) == "proved"
    stated = near(low=(None, None), high=(fmpq(0), None))
    assert judged(LINEAR, "0x1.4p-1", stated).startswith("leaf 0")
    nested = split(0, "-0x1p-1", LINEAR, split(0, "0x1p-2", LINEAR, LINEAR))
    assert judged(nested, "0x1.4p-1").startswith("leaf 0")


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        (split(0, "-0x1p-1", LINEAR, LINEAR), "a split value lies outside the range of coordinate 0"),  # the end itself
        (split(1, "0x1p-1", LINEAR, LINEAR), "a split value lies outside the range of coordinate 1"),
        (split(1, "0x1p+1", LINEAR, LINEAR), "a split value lies outside the range of coordinate 1"),
        (split(2, "0x0p+0", LINEAR, LINEAR), "split, coordinate"),
        (split(-1, "0x0p+0", LINEAR, LINEAR), "split, coordinate"),
        (split(0, "0x0p+0", LINEAR, LINEAR) | {"more": 1}, "a split of the tree"),
        ({"split": [0], "low": LINEAR, "high": LINEAR}, "split"),
        ({"empty": True}, "leaf 0: the part is not shown to be empty"),
        ({"empty": 1}, "leaf 0: the part is not shown to be empty"),
        ({"empty": True, "linear": "point"}, "leaf 0"),
        ({"linear": "origin"}, "leaf 0: expanded at 'origin'; expected 'point' or 'middle'"),
        ({"linear": ["point"]}, "leaf 0: expanded at"),
        ({"linear": "point", "quadratic": "point"}, "leaf 0"),
        ({}, "leaf 0: expanded at None"),
        (["linear"], "leaf 0: expanded at None"),
        ("empty", "leaf 0: expanded at None"),
        (None, "leaf 0: expanded at None"),
        (split(0, "0x0p+0", LINEAR, {"linear": ""}), "leaf 1: expanded at ''"),
    ],
)
def test_what_a_tree_may_not_say(tree: Any, reason: str) -> None:
    assert judged(tree).startswith(reason)


def test_empty_leaves() -> None:
    """In the corner x₀, x₁ > 2/5 there is no point of the ball of radius 1/2; at 3/10 there is one, at 2/5 it is its edge."""
    far, close, edge = "0x1.ap-2", "0x1.3p-2", (0.4).hex()
    for value, proved in ((far, True), (close, False), (edge, False)):
        tree = split(
            0, value if value != edge else "0x1.3333333333333p-2", LINEAR, split(1, value, LINEAR, {"empty": True})
        )
        found = judged(tree, stated=PLAIN)
        assert found == "proved" if proved else "leaf 2: the part is not shown to be empty"
        for other in ({"empty": 1}, {"empty": True, "more": 1}):
            assert judged(tree | {"high": split(1, value, LINEAR, other)}, stated=PLAIN).startswith("leaf 2: ")


def test_a_part_that_was_expanded_is_not_the_whole() -> None:
    """Where −1/4 ≤ x₀ ≤ 11/16 the parts on both sides of 0 are proved, the whole is not; nor is one radius or centre another."""
    wide, halves = "0x1.6p-1", split(0, "0x0p+0", LINEAR, LINEAR)
    known = known_of(near(low=(fmpq(-1, 4), None), high=(None, None)))
    assert judged(halves, wide, known=known) == "proved"
    assert known.whole == {}
    assert judged(LINEAR, wide, known=known) != "proved"
    assert stored(known) == {"point": fmpq(11, 16)}
    assert judged(halves, wide, known=known) == "proved"
    known = known_of(near())
    assert judged(LINEAR, known=known) == "proved"
    first = known.whole["point"][-1]
    assert judged(LINEAR, known=known) == "proved"
    assert known.whole["point"][-1] is first
    assert judged({"linear": "middle"}, known=known) == "proved"
    assert judged(LINEAR, "0x1.8p-1", known=known) != "proved"
    assert stored(known) == {"middle": fmpq(1, 2), "point": fmpq(3, 4)}
    assert judged(LINEAR, known=known) == "proved"
    assert "fewer entries" not in judged(LINEAR | {"ranges": [None]}, known=known)
    assert "more entries" in judged(LINEAR | {"ranges": [None]}, known=known)


def stored(known: KnownExpansions) -> dict[str, fmpq]:
    return {centre: radius for centre, (radius, _, _) in known.whole.items()}


def test_expansions_do_not_pile_up() -> None:
    """A certificate may name as many radii as it has rivals; one expansion of a large model takes a gigabyte."""
    known, alive = known_of(near()), []
    for k in range(1, 30):
        for centre in ("point", "middle"):
            judged({"linear": centre}, f"0x{k:x}p-6", known=known)
            alive.append(weakref.ref(known.whole[centre][-1]))
    gc.collect()
    assert sum(expansion() is not None for expansion in alive) == 2


def test_the_centre_is_the_point_or_the_middle_of_the_part() -> None:
    known = known_of(near(low=(fmpq(-1, 4), None), high=(None, fmpq(1, 8))))
    for centre in ("point", "middle"):
        assert judged({"linear": centre}, known=known) == "proved"
    assert list(known.whole["point"][-1].centre) == [0, 0]
    assert list(known.whole["middle"][-1].centre) == [fmpq(1, 8), fmpq(-3, 16)]


def test_where_nothing_may_move_the_point_is_all_there_is() -> None:
    still = {"low": U, "high": U, "abstain": fmpq(1, 4)}
    for lead, found in ((fmpq(1, 2), "proved"), (fmpq(1, 4), "refused"), (fmpq(1, 8), "refused")):
        answer = judged(None, stated=near(**still), lead=lead)
        assert answer == found if found == "proved" else answer.startswith("the label does not lead at the point")


def test_the_radius_is_positive_and_nothing_else_is_said() -> None:
    assert judged(LINEAR, "0x0p+0") == "the radius of the region proof is not positive"
    assert judged(LINEAR, "-0x1p-1") == "the radius of the region proof is not positive"
    assert judged(LINEAR, more=1).startswith("region proof")


@pytest.mark.parametrize(("exact", "largest", "arithmetic"), [(False, 4, Balls), (False, 3, Floats), (True, 3, Balls)])
def test_doubles_are_for_models_of_many_values(
    exact: bool, largest: int, arithmetic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two inputs and two neurons."""
    monkeypatch.setattr(arithmetics, "LARGEST_EXACT", largest)
    assert known_of(near(), exact).prepared().arithmetic is arithmetic


def test_models_of_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(region_proof, "LARGEST_SPACE", 4)
    assert judged(LINEAR) == "proved"
    monkeypatch.setattr(region_proof, "LARGEST_SPACE", 3)
    assert judged(LINEAR) == "a proof on a region of a model of 4 values; this checker accepts up to 3"


def test_all_values_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs and neurons, inputs and values of stages."""
    sizes = [(4, 2), (3, 4), (2, 3)]
    deep = Model(
        tuple(Matrix(rows, columns, array("d", [1.0] * (rows * columns))) for rows, columns in sizes),
        tuple(array("d", [0.0] * rows) for rows, _ in sizes),
        ((0.0, 0.0, 1.0),) * 2,
    )
    monkeypatch.setattr(region_proof, "LARGEST_SPACE", 0)
    for model, count in ((deep, 9), (mixed_program(), 8)):
        with pytest.raises(Refused, match=f"a model of {count} values"):
            KnownExpansions(model, False, near(), U).prepared()


def test_work_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    monkeypatch.setattr(region_proof, "spend", lambda products, bits, what: asked.update({what: products}))
    judged(split(0, "0x1.ap-2", LINEAR, split(1, "0x1.ap-2", LINEAR, {"empty": True})), stated=PLAIN)
    assert asked["the splits of a region proof"] >= 4
    assert asked["leaf 2"] >= 2
