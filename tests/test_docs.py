"""The documentation is true: examples run, links lead somewhere, names and commands are all there, and the site builds."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from number_aware import RELATIVE, TRAINED, agree
from page_text import PageText, source_words, underscores
from typer.testing import CliRunner

import polymargin as pm
from polymargin.cli.app import app

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tools"))

from api_reference import linked, package_names, reference_pages  # noqa: E402
from command_reference import SECTION, commands, with_options  # noqa: E402

README = ROOT / "README.md"
COMMAND_LINE = ROOT / "docs" / "command-line.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE = re.compile(r"```(python|console)\n(.*?)```(?:\s+<!-- prints -->\s+```text\n(.*?)```)?", flags=re.DOTALL)


def examples(page: Path) -> list[tuple[str, str, str]]:
    """(language, text, what it prints if the page says so) of every block that claims to run."""
    return EXAMPLE.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=lambda page: page.name)
def test_examples_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order of the page, in one folder and with one set of names, as a reader would go through it."""
    if any("import torch" in text for _, text, _ in examples(page)):
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__example__"}
    relative = TRAINED if any(".step()" in text for _, text, _ in examples(page)) else RELATIVE
    for language, text, prints in examples(page):
        if language == "python":
            exec(compile(text, str(page), "exec"), names)
            printed = capsys.readouterr().out
            assert not prints or agree(prints, printed, relative), printed
        else:
            _run_commands(text, relative)


def _run_commands(text: str, relative: float) -> None:
    """`$ command` and what it prints, compared as `number_aware` says."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment |= {"COLUMNS": "120"}
    for piece in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = piece.partition("\n")
        done = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        assert agree(expected, done.stdout, relative), (command, done.stdout)


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#:]+)\)", text) + re.findall(r'src="([^":]+)"', text):
            assert (page.parent / target).exists(), (page.name, target)


def test_every_public_name_is_described() -> None:
    for name in pm.__all__:
        value = getattr(pm, name)
        described = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
        assert described, f"pm.{name} has no docstring"
        assert not described.startswith(f"{name}("), f"pm.{name} has only the docstring that dataclasses make up"


def test_the_reference_has_every_public_name() -> None:
    pages = reference_pages()
    for name in pm.__all__:
        assert re.search(rf"^## {name}$", pages[pm._HOME[name]], flags=re.MULTILINE), name
    for package, names in package_names().items():
        assert pages[package].count("\n## ") == len(names)


def test_the_table_of_the_reference_has_every_public_name() -> None:
    table = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", "".join(line for line in table.splitlines() if line.startswith("|"))))
    assert named == set(pm.__all__)


def test_citation_names_this_version() -> None:
    assert f"version: {pm.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_command_line_page_has_every_command() -> None:
    sections = SECTION.findall(COMMAND_LINE.read_text(encoding="utf-8"))
    assert sorted(sections) == sorted(commands()), "docs/command-line.md: one section '## polymargin …' per command"


def test_command_line_page_names_only_options_that_exist() -> None:
    pieces = SECTION.split(COMMAND_LINE.read_text(encoding="utf-8"))
    for name, text in zip(pieces[1::2], pieces[2::2], strict=True):
        known = {option for parameter in commands()[name].params for option in parameter.opts}
        assert set(re.findall(r"--[a-z][a-z-]+", text)) <= known, name


def test_command_line_page_of_the_site_lists_every_option() -> None:
    """What --help prints is the truth."""
    pieces = SECTION.split(with_options(COMMAND_LINE.read_text(encoding="utf-8")))
    for name, text in zip(pieces[1::2], pieces[2::2], strict=True):
        printed = CliRunner().invoke(app, [*name.split(), "--help"]).output
        options = re.findall(r"^ +(--[a-z-]+)", printed, flags=re.MULTILINE)
        assert "--help" in options
        for option in options:
            assert re.search(rf"^\| `{option}[ `]", text, flags=re.MULTILINE), (name, option)


def test_site_builds_without_a_warning(tmp_path: Path) -> None:
    """Navigation, links and anchors; and nothing on a page is fetched from elsewhere."""
    pytest.importorskip("mkdocs")
    # Not --quiet: warnings that are not printed do not count as errors.
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for page in pages:
        loaded = re.findall(r'<(?:script|img|link|iframe)[^>]*(?:src|href)="([^"]+)"', page.read_text(encoding="utf-8"))
        assert not [address for address in loaded if "//" in address and not address.startswith("data:")], page.name
        if not page.is_relative_to(tmp_path / "results"):
            html = page.read_text(encoding="utf-8")
            formulas = re.findall(r'<svg class="formula".*?</svg>', html, flags=re.DOTALL)
            assert not any('fill="' in formula for formula in formulas), (
                f"{page.name}: a formula with a colour of its own"
            )
            shown = PageText(html)
            assert not shown.unknown_tags, (
                f"{page.name}: write mathematics as TeX or code, a browser hides {shown.unknown_tags}"
            )
            assert not shown.literal_markup, f"{page.name}: {shown.literal_markup}"
    for source in sorted((ROOT / "docs").glob("*.md")):
        markdown = source.read_text(encoding="utf-8")
        shown = PageText((tmp_path / f"{source.stem}.html").read_text(encoding="utf-8"))
        assert not source_words(markdown) - shown.words, source.name
        assert underscores(markdown) <= shown.underscores, source.name


def test_names_of_the_reference_are_links() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    found = dict(re.findall(r"\[`(\w+)`\]\((api/\w+\.md#\w+)\)", linked(page)))
    assert found == {name: f"api/{pm._HOME[name]}.md#{name.lower()}" for name in pm.__all__}
