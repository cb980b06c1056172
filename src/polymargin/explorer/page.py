"""The page of the explorer: served live, or exported as one file."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from datetime import date
from html import escape
from importlib.resources import files
from typing import Any

from polymargin import __version__
from polymargin.class_names import class_name
from polymargin.errors import printable
from polymargin.explorer.marks import class_mark
from polymargin.explorer.scene import Scene
from polymargin.explorer.still import axis_names, mark_svg, still_picture
from polymargin.reports.page import embedded_json

RESOURCES = {"explorer.css": "text/css", "explorer.js": "text/javascript", "solver.js": "text/javascript"}
# More points than this are not drawn into the picture.
MOST_POINTS = 2_000


def resource(name: str) -> str:
    """Return the text of a template."""
    return files("polymargin.explorer").joinpath("templates", name).read_text(encoding="utf-8")


def live_page(scene: Scene) -> str:
    """Return the page of the server, whose policy demands that style and script have addresses of their own."""
    parts = {
        "still": _still(scene, None),
        "about": "",
        "policy": "",
        "title": escape(printable(scene.title), quote=True),
        "style": '<link rel="stylesheet" href="explorer.css">',
        "script": '<script src="explorer.js" defer></script>',
    }
    return _filled(parts)


def static_page(scene: Scene, answers: dict[str, Any], start: dict[str, Any] | None) -> str:
    """Return the page as one file. `answers` is what the script needs; `start` the answer at the first place, if there is one."""
    style, scripts = resource("explorer.css"), [resource("solver.js"), resource("explorer.js")]
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{_digest(style)}'; script-src {hashes}"
    data = embedded_json({"scene": scene_data(scene), "answers": answers})
    parts = {
        "still": _still(scene, start),
        "about": escape(_contents(scene, answers), quote=True),
        "policy": f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        "title": escape(printable(scene.title), quote=True),
        "style": f"<style>{style}</style>",
        "script": f'<script type="application/json" id="data">{data}</script>'
        + "".join(f"<script>{script}</script>" for script in scripts),
    }
    return _filled(parts)


def scene_data(scene: Scene) -> dict[str, Any]:
    """Return what the page needs before its first request."""
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
        "marks": [class_mark(number) for number in range(network.class_count)],
        "axes": list(axis_names(scene)),
        "window": list(scene.plane.window),
        "start": list(scene.start),
        "points": [[float(f"{value:.6g}") for value in row] for row in shown.tolist()],
        "predicted": labels,
        "images": scene.image_shape is not None,
        "count": len(scene.points),
    }


def _still(scene: Scene, start: dict[str, Any] | None) -> str:
    """Return a still picture and its legend."""
    names = [printable(class_name(scene.network, number)) for number in range(scene.network.class_count)]
    legend = " ".join(
        f'<span class="key"><svg viewBox="-8 -8 16 16" aria-hidden="true">{mark_svg(number, 0, 0, 5)}</svg>'
        f"class {escape(name)}</span>"
        for number, name in enumerate(names)
    )
    words = ""
    if start is not None and isinstance(start["upper"], float) and start["class"] is not None:
        rival = "" if start["rival"] is None else f"; the nearest tie is with class {names[start['rival']]}"
        words = (
            f"The disc: the point ({start['place'][0]:.4g}, {start['place'][1]:.4g}) is in class {names[start['class']]} "
            f"and keeps it within {start['lower']:.4g}{rival}. {start['standing']}."
        )
    return f'{still_picture(scene, start)}<p class="legend">{legend}</p><p class="soft">{escape(words)}</p>'


def _contents(scene: Scene, answers: dict[str, Any]) -> str:
    """Return one sentence on what an exported file contains."""
    if answers["kind"] == "solve":
        what, way = (
            "the polynomials of the network",
            "The page follows all critical points by itself, in floating point.",
        )
    else:
        what = f"{answers['size']} × {answers['size']} answers computed beforehand"
        way = "The point snaps to the nearest of them."
    points = f" and {len(scene.places[:MOST_POINTS]):,} points" if len(scene.points) else ""
    made = f"Exported on {date.today().isoformat()} by polymargin {__version__}."
    return f"This file contains {what}{points}. {way} {made}"


def _filled(parts: dict[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found.group(1)], resource("explorer.html"))


def _digest(text: str) -> str:
    return b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
