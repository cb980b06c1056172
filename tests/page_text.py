"""What a built page shows a reader, against the Markdown it was made from.

A browser takes `<l` in a sentence for a tag and hides what follows; Markdown takes underscores of formulas for emphasis, and a
bullet without a blank line before it for text. `--strict` notices none of these.
"""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

# What the site uses. A tag made of a formula, `<l−1`, is none of these.
TAG_NAMES = re.compile(
    r"html|head|meta|title|link|script|style|body|nav|div|section|article|aside|header|footer|main|ul|ol|li|d[ltd]|a|p|h[1-6]|span"
    r"|strong|em|code|pre|table|thead|tbody|t[rhd]|br|hr|img|svg|path|rect|line|g|use|defs|text|input|form|button|label|i|b|su[bp]"
    r"|blockquote|small|noscript|circle|polyline|polygon|ellipse|kbd|del|details|summary|figure|figcaption"
)
LITERAL_MARKUP = re.compile(
    r"(?:^|\n)\s*\* \w.{0,40}|(?<![\w)])\*\*\S.{0,30}|(?<=\s)_\w[^_\n]{0,30}_(?=\W)|\]\([^)\n]{0,40}\)"
)
# What of a source no reader sees: formulas, fences, comments, pictures, addresses.
HIDDEN = (
    r"^```math\n.*?^```$",
    r"^```\w*$",
    r"<!--.*?-->",
    r"(?<![\\$\w])\$(?![\s$])[^$\n]+?(?<!\s)\$(?![\w$])",
    r"!\[[^\]]*\]\([^)\n]*\)",
    r"\]\([^)\n]*\)",
    r"<(?:img|a|p|div)\b[^>]*>",
)


class PageText(HTMLParser):
    """The text of a page's main part, its tags that HTML does not have, and Markdown that was left as it is."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.unknown_tags: list[str] = []
        self._open: list[str] = []
        self._main = False
        self._prose: list[str] = []
        self._all: list[str] = []
        self.feed(html)

    @property
    def literal_markup(self) -> list[str]:
        return [found.strip() for found in LITERAL_MARKUP.findall("".join(self._prose))]

    @property
    def underscores(self) -> int:
        return "".join(self._prose).count("_")

    @property
    def words(self) -> Counter[str]:
        return words(" ".join(self._all))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not TAG_NAMES.fullmatch(tag):
            self.unknown_tags.append(tag)
        if tag == "article":
            self._main = True
        if tag in ("code", "pre", "script", "style", "svg"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self._main = False
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not self._main or any(tag in ("script", "style", "svg") for tag in self._open):
            return
        self._all.append(data)
        self._prose.append(" \N{REPLACEMENT CHARACTER} " if self._open else data)


def underscores(markdown: str) -> int:
    """Return how many underscores a reader is to see outside code, formulas and addresses."""
    for hidden in (r"^ *```.*?^ *```$", r"`[^`]+`", r"^ {4,}[^\n]*$", *HIDDEN):
        markdown = re.sub(hidden, " ", markdown, flags=re.MULTILINE | re.DOTALL)
    return markdown.count("_")


def words(text: str) -> Counter[str]:
    """Return how often each word of letters occurs."""
    return Counter(re.findall(r"[^\W\d_]{2,}", text))


def source_words(markdown: str) -> Counter[str]:
    """Return the words of a page that a reader is to see: no formulas, addresses, comments or pieces of HTML."""
    for hidden in HIDDEN:
        markdown = re.sub(hidden, " ", markdown, flags=re.MULTILINE | re.DOTALL)
    return words(markdown)
