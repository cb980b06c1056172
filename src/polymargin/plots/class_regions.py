"""Class regions of a network in two inputs, and the decision boundaries between them.

A boundary is where the largest logit of a class equals the largest of the others. Ties between two classes below a third one
are no boundaries and are not drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polymargin.networks import Network
from polymargin.plots.palette import INK, class_colour

SAMPLES = 500


def draw_class_regions(
    axes: Any, network: Network, window: tuple[float, float, float, float], *, alpha: float = 0.2
) -> None:
    """Fill the class regions of the window (left, right, bottom, top) and draw the boundaries between them."""
    x, y = np.meshgrid(np.linspace(*window[:2], SAMPLES), np.linspace(*window[2:], SAMPLES))
    logits = network(np.stack([x, y], axis=-1))
    count = network.class_count
    colours = [class_colour(label) for label in range(count)]
    axes.contourf(x, y, logits.argmax(axis=-1), levels=np.arange(count + 1) - 0.5, colors=colours, alpha=alpha)
    for label in range(count if count > 2 else 1):
        lead = logits[..., label] - np.delete(logits, label, axis=-1).max(axis=-1)
        if (lead < 0).any() and (lead > 0).any():
            axes.contour(x, y, lead, levels=[0.0], colors=INK, linewidths=1.5)


def ticks_inside(axes: Any) -> None:
    """Draw the ticks of both axes inside the picture, on all four sides."""
    axes.tick_params(direction="in", top=True, right=True, length=4)
