"""Add to the site what is not in docs/: the API reference, tables of options, formulas, results, changelog and contributing.

A hook file of mkdocs.yml. Everything is generated in memory while the site is built.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from api_reference import linked, reference_pages
from command_reference import with_options
from mathematics import Formulas, displayed
from mkdocs.structure.files import File, Files

from polymargin import __version__

ROOT = Path(__file__).parent.parent
# Files outside docs/ that pages link to as ../name; on the site they lie beside the pages.
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")


def on_config(config: Any) -> Any:
    """Add generated pages to the navigation, formulas within lines, and the version in the footer."""
    config.markdown_extensions.append(Formulas())
    config.copyright = f"polymargin {__version__}"
    api = [f"api/{name}.md" for name in reference_pages()]
    sections = {title: pages for section in config.nav for title, pages in section.items()}
    sections["Reference"] += [{"Python": ["api.md", *api]}, {"Changes": "CHANGELOG.md"}]
    sections["Contributing"] += [name for name in BESIDE if name != "CHANGELOG.md"]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made, and the tables in results/, which pages link to."""
    for name, page in reference_pages().items():
        files.append(File.generated(config, f"api/{name}.md", content=page))
    for name in BESIDE:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for pattern in ("*/README.md", "*/*.csv"):
        for file in sorted((ROOT / "results").glob(pattern)):
            files.append(File.generated(config, _uri(file), abs_src_path=str(file)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Keep links that leave docs/ in the repository on the site."""
    uri = page.file.src_uri
    markdown = displayed(markdown)
    if uri in BESIDE:
        return markdown.replace("](docs/", "](")
    if "/" not in uri:
        markdown = markdown.replace("](../", "](")
    if uri == "api.md":
        return linked(markdown)
    return with_options(markdown) if uri == "command-line.md" else markdown


def on_post_build(config: Any) -> None:
    """Write the index of the search as a script: from disk, a page may load that but not fetch a file."""
    folder = Path(config.site_dir) / "search"
    documents = json.loads((folder / "search_index.json").read_text(encoding="utf-8"))["docs"]
    (folder / "search_index.js").write_text(f"polymarginSearch({json.dumps(documents)});\n", encoding="utf-8")


def _uri(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()
