"""Names of classes, and results that use them.

A network numbers its classes; an estimator has names for them. The network keeps the names (`class_names`), and every result
takes them over in one place (`named`). Inside the package classes are numbers, so that models with the same weights can share
work; sentences about "class 2" get the name when the result is returned.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.errors import InputError
from polymargin.standing import Standing

Names = tuple[str, ...]
Found = TypeVar("Found")

NO_CLASS = "–"
# Fields of results that hold sentences, one or several. Errors already have the names of the model.
SENTENCES = {"notes", "reason"}
_SPOKEN = re.compile(r"\b(class|classes) (\d+)(?:( and )(\d+))?\b")


class HasClasses(Protocol):
    """A result about a class, a rival and their names."""

    @property
    def label(self) -> int | None:
        """Return the predicted class."""
        ...

    @property
    def rival(self) -> int | None:
        """Return the nearest rival."""
        ...

    @property
    def class_names(self) -> Names | None:
        """Return the names of the classes, if there are any."""
        ...


class AboutClasses:
    """Gives a result about a class and its rival the names of both."""

    def class_name(self: HasClasses, number: int | None) -> str:
        """Return the name of a class if there is one, else its number."""
        return name_of(self.class_names, number)

    @property
    def label_name(self: HasClasses) -> str:
        """Return the name of the predicted class."""
        return name_of(self.class_names, self.label)

    @property
    def rival_name(self: HasClasses) -> str:
        """Return the name of the nearest rival."""
        return name_of(self.class_names, self.rival)

    def name_cells(self: HasClasses) -> dict[str, str | None]:
        """Return columns of a table beside `label` and `rival`; none if classes have no names."""
        if self.class_names is None:
            return {}
        ends = {"label_name": self.label, "rival_name": self.rival}
        return {key: None if number is None else self.class_names[number] for key, number in ends.items()}


def names_of(model: Any) -> Names | None:
    """Return a model's names of its classes; None if it only counts them."""
    names = getattr(model, "class_names", None)
    if names is None:
        return None
    known = () if isinstance(names, str) else tuple(str(name) for name in names)
    if len(set(known)) != model.class_count or len(known) != model.class_count:
        raise InputError(f"class_names {names!r}: expected {model.class_count} different names, one for each class")
    return known


def class_name(model: Any, number: int | None) -> str:
    """Return a model's name of one of its classes."""
    return name_of(names_of(model), number)


def named(result: Found, model: Any) -> Found:
    """Return the result in the words of the model; itself where the model only counts its classes."""
    names = names_of(model)
    return result if names is None else with_names(result, names)


def class_numbers(labels: ArrayLike, count: int, names: Sequence[str] | None = None) -> NDArray[np.int64]:
    """Return right classes as numbers (m,); given as the model's names for them, or as numbers where one of them is no name.

    >>> class_numbers(["no", "yes", "no"], 3, ("no", "yes"))
    array([0, 1, 0])
    >>> class_numbers([7, 3], 2, ("3", "7"))          # an estimator that calls its two classes 3 and 7
    array([1, 0])
    """
    given = _column(_as_given(labels), count)
    if names is None and given.dtype.kind == "U":
        raise InputError(
            f"labels: row 0 is {str(given[0])[:60]!r}, but the model only counts its classes; expected their numbers 0, 1, 2, …, "
            "or a model with class_names"
        )
    if names is not None:
        number = {name: place for place, name in enumerate(names)}
        spelt = [_spelt(value) for value in given.tolist()]
        if all(name in number for name in spelt):
            return np.array([number[name] for name in spelt], dtype=np.int64)
        if given.dtype.kind in "USO":
            row, name = next((row, name) for row, name in enumerate(spelt) if name not in number)
            raise InputError(f"labels: row {row} is {name!r}; expected one of the classes {', '.join(names)}")
    array = _column(real_array(labels, "labels"), count)
    limit = 2**31 if names is None else len(names)
    wrong = ~(np.isfinite(array) & (array == np.round(array)) & (array >= 0) & (array < limit))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        or_names = "" if names is None else f", or one of {', '.join(names)} in every row"
        raise InputError(f"labels: row {row} is {array[row]:g}; expected the number of a class, 0, 1, 2, …{or_names}")
    return array.astype(np.int64)


def _as_given(labels: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(labels)
    except ValueError:  # NumPy has no array of rows of different lengths
        raise InputError("labels: rows of different lengths; expected one class per point") from None


def _column(array: NDArray[Any], count: int) -> NDArray[Any]:
    if array.ndim == 2 and 1 in array.shape:
        array = array.ravel()
    if array.shape != (count,):
        raise InputError(f"labels of shape {array.shape} for {count} points: expected one class per point")
    return array


def _spelt(value: Any) -> str:
    """Return the entries of an estimator's `classes_` as `str` writes them; files keep whole numbers as floats."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def name_of(names: Sequence[str] | None, number: int | None) -> str:
    """Return the name of a class, its number if it has none, and a dash for no class."""
    if number is None:
        return NO_CLASS
    return str(number) if names is None else names[number]


def with_names(result: Found, names: Names) -> Found:
    """Return the result with names in its fields, in the results that it holds and in its sentences."""
    if not isinstance(result, AboutClasses) or getattr(result, "class_names", None) is not None:
        return result
    changed: dict[str, Any] = {}
    failed = getattr(result, "standing", None) is Standing.FAILED
    for name in [item.name for item in fields(cast(Any, result))]:
        value = getattr(result, name)
        if name == "class_names":
            changed[name] = names
        elif name in SENTENCES and not failed:
            one = isinstance(value, str)
            changed[name] = _in_words(value, names) if one else tuple(_in_words(text, names) for text in value)
        elif isinstance(value, AboutClasses):
            changed[name] = with_names(value, names)
        elif isinstance(value, tuple) and any(isinstance(part, AboutClasses) for part in value):
            changed[name] = tuple(with_names(part, names) for part in value)
    return cast(Found, replace(cast(Any, result), **changed))


def _in_words(sentence: str, names: Names) -> str:
    """Return a sentence with the names of classes in place of their numbers.

    >>> _in_words("classes 0 and 2 tie; against class 1: no time", ("a", "b", "c"))
    'classes a and c tie; against class b: no time'
    """

    def spoken(found: re.Match[str]) -> str:
        word, first, link, second = found.groups()
        numbers = [int(number) for number in (first, second) if number is not None]
        if any(number >= len(names) for number in numbers):
            return found.group()
        return f"{word} {(link or '').join(names[number] for number in numbers)}"

    return _SPOKEN.sub(spoken, sentence)
