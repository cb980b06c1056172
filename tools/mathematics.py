"""Formulas of the pages as pictures, made when the site is built: nothing to load, no font to have, sharp at any size.

A block ```math holds a displayed formula and `$…$` one within a line, both in LaTeX, as in other viewers of Markdown. Ziamath
turns them into SVG; the source stays as the text that screen readers read.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any
from xml.etree import ElementTree

import ziamath
from markdown import Extension, Markdown
from markdown.inlinepatterns import InlineProcessor

BLOCK = re.compile(r"^```math\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
WITHIN = r"(?<![\\$\w])\$(?![\s$])([^$\n]+?)(?<!\s)\$(?![\w$])"
PIXELS = 16.0

ziamath.config.svg2 = False  # paths in every picture: browsers do not look for symbols elsewhere


def displayed(markdown: str) -> str:
    """The page with its displayed formulas drawn."""
    return BLOCK.sub(lambda found: f'<div class="formula">{_svg(found[1].strip(), inline=False)}</div>', markdown)


class Formulas(Extension):
    """Formulas within lines, outside code."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.inlinePatterns.register(_Within(WITHIN, md), "formula", 185)


class _Within(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> Any:  # type: ignore[override]
        return self.md.htmlStash.store(_svg(m[1], inline=True)), m.start(0), m.end(0)


def _svg(latex: str, *, inline: bool) -> str:
    drawn = ziamath.Latex(latex, size=PIXELS if inline else 1.15 * PIXELS, inline=inline)
    picture = ElementTree.fromstring(drawn.svg())
    sizes = [float(picture.attrib.pop(name)) / PIXELS for name in ("width", "height")]
    below = drawn.getyofst() / PIXELS
    style = f"width:{sizes[0]:.3f}em;height:{sizes[1]:.3f}em;vertical-align:{below:.3f}em"
    ElementTree.register_namespace("", "http://www.w3.org/2000/svg")
    for part in picture.iter():  # the colour is that of the text, in light and dark mode
        part.attrib.pop("fill", None)
    paths = "".join(ElementTree.tostring(part, encoding="unicode") for part in picture)
    label = escape(" ".join(latex.split()), quote=True)
    box = picture.attrib["viewBox"]
    return f'<svg class="formula" role="img" aria-label="{label}" viewBox="{box}" style="{style}">{paths}</svg>'
