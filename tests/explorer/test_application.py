"""What the explorer answers: the same as `margin`, and 4xx without a traceback to whatever is hostile."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.explorer import Explorer

pytest.importorskip("waitress")
pytest.importorskip("PIL")


@pytest.fixture(scope="module")
def explorer() -> Iterator[Explorer]:
    net = random_network([2, 4, 3], 3, seed=1)
    points = np.random.default_rng(0).normal(size=(5, 2))
    with pm.explore(net, points, labels=net.predict(points), browser=False, title="<b>&") as served:
        yield served


def get(
    explorer: Explorer, path: str, *, method: str = "GET", headers: dict[str, str] | None = None, body: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", explorer.port, timeout=60)
    connection.request(method, path, body=body or None, headers=headers or {})
    response = connection.getresponse()
    found = response.status, dict(response.getheaders()), response.read()
    connection.close()
    return found


def asked(explorer: Explorer, question: str) -> dict[str, object]:
    status, _, body = get(explorer, urlsplit(explorer.address).path + question)
    assert status == 200, body
    return json.loads(body)


def test_answers_are_margins(explorer: Explorer) -> None:
    net = explorer.scene.network
    for place in ((0.1, 0.2), (-1.0, 0.5)):
        answer = asked(explorer, f"answer?at={place[0]},{place[1]}")
        expected = pm.margin(net, place, proof=False)
        assert (answer["class"], answer["rival"], answer["standing"]) == (expected.label, expected.rival, "NUMERICAL")
        assert answer["upper"] == pytest.approx(expected.radius, rel=1e-9)
        assert answer["nearest"][:2] == pytest.approx(expected.point.tolist(), abs=1e-8)
        for rival in answer["rivals"]:
            boundary = pm.Boundary.from_network(net, expected.label, rival["rival"])
            points = pm.critical_points(boundary, place, cache=False)
            assert (rival["complex"], rival["real"]) == (len(points), int(points.real.sum()))
            assert np.allclose(
                sorted(p[:2] for p in rival["points"]), sorted(points.points[points.real].real.tolist()), atol=1e-7
            )


def test_the_field_tells_the_classes(explorer: Explorer) -> None:
    field = asked(explorer, "field?window=-2,2,-1,3")
    n = field["size"]
    values = np.frombuffer(b64decode(field["values"]), dtype="<f4").reshape(3, n, n)
    s, c = np.linspace(-2, 2, n), np.linspace(-1, 3, n)
    for i, j in ((0, 0), (3, n - 1), (n // 2, n // 3)):
        assert values[:, j, i].argmax() == explorer.scene.network.predict([s[i], c[j]])


def test_chambers_and_points(explorer: Explorer) -> None:
    found = asked(explorer, "chambers?label=0&rival=1&window=-1,1,-1,1")
    raster = np.frombuffer(b64decode(found["values"]), dtype=f"<i{found['bytes']}").reshape(
        found["size"], found["size"]
    )
    boundary = pm.Boundary.from_network(explorer.scene.network, 0, 1)
    middle = (np.arange(found["size"]) + 0.5) / found["size"] * 2 - 1
    for i, j in ((10, 10), (40, 200), (150, 60)):
        around = raster[max(j - 4, 0) : j + 5, max(i - 4, 0) : i + 5]
        if len(np.unique(around)) == 1:  # not beside the discriminant
            points = pm.critical_points(boundary, [middle[i], middle[j]], cache=False)
            assert raster[j, i] == points.real.sum()
    picked = asked(explorer, "point?row=2")
    expected = pm.margin(explorer.scene.network, explorer.scene.points[2], proof=False)
    assert picked["upper"] == pytest.approx(expected.radius)
    assert picked["rivals"][0]["rival"] == expected.rival
    assert asked(explorer, "gallery?first=3")["total"] == 5
    assert len(asked(explorer, "gallery?first=99")["points"]) == 0


def test_a_discriminant_is_watched_and_cancelled() -> None:
    """A cubic: its discriminant takes many primes, so that the second request comes in time."""
    net = random_network([2, 4, 2], 3, seed=1)
    with pm.explore(net, browser=False) as served, ThreadPoolExecutor(1) as pool:
        path = urlsplit(served.address).path
        assert asked(served, "progress") == {"running": False, "seconds": 0.0, "steps": 0}
        computed = pool.submit(get, served, path + "discriminant?label=0&rival=1&window=-1,1,-1,1")
        while not asked(served, "progress")["running"]:
            assert not computed.done()
        assert get(served, path + "chambers?label=0&rival=1&window=-1,1,-1,1")[0] == 409  # one at a time
        assert asked(served, "cancel")["running"]
        status, _, body = computed.result()
        assert (status, json.loads(body)) == (409, {"error": "cancelled"})
        assert not asked(served, "progress")["running"]


def test_names_are_escaped_and_headers_are_strict(explorer: Explorer) -> None:
    status, headers, body = get(explorer, urlsplit(explorer.address).path)
    assert status == 200
    assert b"<b>&" not in body
    assert b"&lt;b&gt;&amp;" in body
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in headers
    assert "Server" not in headers or "waitress" not in headers["Server"]


HOSTILE = [
    ("GET", "/", {}, 404),
    ("GET", "/scene", {}, 404),
    ("GET", "/wrong/scene", {}, 404),
    ("GET", "/%00/scene", {}, 404),
    ("GET", "/\xff/scene", {}, 404),
    ("GET", "{}..%2f..%2fetc/passwd", {}, 404),
    ("GET", "{}../../etc/passwd", {}, 404),
    ("GET", "{}server.py", {}, 404),
    ("GET", "{}_point?row=1", {}, 404),
    ("GET", "{}answer", {}, 400),
    ("GET", "{}answer?at=1", {}, 400),
    ("GET", "{}answer?at=1,2,3", {}, 400),
    ("GET", "{}answer?at=nan,0", {}, 400),
    ("GET", "{}answer?at=inf,0", {}, 400),
    ("GET", "{}answer?at=1e300,0", {}, 400),
    ("GET", "{}answer?at=__import__,0", {}, 400),
    ("GET", "{}answer?at=0,0&at=0,0", {}, 400),
    ("GET", "{}answer?at=0,0&x=1", {}, 400),
    ("GET", "{}answer?at=%ff,0", {}, 400),
    ("GET", "{}answer?&&&&", {}, 400),
    ("GET", "{}answer?at=" + 500 * "1", {}, 414),
    ("GET", "{}field?window=1,0,0,1", {}, 400),
    ("GET", "{}field?window=0,0,0,0", {}, 400),
    ("GET", "{}chambers?label=0&rival=0&window=-1,1,-1,1", {}, 400),
    ("GET", "{}chambers?label=0&rival=7&window=-1,1,-1,1", {}, 400),
    ("GET", "{}chambers?label=-1&rival=1&window=-1,1,-1,1", {}, 400),
    ("GET", "{}point?row=5", {}, 404),
    ("GET", "{}point?row=²", {}, 400),
    ("GET", "{}point?row=99999999999999999999", {}, 400),
    ("GET", "{}gallery?first=-1", {}, 400),
    ("POST", "{}answer?at=0,0", {}, 405),
    ("PUT", "{}", {}, 405),
    ("DELETE", "{}scene", {}, 405),
    ("TRACE", "{}scene", {}, 405),
    ("GET", "{}scene", {"Host": "evil.example"}, 403),
    ("GET", "{}scene", {"Host": "127.0.0.1"}, 403),
    ("GET", "{}scene", {"Host": "127.0.0.1:1"}, 403),
    ("GET", "{}scene?x=1", {}, 400),
    ("GET", "{}cancel?x=1", {}, 400),
]


@pytest.mark.parametrize(("method", "path", "headers", "status"), HOSTILE)
def test_hostile_requests(explorer: Explorer, method: str, path: str, headers: dict[str, str], status: int) -> None:
    from urllib.parse import quote

    address = quote(path.replace("{}", urlsplit(explorer.address).path), safe="/?&=,%")
    found, _, body = get(explorer, address, method=method, headers=headers)
    assert found == status, body
    for word in (b"Traceback", b'File "', b".py", b"polymargin."):
        assert word not in body


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: what\r\n\r\n",
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n",
        b"GET / HTTP/1.1\r\nHo st: a\r\n\r\n",
    ],
)
def test_malformed_requests(explorer: Explorer, request_bytes: bytes) -> None:
    with socket.create_connection(("127.0.0.1", explorer.port), timeout=20) as connection:
        connection.sendall(request_bytes)
        answer = connection.recv(65_536)
    if answer:  # a closed connection is an answer too
        assert 400 <= int(answer.split()[1]) < 600
        assert b"Traceback" not in answer
    assert asked(explorer, "scene")["classes"] == 3  # and it goes on


def test_only_the_loopback_address(explorer: Explorer) -> None:
    assert explorer.address.startswith(f"http://127.0.0.1:{explorer.port}/")
    assert explorer._server.effective_host == "127.0.0.1"
    token = urlsplit(explorer.address).path.strip("/")
    assert len(token) >= 32


def test_closing_and_leaving() -> None:
    """Nothing is said at exit, whether it was closed or not."""
    code = """
import polymargin as pm, numpy as np, urllib.request
net = pm.PolynomialNetwork([(np.eye(2), np.ones(2)), (np.array([[1.0, 2.0], [0.5, -1.0]]), np.zeros(2))], degree=3)
explorer = pm.explore(net, browser=False)
urllib.request.urlopen(explorer.address + "answer?at=0.2,0.1").read()
"""
    for ending in ("", "explorer.close()\n"):
        done = subprocess.run([sys.executable, "-c", code + ending], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
