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
from polymargin.margins.unread import UnreadMargin, later, unread_margins
from polymargin.standing import Standing

QUADRATIC = pm.PolynomialNetwork(
    [
        (np.random.default_rng(1).normal(size=(8, 5)), np.random.default_rng(2).normal(size=8)),
        (np.random.default_rng(3).normal(size=(4, 8)), np.random.default_rng(4).normal(size=4)),
    ],
    degree=2,
)
POINTS = np.random.default_rng(5).normal(size=(12, 5))


def batch() -> pm.Margins:
    found = pm.margin(QUADRATIC, POINTS)
    assert all(type(row) is UnreadMargin for row in found)
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


def test_radii_are_read_without_making_a_row() -> None:
    found = batch()
    radii = found.radii
    assert all(type(row) is UnreadMargin for row in found)
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
