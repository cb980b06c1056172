"""Rows of a batch are made when somebody looks at them: what they say is the same, however and whenever that is."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, replace
from threading import Thread
from typing import Any

import numpy as np
import pytest

import polymargin as pm
from polymargin.margins.result import Margin
from polymargin.margins.unread import UnreadMargin, UnreadMargins, gathered, later, unread_margins
from polymargin.standing import Standing

QUADRATIC = pm.PolynomialNetwork(
    [
        (np.random.default_rng(1).normal(size=(8, 5)), np.random.default_rng(2).normal(size=8)),
        (np.random.default_rng(3).normal(size=(4, 8)), np.random.default_rng(4).normal(size=4)),
    ],
    degree=2,
)
POINTS = np.random.default_rng(5).normal(size=(12, 5))


def unread() -> pm.Margins:
    found = pm.margin(QUADRATIC, POINTS)
    assert type(found) is UnreadMargins
    return found


def batch() -> pm.Margins:
    found = unread()
    assert all(type(row) is UnreadMargin for row in found)
    assert type(found) is pm.Margins
    return found


def plain(margin: pm.Margin) -> dict[str, Any]:
    return {name: value for name, value in margin.to_dict().items() if name != "seconds"}


ALONE = [plain(pm.margin(QUADRATIC, point)) for point in POINTS]

LOOKS: dict[str, Callable[[Margin], object]] = {
    "a field": lambda row: row.point,
    "a field with a default": lambda row: row.notes,
    "the pairs": lambda row: row.pairs[0].radius,
    "a property": lambda row: row.label_name,
    "a method": lambda row: row.to_row(),
    "repr": repr,
    "vars": vars,
    "asdict": lambda row: asdict(replace(row, pairs=())),
    "hasattr": lambda row: hasattr(row, "nonsense"),
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "an array": lambda row: np.array([row], dtype=object),
}


@pytest.mark.parametrize("look", LOOKS)
def test_whatever_is_looked_at_first_the_row_is_a_margin_from_then_on(look: str) -> None:
    for row, alone in zip(batch(), ALONE, strict=True):
        LOOKS[look](row)
        assert type(row) is Margin
        assert "_source" not in vars(row)
        assert plain(row) == alone


@pytest.mark.parametrize("travel", [copy.copy, copy.deepcopy, lambda row: pickle.loads(pickle.dumps(row)), replace])
def test_copies_of_unread_rows_are_margins(travel: Callable[[Any], Any]) -> None:
    assert [plain(travel(row)) for row in batch()] == ALONE
    whole = batch() if travel is replace else travel(batch())
    assert type(whole) is pm.Margins
    assert [plain(row) for row in whole] == ALONE
    assert {type(travel(row)) for row in batch()} == {Margin}


def changed(found: list[Any], change: Callable[[list[Any]], object]) -> list[Any]:
    change(found)
    return found


def unpacked(*rows: Any) -> list[Any]:
    return list(rows)


def matched(found: Any) -> list[Any]:
    match found:
        case [first, *others]:
            return [*others, first]
    raise AssertionError


# What becomes of a list; `other` is a row that is not in it.
LIST_LOOKS: dict[str, Callable[[Any, Any], list[Any]]] = {
    "iterated over": lambda rows, other: [row for row in rows],  # noqa: C416
    "first and last": lambda rows, other: [rows[0], rows[-1]],
    "slice": lambda rows, other: rows[2:9:3],
    "reversed": lambda rows, other: list(reversed(rows)),
    "list": lambda rows, other: list(rows),
    "tuple": lambda rows, other: list(tuple(rows)),  # noqa: C414
    "starred": lambda rows, other: unpacked(*rows),
    "unpacked": lambda rows, other: (lambda first, *others: others)(*rows),
    "matched": lambda rows, other: matched(rows),
    "sorted": lambda rows, other: sorted(rows, key=lambda row: row.radius),
    "array": lambda rows, other: np.array(rows, dtype=object).tolist(),
    "added to": lambda rows, other: rows + [other],  # noqa: RUF005
    "added": lambda rows, other: [other] + rows,  # noqa: RUF005
    "added to itself": lambda rows, other: rows + rows,
    "doubled": lambda rows, other: rows * 2,
    "doubled from the left": lambda rows, other: 2 * rows,
    "in place": lambda rows, other: changed(rows, lambda it: it.__iadd__([other])),
    "doubled in place": lambda rows, other: changed(rows, lambda it: it.__imul__(2)),
    "extended": lambda rows, other: changed(rows, lambda it: it.extend([other])),
    "extending": lambda rows, other: changed([other], lambda it: it.extend(rows)),
    "put into a slice": lambda rows, other: changed([other], lambda it: it.__setitem__(slice(0, 0), rows)),
    "copied": lambda rows, other: rows.copy(),
    "appended to": lambda rows, other: changed(rows, lambda it: it.append(other)),
    "inserted into": lambda rows, other: changed(rows, lambda it: it.insert(1, other)),
    "replaced": lambda rows, other: changed(rows, lambda it: it.__setitem__(1, other)),
    "deleted from": lambda rows, other: changed(rows, lambda it: it.__delitem__(1)),
    "popped": lambda rows, other: changed(rows, lambda it: it.pop()),
    "removed": lambda rows, other: changed(rows, lambda it: it.remove(it[2])),
    "turned round": lambda rows, other: changed(rows, lambda it: it.reverse()),
    "sorted in place": lambda rows, other: changed(rows, lambda it: it.sort(key=lambda row: row.radius)),
    "cleared": lambda rows, other: changed(rows, lambda it: it.clear()),
    "index": lambda rows, other: [rows[rows.index(rows[4])]],
    "told": lambda rows, other: [rows[0]] if repr(rows) == "Margins(12 points: 12 NUMERICAL)" else [],
    "shown": lambda rows, other: [rows[0]] if "12 NUMERICAL" in rows._repr_html_() else [],
}


@pytest.mark.parametrize("look", LIST_LOOKS)
def test_whatever_is_done_with_a_batch_first_its_rows_are_there(look: str) -> None:
    other, found = pm.margin(QUADRATIC, POINTS[0] / 2), unread()
    told, expected = LIST_LOOKS[look](found, other), LIST_LOOKS[look](pm.Margins(list(unread())), other)
    assert [plain(row) for row in told] == [plain(row) for row in expected]
    assert type(told) is type(expected)
    assert type(found) is pm.Margins
    assert vars(found) == {}


@pytest.mark.parametrize(
    "relation", ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__", "count"]
)
def test_an_unread_batch_compares_as_a_read_one(relation: str) -> None:
    """Rows are equal to themselves alone, so what is compared is never the same but for the batch itself."""
    found, read = unread(), list(unread())
    if relation in ("__contains__", "count"):
        row = found[3]
        assert getattr(found, relation)(row) == getattr(list(found), relation)(row) == 1
        assert getattr(unread(), relation)(None) == getattr(read, relation)(None) == 0
        return
    if relation in ("__eq__", "__ne__"):
        assert getattr(unread(), relation)(unread()) is getattr(read, relation)(list(unread()))
        assert getattr(unread(), relation)([None] * len(POINTS)) is (relation == "__ne__")
        assert getattr(found, relation)(found) is (relation == "__eq__")
        assert (([None] * len(POINTS)) == unread()) is False
        return
    with pytest.raises(TypeError):  # margins have no order
        getattr(unread(), relation)(unread())
    assert getattr(unread(), relation)([]) is getattr(read, relation)([])


def test_every_method_of_a_list_that_sees_rows_is_one_of_an_unread_batch() -> None:
    shared = {name for name, what in vars(list).items() if callable(what) and name not in vars(UnreadMargins)}
    assert shared == {"__new__", "__len__", "__getattribute__", "__sizeof__", "__class_getitem__"}


def test_two_threads_that_look_at_a_batch_at_once_see_the_same_rows() -> None:
    seen: list[Any] = []
    others: list[Thread] = []

    def told(rows: list[Margin], places: Any) -> list[Margin]:
        others.append(Thread(target=lambda: seen.append((found[0], found.radii.tolist()))))
        others[-1].start()
        return list(rows)

    found = gathered([(np.arange(1), unread_margins(Watched(lambda: None), 1))], told)
    first = found[0]
    (other,) = others
    other.join()
    assert seen == [(first, [2.5])]


def test_a_batch_that_could_not_be_made_is_made_the_next_time() -> None:
    tries: list[int] = []

    def told(rows: list[Margin], places: Any) -> list[Margin]:
        tries.append(len(rows))
        if len(tries) == 1:
            raise KeyboardInterrupt
        return list(rows)

    found = gathered([(np.arange(1), unread_margins(Watched(lambda: None), 1))], told)
    with pytest.raises(KeyboardInterrupt):
        _ = found[0]
    assert found.radii.tolist() == [2.5]
    assert (len(found), found[0].notes, tries) == (1, ("met",), [1, 1])


def test_batches_are_gathered_in_the_order_of_their_places() -> None:
    rows = list(unread())
    parts = [(np.array([4, 1]), unread()[:2]), (np.array([0, 3]), [rows[2], rows[3]]), (np.array([2]), [rows[4]])]
    found = gathered(parts, lambda part, places: list(part))
    assert found.radii.tolist() == [row.radius for row in found] == [rows[i].radius for i in (2, 1, 4, 3, 0)]


def test_radii_are_read_without_making_a_row() -> None:
    found = unread()
    radii = found.radii
    assert (type(found), len(found), bool(found)) == (UnreadMargins, len(POINTS), True)
    assert all(type(row) is UnreadMargin for row in found)
    assert found.radii.tolist() == radii.tolist()
    assert radii.tolist() == [row.radius for row in found] == [row["radius"] for row in ALONE]
    assert [row.upper for row in found] == radii.tolist()
    assert found.radii.tolist() == radii.tolist()


def test_rows_do_not_need_the_arrays_that_were_given_nor_the_batch() -> None:
    mine = POINTS.copy()
    row, single = pm.margin(QUADRATIC, mine)[3], pm.margin(QUADRATIC, mine[3])
    mine[:] = np.nan
    gc.collect()
    assert plain(row) == plain(single) == ALONE[3]


def test_a_batch_is_a_list_like_any_other() -> None:
    found = batch()
    assert isinstance(found, list)
    assert found == list(found)
    assert found[2:5] == [found[2], found[3], found[4]]
    assert [*found[:1], *found[1:]] == found[:1] + found[1:] == found
    assert sorted(found, key=lambda row: row.radius)[0].radius == found.radii.min()
    assert len({id(row) for row in found} | {id(row) for row in reversed(found)}) == len(POINTS)
    assert found.standings == [Standing.NUMERICAL] * len(POINTS)


def test_an_unread_row_is_as_frozen_as_a_read_one() -> None:
    for name in ("radius", "notes", "nonsense"):
        first, second = batch()[:2]
        with pytest.raises(FrozenInstanceError):
            setattr(first, name, 1.0)
        with pytest.raises(FrozenInstanceError):
            delattr(second, name)
        assert [plain(first), plain(second)] == ALONE[:2]


class Watched:
    """A row that does something while it is made."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self.meanwhile, self.calls = meanwhile, 0

    @property
    def radii(self) -> list[float]:
        return [2.5]

    def fields(self, place: int) -> dict[str, Any]:
        self.calls += 1
        if self.calls == 1:
            self.meanwhile()
        given = Margin(2.5, 2.5, 2.5, None, 0, 1, Standing.NUMERICAL, "quadric", 0.0, notes=("met",))
        return dict(vars(given))


