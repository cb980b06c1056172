"""The server of the explorer: waitress on the loopback address.

waitress is one package in pure Python without dependencies. It limits headers and bodies, rejects malformed requests before the
application sees them, and runs a WSGI application in threads, which suits a solver that releases the GIL. `http.server` is not
meant for production, and an asynchronous server with its framework would be five packages.
"""

from __future__ import annotations

import atexit
import logging
import secrets
import threading
import webbrowser
from typing import Any

from polymargin.errors import MissingExtraError
from polymargin.explorer.application import Application
from polymargin.explorer.scene import Scene

LOOPBACK = "127.0.0.1"
THREADS = 4
LARGEST_HEADER = 8_192
LARGEST_BODY = 1_024
# Larger answers would go through temporary files.
LARGEST_ANSWER = 1 << 26
# Seconds that a closing explorer waits for work in progress.
LONGEST_STEP = 15
# Seconds between two checks whether the explorer was closed.
LONGEST_PAUSE = 0.2


class Explorer:
    """A running explorer.

    address   of the page; its token is the only access control
    """

    def __init__(self, scene: Scene, *, port: int = 0) -> None:
        self.scene = scene
        token = secrets.token_urlsafe(24)
        self._application = Application(scene, token, self._hosts)
        self._ended = threading.Event()
        self._channels: dict[int, Any] = {}
        self._server = _server(self._application, port, self._channels)
        self._thread = threading.Thread(target=self._serve, name="polymargin explorer", daemon=True)
        self._thread.start()
        self.address = f"http://{LOOPBACK}:{self.port}/{token}/"
        atexit.register(self.close)  # no thread may outlive the interpreter

    def __repr__(self) -> str:
        return f"Explorer({self.address})"

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def port(self) -> int:
        """Return the port of the server."""
        return int(self._server.effective_port)

    def _hosts(self) -> frozenset[str]:
        return frozenset(f"{name}:{self.port}" for name in (LOOPBACK, "localhost"))

    def _serve(self) -> None:
        """Run the server's loop until `close`, then close its sockets in the same thread."""
        from waitress import wasyncore

        while not self._application.closing:
            wasyncore.loop(timeout=LONGEST_PAUSE, map=self._channels, count=1)
        self._server.task_dispatcher.shutdown(timeout=LONGEST_STEP)
        wasyncore.close_all(self._channels)
        self._ended.set()

    def open(self) -> bool:
        """Open the page in the browser; return False if there is no browser."""
        return webbrowser.open(self.address)

    def wait(self) -> None:
        """Wait until the explorer is closed or interrupted."""
        # Not by joining the thread: an interruption there would make it look finished (bpo-45274).
        while not self._ended.wait(timeout=0.5):
            pass

    def close(self) -> None:
        """Stop serving; an open page keeps its picture."""
        atexit.unregister(self.close)
        self._application.closing = True  # long work ends at its next step
        self._thread.join()


def _server(application: Application, port: int, channels: dict[int, Any]) -> Any:
    try:
        import waitress
    except ImportError:
        raise MissingExtraError(
            "the explorer needs waitress; install it with: pip install 'polymargin[explore]'"
        ) from None
    logging.getLogger("waitress").setLevel(logging.ERROR)  # hide warnings on queue depths
    return waitress.create_server(
        application,
        map=channels,
        host=LOOPBACK,
        port=port,
        threads=THREADS,
        ident=None,
        expose_tracebacks=False,
        max_request_header_size=LARGEST_HEADER,
        max_request_body_size=LARGEST_BODY,
        outbuf_overflow=LARGEST_ANSWER,
        connection_limit=64,
        channel_timeout=60,
        clear_untrusted_proxy_headers=True,
    )
