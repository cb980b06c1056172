"""The API reference, generated from the docstrings: one Markdown page per package.

`python tools/api_reference.py` prints it. Docstrings here are plain text with three habits, each of which gets its
Markdown: doctests, columns (`name   meaning`, two spaces or more between them, further lines indented), and NumPy's
parameter lists.
"""

from __future__ import annotations

import dataclasses
import enum
import html
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import polymargin

# The command line has a page of its own, and `reproduce` is reached through it.
NOT_DESCRIBED = ("cli", "reproduce")


def reference_pages() -> dict[str, str]:
    """Room -> its page, in alphabetical order."""
    return {package: package_page(package, names) for package, names in package_names().items()}


def package_names() -> dict[str, tuple[str, ...]]:
    """Room -> the names it offers: its `__all__`, and the public names that live there."""
    public: dict[str, set[str]] = {}
    for name in polymargin.__all__:
        public.setdefault(polymargin._HOME[name], set()).add(name)
    packages = {}
    for module in pkgutil.iter_modules(polymargin.__path__):
        offered = set(public.get(module.name, ()))
        if module.ispkg and module.name not in NOT_DESCRIBED:
            offered |= set(getattr(importlib.import_module(f"polymargin.{module.name}"), "__all__", ()))
        if offered:
            packages[module.name] = tuple(
                sorted(offered, key=lambda name: (name not in polymargin.__all__, name.lower(), name))
            )
    return packages


def linked(markdown: str) -> str:
    """Link the names in the tables of a page to their entries."""

    def link(found: re.Match[str]) -> str:
        home = polymargin._HOME.get(found[1])
        return found[0] if home is None else f"[`{found[1]}`](api/{home}.md#{found[1].lower()})"

    return re.sub(r"^\|.*$", lambda row: re.sub(r"`(\w+)`", link, row[0]), markdown, flags=re.MULTILINE)


def package_page(package: str, names: tuple[str, ...]) -> str:
    """All names of one package, those at the top of the package first."""
    module = importlib.import_module(f"polymargin.{package}")
    parts = [f"# polymargin.{package}", markdown(inspect.getdoc(module) or "")]
    parts += [entry(package, name, getattr(module, name)) for name in names]
    return "\n\n".join(parts) + "\n"


def entry(package: str, name: str, value: Any) -> str:
    """One name: how it is called, what its docstring says, and for a class its members."""
    home = "polymargin" if name in polymargin.__all__ else f"polymargin.{package}"
    lines = [f"## {name}"]
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return "\n\n".join([*lines, f"`{home}.{name} = {value!r}`"])
    is_enum = inspect.isclass(value) and issubclass(value, enum.Enum)
    lines.append(_code(f"{home}.{name}{'' if is_enum else signature(value)}"))
    lines.append(markdown(_docstring(value)))
    if is_enum:
        lines.append("Members: " + ", ".join(f"`{member.name}`" for member in value))
    if inspect.isclass(value):
        lines += list(_members(value))
    return "\n\n".join(line for line in lines if line)


def signature(value: Any) -> str:
    """`(model, points, *, seed: int = 0) -> Margin`, one parameter per line where it is long."""
    try:
        found = inspect.signature(value)
    except ValueError:  # exceptions inherit a constructor that does not tell
        return ""
    parameters = [
        parameter.replace(annotation=_bare(parameter.annotation), default=_default(parameter.default))
        for parameter in found.parameters.values()
    ]
    # What a class returns when called is known.
    given = inspect.Signature.empty if inspect.isclass(value) else _bare(found.return_annotation)
    short = str(found.replace(parameters=parameters, return_annotation=given))
    if len(short) <= 90:
        return short
    arrow = "" if given is inspect.Signature.empty else f" -> {given!r}"
    return f"(\n    {_one_per_line(parameters)},\n){arrow}"


def _one_per_line(parameters: list[inspect.Parameter]) -> str:
    written = []
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in written:
            written.append("*")
        written.append(str(parameter))
    return ",\n    ".join(written)