def test_two_threads_that_look_at_once_see_the_same() -> None:
    seen: list[Any] = []

    def other() -> None:
        thread = Thread(target=lambda: seen.append((row.notes, row.radius, type(row))))
        thread.start()
        thread.join()

    source = Watched(other)
    (row,) = unread_margins(source, 1)
    assert (row.notes, row.radius) == (("met",), 2.5)
    assert seen == [(("met",), 2.5, Margin)]
    assert source.calls == 2


def test_a_row_that_could_not_be_made_is_made_the_next_time() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    (row,) = unread_margins(Watched(interrupted), 1)
    with pytest.raises(KeyboardInterrupt):
        _ = row.notes
    assert row.radius == 2.5
    assert row.notes == ("met",)


def test_what_is_to_be_changed_later_is_changed_once_and_when_it_is_read() -> None:
    changes: list[Margin] = []

    def change(margin: Margin) -> Margin:
        changes.append(margin)
        return replace(margin, notes=(*margin.notes, "changed"))

    (row,) = unread_margins(Watched(lambda: None), 1)
    told = later(row, change)
    assert (told.radius, changes) == (2.5, [])
    assert told.notes == told.notes == ("met", "changed")
    assert row.notes == ("met",)
    assert changes == [row]
    assert later(row, change).notes == ("met", "changed")  # at once: it has been read
    (same,) = unread_margins(Watched(lambda: None), 1)
    unchanged = later(same, lambda margin: margin)
    assert unchanged.notes == ("met",)
    assert vars(unchanged) is not vars(same)


def test_images_and_names_are_told_when_a_row_is_read() -> None:
    """Two classes either side of x = 2: the nearest tie of a point in [0, 1]² is no image."""
    net = pm.PolynomialNetwork([(np.eye(2), np.zeros(2)), ([[1.0, 0.0], [0.0, 0.0]], [0.0, 4.0])], degree=2)
    net.class_names = ("far", "near")
    inside, outside = pm.margin(net, [[0.5, 0.5], [-0.5, 0.5]])
    assert {type(inside), type(outside)} == {UnreadMargin}
    assert [inside.radius, outside.radius] == pytest.approx([1.5, 1.5])
    net.class_names = ("other", "words")
    assert "leaves [0, 1]" in " ".join(inside.notes)
    assert outside.notes == ()
    assert (inside.label_name, inside.rival_name) == (outside.label_name, outside.rival_name) == ("near", "far")
