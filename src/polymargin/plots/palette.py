"""Colours with a meaning, the same in every figure and on every page.

A page for a light and a dark room replaces them by CSS variables of the same names (`reports.inline_svg`).
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
