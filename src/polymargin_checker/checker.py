"""`check`: from two files, or what would be in them, to a verdict.

A certificate is one JSON object, about one point; or JSON lines, of which the first says what all have in common and each of
the others is about a point. What all rows share is read once, and what they ask is judged together.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from polymargin_checker.document import fields, read_documents
from polymargin_checker.noise import read_noise
from polymargin_checker.ranges import check_ranges, is_about_ranges
from polymargin_checker.refusal import OutOfTime, Refused, Unusable
from polymargin_checker.row import Row
from polymargin_checker.stages import Network, read_network
from polymargin_checker.together import Judged, Together
from polymargin_checker.words import one_line, shown
from polymargin_checker.work import limited_work, more_work

FORMAT = "polymargin-certificate-1"
_SHARED = ("format", "model")
_OF_ROW = ("point", "label", "claim", "rivals", "upper")
_OPTIONAL = ("created", "neighbourhood", "ranges", "noise", "arithmetic")


@dataclass(frozen=True)
class CheckResult:
    """The answer of the checker.

    accepted   the claim is proved
    reason     one sentence: what is proved, or why not
    usable     False if a file could not be read as a model or certificate file at all
    in_time    False if it was refused for want of time alone
    """

    accepted: bool
    reason: str
    usable: bool = True
    in_time: bool = True


def check(model: Any, certificate: Any, exact: bool = False, seconds: float | None = None) -> CheckResult:
    """Prove or refuse a certificate about a model; never raises for what is in them.

    Each is the path of a file, or `bytes`: what would be in the file, read by the same rules. All rows must be proved.
    With `exact` no floating-point arithmetic is trusted: everything is judged in ball arithmetic, slowly.
    A certificate that would take more than `seconds` is refused; the time of a single step is an estimate.
    """
    results = check_rows(model, certificate, exact, seconds)
    if len(results) == 1:
        return results[0]
    refused = [(place, result) for place, result in enumerate(results) if not result.accepted]
    if not refused:
        return CheckResult(True, f"all {len(results)} rows are proved")
    place, first = refused[0]
    reason = f"{len(refused)} of {len(results)} rows are not proved; row {place}: {first.reason}"
    return CheckResult(False, reason, first.usable, all(result.in_time for _, result in refused))


def check_rows(model: Any, certificate: Any, exact: bool = False, seconds: float | None = None) -> list[CheckResult]:
    """Prove or refuse every row of a certificate; a single result where a file cannot be used."""
    end = None if seconds is None else perf_counter() + seconds
    found: list[CheckResult] = []
    failed: dict[int, CheckResult] = {}
    # What leaves the doubles is infinite or no number there, and proves nothing.
    with limited_work(exact, end), np.errstate(all="ignore"), _answering(failed, 0):
        network = read_network(model)
        documents = read_documents(certificate)
        name = "the certificate" if isinstance(certificate, bytes) else certificate
        if len(documents) == 1 and is_about_ranges(documents[0]):
            _check_format(documents[0], name)
            _check_model(network, documents[0].get("model"))
            return [CheckResult(True, check_ranges(network, documents[0], exact))]
        shared, rows = _parts(documents, name)
        _check_model(network, shared["model"])
        more_work(len(rows) - 1)
        found = _check_rows(network, shared, rows, exact)
    return found or [failed[0]]


def _parts(documents: list[Any], name: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the shared part of a certificate, and its rows."""
    first = documents[0]
    _check_format(first, name)
    if "rows" not in first:
        if len(documents) > 1:
            raise Refused(f"{len(documents)} lines, and the first does not say how many rows there are")
        fields(first, "certificate", (*_SHARED, *_OF_ROW), _OPTIONAL)
        return first, [first]
    fields(first, "the first line", (*_SHARED, "rows"), _OPTIONAL)
    rows = documents[1:]
    if type(first["rows"]) is not int or first["rows"] != len(rows) or not rows:
        raise Refused(f"the first line promises {shown(first['rows'])} rows, and {len(rows)} follow")
    return first, rows


