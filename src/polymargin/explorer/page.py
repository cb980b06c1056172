"""The page of the explorer: live, with its parts fetched from the server, or as one file with everything inside."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from html import escape
from importlib.resources import files
from typing import Any

from polymargin.class_names import class_name
from polymargin.errors import printable
from polymargin.explorer.scene import Scene
from polymargin.reports.page import embedded_json

RESOURCES = {"explorer.css": "text/css", "explorer.js": "text/javascript", "solver.js": "text/javascript"}
# More points than this are not drawn into the picture.
MOST_POINTS = 2_000


def resource(name: str) -> str:
    return files("polymargin.explorer").joinpath("templates", name).read_text(encoding="utf-8")


def live_page(scene: Scene) -> str:
    """For the server: style and script are addresses of their own, as its policy demands."""
    parts = {
        "policy": "",
        "title": escape(printable(scene.title), quote=True),
        "style": '<link rel="stylesheet" href="explorer.css">',
        "script": '<script src="explorer.js" defer></script>',
    }
    return _filled(parts)


def static_page(scene: Scene, answers: dict[str, Any]) -> str:
    """One file; `answers` is what the page computes its answers from."""
    style, scripts = resource("explorer.css"), [resource("solver.js"), resource("explorer.js")]
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{_digest(style)}'; script-src {hashes}"
    data = embedded_json({"scene": scene_data(scene), "answers": answers})
    parts = {
        "policy": f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        "title": escape(printable(scene.title), quote=True),
        "style": f"<style>{style}</style>",
        "script": f'<script type="application/json" id="data">{data}</script>'
        + "".join(f"<script>{script}</script>" for script in scripts),
    }
    return _filled(parts)


def scene_data(scene: Scene) -> dict[str, Any]:
    """What the page has to know before anything is asked."""
    network = scene.network
    shown = scene.places[:MOST_POINTS]
    labels = network.predict(scene.points[:MOST_POINTS]).tolist() if len(shown) else []
    return {
        "title": printable(scene.title),
        "model": printable(repr(network)),
        "inputs": network.dimension,
        "classes": network.class_count,
        "names": [printable(class_name(network, number)) for number in range(network.class_count)],
        "degree": network.degree,
        "window": list(scene.plane.window),
        "start": list(scene.start),
        "points": [[float(f"{value:.6g}") for value in row] for row in shown.tolist()],
        "predicted": labels,
        "images": scene.image_shape is not None,
        "count": len(scene.points),
    }


def _filled(parts: dict[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found.group(1)], resource("explorer.html"))


def _digest(text: str) -> str:
    return b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
