"""Colours with a meaning, the same in every figure and on every page.

Pages with light and dark schemes replace those of `VARIABLES` by CSS variables (`reports.inline_svg`). The colours of
classes (after Okabe and Ito) can be told apart by readers with any kind of colour vision; markers repeat what they say.
"""

from __future__ import annotations

from polymargin.standing import Standing

INK, SOFT, LINE = "#22232a", "#62646f", "#dfe0e6"
PROVED, NUMERICAL, BRACKETED, WRONG = "#1e7d46", "#2f6db5", "#c98a1b", "#b3261e"

VARIABLES = {
    INK: "--ink",
    SOFT: "--soft",
    LINE: "--line",
    PROVED: "--proved",
    NUMERICAL: "--numerical",
    BRACKETED: "--bracketed",
    WRONG: "--wrong",
}
OF_STANDING = {Standing.CERTIFIED: PROVED, Standing.NUMERICAL: NUMERICAL, Standing.BRACKETED: BRACKETED}
NAMES = {Standing.CERTIFIED: "proved", Standing.NUMERICAL: "numerical", Standing.BRACKETED: "bracketed"}

CLASS_COLOURS = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#b8a800",
    "#6a51a3",
    "#7f7f7f",
    "#8c4a2f",
)
# Matplotlib's names of the markers; the explorer draws the same shapes.
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p", "*", "h")


def class_colour(label: int) -> str:
    """Return the colour of a class as #rrggbb; colours repeat after ten classes."""
    return CLASS_COLOURS[label % len(CLASS_COLOURS)]


def class_marker(label: int) -> str:
    """Return the Matplotlib marker of a class."""
    return CLASS_MARKERS[label % len(CLASS_MARKERS)]
