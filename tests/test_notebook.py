"""The notebook through the paper runs from top to bottom, and its assertions hold."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parent.parent / "docs" / "paper.ipynb"


def test_the_notebook_runs() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {"__name__": "__notebook__"}
    asserted = 0
    for cell in cells:
        if cell["cell_type"] == "code":
            text = "".join(cell["source"])
            exec(compile(text, str(NOTEBOOK), "exec"), names)
            asserted += sum(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(text)))
            assert not cell["outputs"]  # what is shown is computed by the reader
    assert asserted >= 10
