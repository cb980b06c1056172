"""Matplotlib figures as SVG inside a page, with CSS variables as colours and the font of the page."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

from polymargin.plots.palette import VARIABLES


def inline_svg(figure: Any, name: str, description: str) -> str:
    """Return the `<svg>` element; `name` makes identifiers unique on a page with several figures."""
    from html import escape

    from matplotlib import rc_context

    buffer = StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, f"var({variable})")
    text = re.sub(r"font: ([^;\"']*?)('[^']*'[^;\"]*)?(?=[;\"])", _font, text)
    # Matplotlib's identifiers must be unique on the page.
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", text)
    text = re.sub(r'<svg ([^>]*?)width="[^"]*" height="[^"]*"', r"<svg \1", text, count=1)
    text = re.sub(r'<svg ([^>]*?)height="[^"]*"([^>]*?)width="[^"]*"', r"<svg \1\2", text, count=1)
    label = escape(description, quote=True)
    return re.sub(r"\n\s*", "\n", text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1))


def _font(found: re.Match[str]) -> str:
    size = re.search(r"[\d.]+px", found.group(0))
    return f"font-size: {size.group(0)}" if size else found.group(0)
