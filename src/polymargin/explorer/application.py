"""The WSGI application of the explorer.

Every address begins with a random token; without it the answer is 404. GET is the only method. Parameters are parsed
strictly; a wrong request gets a status of 4xx and one sentence.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from hmac import compare_digest
from typing import Any
from urllib.parse import parse_qsl

from polymargin.boundary import Boundary
from polymargin.errors import PolymarginError
from polymargin.explorer.answers import Answers
from polymargin.explorer.gallery import gallery_page, nearest_per_rival
from polymargin.explorer.long_work import BusyError, CancelledError, LongWork
from polymargin.explorer.page import RESOURCES, live_page, resource, scene_data
from polymargin.explorer.pictures import Window, chamber_field, discriminant_field, logit_field
from polymargin.explorer.scene import Scene

Place = tuple[float, float]

LONGEST_QUERY = 400
# Larger coordinates are refused.
FARTHEST = 1e9

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
)
REASONS = {
    200: "OK",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    413: "Content Too Large",
    414: "URI Too Long",
    422: "Unprocessable Content",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class RefusedError(Exception):
    """A refused request, with its status and the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Application:
    """The explorer of one scene behind one token."""

    def __init__(self, scene: Scene, token: str, hosts: Callable[[], frozenset[str]]) -> None:
        self._scene, self._token, self._hosts = scene, token, hosts
        self._answers = Answers(scene)
        self._work = LongWork()
        self.closing = False
        # Name of a request -> parsers of its parameters, and the function that answers it.
        self._questions: dict[str, tuple[dict[str, Callable[[str], Any]], Callable[..., dict[str, Any]]]] = {
            "scene": ({}, lambda: scene_data(scene)),
            "answer": ({"at": _place}, self._answers.at),
            "field": ({"window": _window}, lambda window: logit_field(scene, window)),
            "chambers": ({"label": _whole, "rival": _whole, "window": _window}, self._chambers),
            "discriminant": ({"label": _whole, "rival": _whole, "window": _window}, self._discriminant),
            "gallery": ({"first": _whole}, lambda first: gallery_page(scene, first)),
            "point": ({"row": _whole}, self._point),
            "progress": ({}, self._work.state),
            "cancel": ({}, self._work.cancel),
        }

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request (WSGI)."""
        try:
            status, kind, body = self._answer(environ)
        except RefusedError as refused:
            status, kind, body = refused.status, "application/json", _json({"error": str(refused)})
        except BusyError:
            status, kind, body = 409, "application/json", _json({"error": "another computation is still running"})
        except CancelledError:
            status, kind, body = 409, "application/json", _json({"error": "cancelled"})
        except PolymarginError as error:  # the request was understood and has no answer
            status, kind, body = 422, "application/json", _json({"error": str(error)})
        except Exception as error:  # report the kind of a defect, and no internals
            words = f"a defect of polymargin ({type(error).__name__}); please report what you did"
            status, kind, body = 500, "application/json", _json({"error": words})
        about = [("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(body))), *HEADERS]
        start_response(f"{status} {REASONS[status]}", about)
        return [b"" if environ.get("REQUEST_METHOD") == "HEAD" else body]

    def _answer(self, environ: dict[str, Any]) -> tuple[int, str, bytes]:
        if environ.get("HTTP_HOST", "") not in self._hosts():  # reject requests whose Host header is not ours
            raise RefusedError(403, "this host is not served")
        token, _, name = str(environ.get("PATH_INFO", "")).removeprefix("/").partition("/")
        if not compare_digest(token.encode("utf-8", "replace"), self._token.encode()):
            raise RefusedError(404, "nothing here")
        if environ.get("REQUEST_METHOD") not in ("GET", "HEAD"):
            raise RefusedError(405, "only GET is answered")
        if environ.get("CONTENT_LENGTH") not in (None, "", "0"):
            raise RefusedError(413, "a request has no body")
        if name == "":
            return 200, "text/html", live_page(self._scene).encode()
        if name in RESOURCES:
            return 200, RESOURCES[name], resource(name).encode()
        if name not in self._questions:
            raise RefusedError(404, "nothing here")
        parsers, answer = self._questions[name]
        return 200, "application/json", _json(answer(**_parameters(str(environ.get("QUERY_STRING", "")), parsers)))

    def _point(self, row: int) -> dict[str, Any]:
        if row >= len(self._scene.points):
            raise RefusedError(404, f"there are {len(self._scene.points)} points")
        return nearest_per_rival(self._answers, row)

    def _chambers(self, label: int, rival: int, window: Window) -> dict[str, Any]:
        with self._work.running() as step:
            return chamber_field(self._scene, self._boundary(label, rival), window, self._open_during(step))

    def _discriminant(self, label: int, rival: int, window: Window) -> dict[str, Any]:
        with self._work.running() as step:
            return discriminant_field(self._boundary(label, rival), window, self._open_during(step))

    def _open_during(self, step: Callable[[int], None]) -> Callable[[int], None]:
        """Return `step` with a check that the explorer was not closed."""

        def checked(done: int) -> None:
            if self.closing:
                raise RefusedError(503, "the explorer was closed")
            step(done)

        return checked

    def _boundary(self, label: int, rival: int) -> Boundary:
        if label == rival or max(label, rival) >= self._scene.network.class_count:
            raise RefusedError(400, f"expected two different classes below {self._scene.network.class_count}")
        return self._answers.boundary(label, rival)


def _parameters(query: str, parsers: dict[str, Callable[[str], Any]]) -> dict[str, Any]:
    """Parse the parameters: each once, none missing, none unknown."""
    if len(query) > LONGEST_QUERY:
        raise RefusedError(414, "the query is too long")
    try:
        given = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), max_num_fields=8, errors="strict")
    except ValueError:
        raise RefusedError(400, "the query cannot be parsed") from None
    if sorted(name for name, _ in given) != sorted(parsers):
        raise RefusedError(400, f"expected the parameters {', '.join(parsers) or 'none'}")
    return {name: parsers[name](text) for name, text in given}


def _numbers(text: str, count: int) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) != count or not all(math.isfinite(value) and abs(value) <= FARTHEST for value in values):
        raise RefusedError(400, f"expected {count} numbers separated by commas, none beyond {FARTHEST:g}")
    return values


def _place(text: str) -> Place:
    s, c = _numbers(text, 2)
    return s, c


def _window(text: str) -> Window:
    left, right, low, high = _numbers(text, 4)
    size = min(right - left, high - low)
    if not size > 1e-9 * (1 + max(map(abs, (left, right, low, high)))):
        raise RefusedError(400, "expected a window left, right, bottom, top, each pair increasing")
    return left, right, low, high


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise RefusedError(400, "expected a whole number")
    return int(text)


def _json(data: Any) -> bytes:
    return json.dumps(data, separators=(",", ":"), allow_nan=False).encode()
