"""The gallery: thumbnails of points, and the nearest counterexample per rival for one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from polymargin.explorer.answers import Answers, plain
from polymargin.explorer.scene import Scene
from polymargin.plots.thumbnails import data_address, difference_png, image_png

PAGE = 48


def gallery_page(scene: Scene, first: int) -> dict[str, Any]:
    """Return a page of points with their predicted classes."""
    rows = range(first, min(first + PAGE, len(scene.points)))
    predicted = scene.network.predict(scene.points[rows.start : rows.stop]).tolist() if len(rows) else []
    return {
        "first": first,
        "total": len(scene.points),
        "points": [
            {
                "row": row,
                "class": label,
                "right": None if scene.labels is None else int(scene.labels[row]),
                "image": _image(scene, scene.points[row]),
            }
            for row, label in zip(rows, predicted, strict=True)
        ],
    }


def nearest_per_rival(answers: Answers, row: int) -> dict[str, Any]:
    """Return the margin at a point and the nearest point of every rival, the nearest rival first."""
    scene = answers.scene
    point = scene.points[row]
    margin = answers.margin_at(point)
    found = []
    for pair in sorted(margin.pairs, key=lambda pair: pair.upper):
        entry: dict[str, Any] = {"rival": pair.rival, "lower": plain(pair.lower), "upper": plain(pair.upper)}
        if pair.point is not None:
            entry |= _pictures(scene, point, pair.point)
        found.append(entry)
    if not margin.pairs and margin.point is not None:
        entry = {"rival": margin.rival, "lower": plain(margin.lower), "upper": plain(margin.upper)}
        found.append(entry | _pictures(scene, point, margin.point))
    return {
        "row": row,
        "class": margin.label,
        "right": None if scene.labels is None else int(scene.labels[row]),
        "lower": plain(margin.lower),
        "upper": plain(margin.upper),
        "standing": margin.standing.name,
        "notes": list(margin.notes),
        "image": _image(scene, point),
        "rivals": found,
    }


def _pictures(scene: Scene, point: Any, nearest: Any) -> dict[str, Any]:
    if scene.image_shape is None:
        return {"change": [float(f"{value:.4g}") for value in (np.asarray(nearest) - point)[:8]]}
    change = np.asarray(nearest) - point
    return {
        "image": _image(scene, nearest),
        "difference": data_address(difference_png(change, scene.image_shape)),
    }


def _image(scene: Scene, point: Any) -> str | None:
    if scene.image_shape is None:
        return None
    return data_address(image_png(point, scene.image_shape, scene.shades))
