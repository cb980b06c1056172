"""Rows of a batch are made when somebody asks for them: what they say is the same, however and whenever that is."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, fields, replace
from threading import Thread
from typing import Any

import numpy as np
import pytest

import polymargin as pm
from polymargin.margins.gathered import gathered
from polymargin.margins.result import Margin, margin_with
from polymargin.margins.table import TableRows
from polymargin.standing import Standing

QUADRATIC = pm.PolynomialNetwork(
    [
        (np.random.default_rng(1).normal(size=(8, 5)), np.random.default_rng(2).normal(size=8)),
        (np.random.default_rng(3).normal(size=(4, 8)), np.random.default_rng(4).normal(size=4)),
    ],
    degree=2,
)
POINTS = np.random.default_rng(5).normal(size=(12, 5))
GIVEN = Margin(2.5, 2.5, 2.5, None, 0, 1, Standing.NUMERICAL, "quadric", 0.0, notes=("met",))


def batch() -> pm.Margins:
    return pm.margin(QUADRATIC, POINTS, proof=False)


def plain(margin: pm.Margin) -> dict[str, Any]:
    return {name: value for name, value in margin.to_dict().items() if name != "seconds"}


ALONE = [plain(pm.margin(QUADRATIC, point, proof=False)) for point in POINTS]


def unpacked(*rows: Any) -> list[Any]:
    return list(rows)


def matched(found: Any) -> list[Any]:
    match found:
        case [first, *others]:
            return [first, *others]
    raise AssertionError


# Everything that gives the rows in their order.
LOOKS: dict[str, Callable[[Any], Sequence[Margin]]] = {
    "iterated over": lambda rows: [row for row in rows],  # noqa: C416
    "by number": lambda rows: [rows[np.int64(place)] for place in range(len(rows))],
    "from the end": lambda rows: [rows[place] for place in range(-len(rows), 0)],
    "slices": lambda rows: [*rows[:5], *rows[5:]],
    "a slice backwards": lambda rows: rows[::-1][::-1],
    "reversed": lambda rows: list(reversed(rows))[::-1],
    "list": list,
    "starred": lambda rows: unpacked(*rows),
    "matched": matched,
    "added to a list": lambda rows: [].__iadd__(rows),
}


@pytest.mark.parametrize("look", LOOKS)
def test_every_way_to_the_rows_leads_to_the_same(look: str) -> None:
    found = batch()
    rows = LOOKS[look](found)
    assert [plain(row) for row in rows] == ALONE
    assert {type(row) for row in rows} == {Margin}
    assert all(row is found[place] for place, row in enumerate(rows))
    assert found == rows


def test_as_an_array_a_batch_is_its_radii() -> None:
    assert np.array(batch(), dtype=object).tolist() == [row["radius"] for row in ALONE]


@pytest.mark.parametrize("travel", [copy.copy, copy.deepcopy, lambda rows: pickle.loads(pickle.dumps(rows))])
def test_copies_of_a_batch_that_nobody_has_read(travel: Callable[[pm.Margins], pm.Margins]) -> None:
    whole = travel(batch())
    assert type(whole) is pm.Margins
    assert [plain(row) for row in whole] == ALONE
    assert whole.radii.tolist() == batch().radii.tolist()


def test_a_batch_is_a_sequence_that_does_not_change() -> None:
    found: Any = batch()
    assert isinstance(found, Sequence)
    assert not isinstance(found, list)
    assert not hasattr(found, "append")
    with pytest.raises(TypeError):
        found[0] = found[1]
    for place in (len(POINTS), -len(POINTS) - 1):
        with pytest.raises(IndexError):
            found[place]
    assert (found.index(found[4]), found.count(found[4]), found[4] in found, None in found) == (4, 1, True, False)


def test_a_batch_is_equal_to_sequences_of_the_same_rows() -> None:
    """Rows are equal to themselves alone."""
    found = batch()
    same: Any
    for same in (found, list(found), tuple(found), pm.Margins(found)):
        assert found == same
        assert same == found
    other: Any
    for other in (batch(), list(found)[::-1], found[:-1], [None] * len(found), None, 3):
        assert found != other
        assert other != found


def test_radii_are_read_without_making_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    found = batch()
    with monkeypatch.context() as patched:
        patched.setattr(TableRows, "__getitem__", None)
        radii = found.radii
        assert (len(found), bool(found)) == (len(POINTS), True)
    assert radii.tolist() == [row.radius for row in found] == [row["radius"] for row in ALONE]
    radii[:] = 0.0  # the caller's own
    assert found.radii.tolist() == [row.radius for row in found]


def test_rows_do_not_need_the_arrays_that_were_given_nor_the_batch() -> None:
    mine = POINTS.copy()
    found, row = pm.margin(QUADRATIC, mine, proof=False), pm.margin(QUADRATIC, mine, proof=False)[3]
    mine[:] = np.nan
    gc.collect()
    assert plain(row) == plain(found[3]) == ALONE[3]


def test_rows_of_a_batch_are_as_complete_and_as_frozen_as_any() -> None:
    values = {item.name: getattr(GIVEN, item.name) for item in fields(Margin)}
    assert vars(margin_with(values)) == vars(GIVEN)
    row = batch()[0]
    assert row.error is None
    with pytest.raises(FrozenInstanceError):
        row.radius = 1.0  # type: ignore[misc]


def test_batches_are_gathered_in_the_order_of_their_places() -> None:
    rows = list(batch())
    parts = [(np.array([4, 1]), batch()[:2]), (np.array([0, 3]), [rows[2], rows[3]]), (np.array([2]), [rows[4]])]
    found = gathered(parts, lambda row, place: replace(row, notes=(f"row {place}",)))
    assert found.radii.tolist() == [row.radius for row in found] == [rows[i].radius for i in (2, 1, 4, 3, 0)]
    assert [row.notes for row in found] == [(f"row {place}",) for place in range(5)]


def test_a_row_is_made_once() -> None:
    told: list[int] = []

    def tell(row: Margin, place: int) -> Margin:
        told.append(place)
        return replace(row)

    found = gathered([(np.arange(3), [GIVEN] * 3)], tell)
    assert found[1] is found[-2] is found[1:][0] is list(found)[1]
    assert told == [1, 2, 0]


def test_two_threads_that_ask_at_once_get_the_same_row() -> None:
    seen: list[Margin] = []

    def tell(row: Margin, place: int) -> Margin:
        if not seen:  # another thread asks while this one makes the row
            seen.append(row)
            other = Thread(target=lambda: seen.append(found[0]))
            other.start()
            other.join()
        return replace(row)

    found = gathered([(np.arange(1), [GIVEN])], tell)
    assert found[0] is seen[1] is found[0]


def test_a_row_that_could_not_be_made_is_made_the_next_time() -> None:
    tries: list[int] = []

    def tell(row: Margin, place: int) -> Margin:
        tries.append(place)
        if len(tries) == 1:
            raise KeyboardInterrupt
        return row

    found = gathered([(np.arange(1), [GIVEN])], tell)
    with pytest.raises(KeyboardInterrupt):
        _ = found[0]
    assert (found.radii.tolist(), found[0].notes, tries) == ([2.5], ("met",), [0, 0])


def test_images_and_names_are_told_as_they_were_when_margin_was_called() -> None:
    """Two classes either side of x = 2: the nearest tie of a point in [0, 1]² is no image."""
    net = pm.PolynomialNetwork([(np.eye(2), np.zeros(2)), ([[1.0, 0.0], [0.0, 0.0]], [0.0, 4.0])], degree=2)
    net.class_names = ("far", "near")
    found = pm.margin(net, [[0.5, 0.5], [-0.5, 0.5]], proof=False)
    net.class_names = ("other", "words")
    assert found.radii == pytest.approx([1.5, 1.5])
    inside, outside = found
    assert "leaves [0, 1]" in " ".join(inside.notes)
    assert outside.notes == ()
    assert (inside.label_name, inside.rival_name) == (outside.label_name, outside.rival_name) == ("near", "far")
