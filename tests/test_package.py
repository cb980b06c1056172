"""What the package as a whole promises: its names, its layers, its start-up, its examples."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import polymargin as pm


def test_public_names_are_pinned() -> None:
    assert pm.__all__ == [
        "Answer",
        "Boundary",
        "Certificate",
        "InputError",
        "L1",
        "L2",
        "LightningAttention",
        "Linf",
        "Margin",
        "Margins",
        "Network",
        "NetworkArchitecture",
        "PolymarginError",
        "PolynomialNetwork",
        "ReLUNetwork",
        "Settings",
        "SplineNetwork",
        "Standing",
        "Verdict",
        "Verdicts",
        "Verifier",
        "attack",
        "chambers",
        "critical_points",
        "ed_degree",
        "ed_discriminant",
        "expected_real_critical_points",
        "explore",
        "from_arrays",
        "from_sklearn",
        "from_torch",
        "load",
        "margin",
        "parameter_discriminant",
        "pi_net",
        "ranges",
        "report",
        "to_onnx",
        "to_torch",
        "verify",
    ]
    assert len(pm.__all__) <= 40
    assert set(dir(pm)) == {*pm.__all__, "plots", "__version__"}
    for name in pm.__all__:
        assert getattr(pm, name) is not None


NAMED_AS_THEIR_FILE = [
    "chambers",
    "critical_points",
    "ed_degree",
    "ed_discriminant",
    "explore",
    "load",
    "report",
]


def test_a_public_function_is_found_by_file_name() -> None:
    """Its room has a file of that name, and whoever imports the file first still finds the function in the room."""
    lines = []
    for name in NAMED_AS_THEIR_FILE:
        module = getattr(pm, name).__module__
        assert module.rpartition(".")[2] == name
        room = ".".join(module.split(".")[:2])
        lines.append(f"import {module}, {room}; assert callable({room}.{name}), {name!r}")
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_a_file_does_not_take_the_place_of_its_function() -> None:
    """Files of `learning` import each other before the package has its functions."""
    pytest.importorskip("torch")
    code = """
import polymargin.learning.margin_training, polymargin.learning.exact_margin, polymargin.learning.rival_margins
from polymargin.learning import exact_margin, rival_margins, fine_tune
assert callable(exact_margin) and callable(rival_margins) and callable(fine_tune)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def loaded_after(statement: str, *modules: str) -> list[str]:
    """Which of the modules a fresh interpreter has loaded after the statement."""
    code = f"import sys; {statement}; print(*(m for m in {modules!r} if m in sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return result.stdout.split()


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert loaded_after("import polymargin", "numpy", "flint", "scipy", "rich", "typer") == []


def test_the_command_line_starts_without_anything_heavy() -> None:
    assert loaded_after("import polymargin.cli.app", "numpy", "flint", "scipy", "matplotlib") == []


def test_margins_do_not_import_what_they_do_not_need() -> None:
    assert loaded_after("import polymargin; polymargin.margin", "rich", "matplotlib", "torch", "sympy") == []


def test_no_module_keeps_anything_between_calls() -> None:
    """Mutable containers of modules are tables, with names in upper case, that nobody writes to; there are no caches."""
    home = Path(pm.__file__).parent
    for file in home.rglob("*.py"):
        where = file.relative_to(home).as_posix()
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                decorators = {
                    name.id for one in node.decorator_list for name in ast.walk(one) if isinstance(name, ast.Name)
                }
                assert not decorators & {"cache", "lru_cache"}, f"{where}: {node.name}"
        for node in tree.body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and (value := node.value) is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
                called = (
                    getattr(value.func, "attr", getattr(value.func, "id", "")) if isinstance(value, ast.Call) else ""
                )
                changes = isinstance(value, (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp))
                if changes or called in ("dict", "list", "set", "local", "defaultdict", "WeakKeyDictionary", "deque"):
                    assert all(name.strip("_").isupper() or name == "__all__" for name in names), f"{where}: {names}"


def test_nothing_is_said_at_exit() -> None:
    """The core complains about its objects that outlive Python, so no program may belong to the whole process."""
    code = """
import gc
import polymargin as pm
from polymargin.polynomials import Program
cubic = pm.Boundary.from_expression("x**3 + x*y**2 - y - 1")
pm.critical_points(cubic, [0.5, 0.25], cache=False)
pm.margin(cubic, [0.5, 0.25])
pm.ed_degree(cubic, method="numeric")
pm.expected_real_critical_points(2, 3, simulate=5)
del cubic
gc.collect()
assert not [thing for thing in gc.get_objects() if isinstance(thing, Program)]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