def _check_rows(
    network: Network, shared: dict[str, Any], documents: list[dict[str, Any]], exact: bool
) -> list[CheckResult]:
    """Go through all rows step by step; a row that is refused stays behind."""
    results: dict[int, CheckResult] = {}
    rows: dict[int, Row] = {}
    noise = read_noise(shared["noise"], network) if "noise" in shared else None
    network = network if noise is None else noise.network
    for place, document in enumerate(documents):
        with _answering(results, place):
            if document is not shared:
                fields(document, "row", _OF_ROW)
                document = document | {
                    key: shared[key] for key in ("neighbourhood", "ranges", "arithmetic") if key in shared
                }
            rows[place] = Row(network, document, exact, noise)
    together = Together(network, exact)
    leads = dict.fromkeys(rows, False)
    with _ignoring_refusals():
        leads = dict(zip(rows, together.leads(list(rows.values())), strict=True))
    for place, row in list(rows.items()):
        with _answering(results, place):
            if not leads[place]:
                row.show_label()
            row.read_proofs()
    rows = {place: row for place, row in rows.items() if place not in results}
    wins = dict.fromkeys(rows, False)
    with _ignoring_refusals():
        wins = dict(zip(rows, together.wins(list(rows.values())), strict=True))
    judged = _judged(together, rows, results)
    for place, row in rows.items():
        if place not in results:
            with _answering(results, place):
                results[place] = CheckResult(True, row.conclude(judged[place], wins[place]))
    return [results[place] for place in range(len(documents))]


def _judged(together: Together, rows: dict[int, Row], results: dict[int, CheckResult]) -> dict[int, dict[int, Judged]]:
    """Judge the proofs of all rows at once; row by row where that is refused as a whole."""
    owners = [(place, rival) for place, row in rows.items() for rival in row.waiting]
    judged: dict[int, dict[int, Judged]] = {place: {} for place in rows}
    try:
        found = together.judge([rows[place].waiting[rival][1] for place, rival in owners])
        for (place, rival), one in zip(owners, found, strict=True):
            judged[place][rival] = one
    except OutOfTime as refusal:
        results |= {
            place: CheckResult(False, one_line(str(refusal)), in_time=False)
            for place, row in rows.items()
            if row.waiting
        }
    except Refused:
        for place, row in rows.items():
            with _answering(results, place):
                each = together.judge([proof for _, proof in row.waiting.values()])
                judged[place] = dict(zip(row.waiting, each, strict=True))
    return judged


@contextmanager
def _ignoring_refusals() -> Iterator[None]:
    """Ignore refusals within the block: the rows are checked again one by one, in exact arithmetic."""
    try:
        yield
    except OutOfTime:
        raise
    except Refused:
        return


@contextmanager
def _answering(results: dict[int, CheckResult], place: int) -> Iterator[None]:
    """Turn errors within the block into the answer of this row."""
    try:
        yield
    except Unusable as refusal:
        results[place] = CheckResult(False, one_line(str(refusal)), usable=False)
    except OutOfTime as refusal:
        results[place] = CheckResult(False, one_line(str(refusal)), in_time=False)
    except Refused as refusal:
        results[place] = CheckResult(False, one_line(str(refusal)))
    except (MemoryError, RecursionError):
        results[place] = CheckResult(False, "the files need more memory than there is")
    except Exception as error:  # A checker that fails has proved nothing, and hostile input must not show a traceback.
        reason = f"the checker could not finish ({type(error).__name__}: {shown(str(error))})"
        results[place] = CheckResult(False, reason)


def _check_format(document: Any, path: Any) -> None:
    """Reject files with another format name."""
    if not isinstance(document, dict):
        raise Unusable(f"{path}: not a certificate but {shown(document)}; expected an object")
    if "format" not in document:
        raise Unusable(f"{path}: not a certificate, as the key 'format' is missing; expected the format {FORMAT!r}")
    if document["format"] != FORMAT:
        raise Unusable(f"{path}: unknown certificate format {shown(document['format'])}; expected {FORMAT!r}")


def _check_model(model: Network, entry: Any) -> None:
    fields(entry, "model", ("sha256",))
    if entry["sha256"] != model.fingerprint:
        raise Refused("the certificate is for another model: the SHA-256 of the weights differs")