class _Bare:
    """A text that prints without quotation marks, as annotations do in the source."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _bare(annotation: Any) -> Any:
    return _Bare(annotation) if isinstance(annotation, str) else annotation


def _default(default: Any) -> Any:
    # Objects without a written form, such as the factories of dataclass fields.
    return _Bare("…") if repr(default).startswith("<") and default is not inspect.Parameter.empty else default


def _docstring(value: Any) -> str:
    """The docstring somebody wrote; dataclasses make one up where there is none, and enums inherit one."""
    written = value.__doc__ or ""
    if dataclasses.is_dataclass(value) and written.startswith(f"{getattr(value, '__name__', '')}("):
        return ""
    return inspect.cleandoc(written)


def _members(value: type) -> Iterator[str]:
    """Public methods and properties that say something about themselves."""
    for name, member in vars(value).items():
        function = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        described = function.__doc__ if callable(function) or hasattr(member, "__get__") else None
        hidden = name.startswith("_") and name != "__call__"
        if hidden or not described or isinstance(value, enum.EnumMeta):
            continue
        called = signature(function) if callable(function) else ""
        shown = called.replace("(self, ", "(").replace("(self)", "()").replace("(cls, ", "(") if called else ""
        first = markdown(inspect.cleandoc(described)).replace("\n", "\n    ")
        yield f"*   <code>{html.escape(' '.join(f'{name}{shown}'.split()))}</code>\n\n    {first}"


# -- docstrings to Markdown -----------------------------------------------------------------------


def markdown(text: str) -> str:
    """A docstring as Markdown."""
    return "\n\n".join(_block(block) for block in _blocks(text))


def _blocks(text: str) -> list[str]:
    """Paragraphs; the heading of a parameter list goes, its underline tells what follows."""
    return [block for block in re.split(r"\n\s*\n", text.strip()) if block]


def _block(block: str) -> str:
    lines = block.split("\n")
    if len(lines) > 1 and re.fullmatch(r"-{3,}", lines[1]):
        return f"**{lines[0]}**\n\n{_block(chr(10).join(lines[2:]))}" if lines[2:] else f"**{lines[0]}**"
    if lines[0].startswith(">>>"):
        return _code(block, "pycon")
    if all(line.startswith("    ") for line in lines):
        return _code(inspect.cleandoc("\n" + block))
    rows = _columns(lines) or _parameters(lines)
    if rows:
        return "\n".join(
            [
                "| name | meaning |",
                "|---|---|",
                *(f"| {_words(name)} | {meaning.replace('|', chr(92) + '|')} |" for name, meaning in rows),
            ]
        )
    return _escaped(block)


def _columns(lines: list[str]) -> list[list[str]]:
    """`name   meaning`; a line that starts with spaces continues the meaning above."""
    rows: list[list[str]] = []
    for line in lines:
        if line.startswith("  ") and rows:
            rows[-1][1] += " " + line.strip()
        elif found := re.fullmatch(r"(\S+(?: \S+)*)\s{2,}(\S.*)", line):
            rows.append([found[1], found[2]])
        else:
            return []
    return [[name, _escaped(meaning)] for name, meaning in rows]


def _parameters(lines: list[str]) -> list[list[str]]:
    """NumPy's form: a name on a line of its own, its meaning indented below."""
    rows: list[list[str]] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("    ") and rows:
            rows[-1][1] = f"{rows[-1][1]} {line.strip()}".strip()
        elif following.startswith("    "):
            rows.append([line, ""])
        else:
            return []
    return [[name, _escaped(meaning)] for name, meaning in rows]


def _words(names: str) -> str:
    """`label, rival` as two words of code; a phrase such as 'a folder' as it is."""
    parts = names.split(", ")
    return ", ".join(part if " " in part else f"`{part}`" for part in parts)


def _escaped(text: str) -> str:
    """Asterisks and angle brackets outside of code mean themselves."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece.startswith("`") else re.sub(r"([*_<\[])", r"\\\1", piece) for piece in pieces)


def _code(text: str, language: str = "python") -> str:
    return f"```{language}\n{text}\n```"


if __name__ == "__main__":
    print("\n\n".join(reference_pages().values()))
