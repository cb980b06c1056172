"""ED degrees by Macaulay2 (algebra) and PHCpack (its own continuation), which share nothing with this package."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import sympy

import polymargin as pm
from polymargin.geometry import Variety

needs_phc = pytest.mark.skipif(shutil.which("phc") is None, reason="needs PHCpack (Debian package phcpack)")
needs_m2 = pytest.mark.skipif(shutil.which("M2") is None, reason="needs Macaulay2 (Debian package macaulay2)")

BOUNDARIES = [
    "y**3 - x**4",
    "y**4 - x**5",
    "y**2 - x**3 - x**2/1000",
    "x**2 + 2*y**2 + x**3/10**4 - 1",
    "x**3 + 2*y**3 - x*y + 1",
    "(x**2 + y**2)**2 - 2*(x**2 - y**2)",
    "(x**2 + y**2 - 1)*(x - 3*y + 1)",
    "x**2 + 2*y**2 + 3*z**2 + x**3/10**4 - 1",
    "x**4 - y**2*z + x*y*z",
    "x*y*z - 1",
]
VARIETIES = [
    ["x**2 + y**2 + z**2 - 1", "x*y - z"],
    ["x**2 + 2*y**2 + 3*z**2 - 1", "x + y*z - 1/2"],
    ["x**2 + y**2 - 1", "z**2 + w**2 - 2"],
]
POINT = (37, -81, 59, 23)  # over 100


def critical_equations(texts: list[str]) -> tuple[list[str], list[str]]:
    """x − u + Σ μ_k ∇f_k = 0 and f = 0 with integer coefficients, and the unknowns."""
    polynomials = [sympy.sympify(text, rational=True) for text in texts]
    x = sorted(set().union(*(p.free_symbols for p in polynomials)), key=str)
    mu = sympy.symbols([f"m{k}" for k in range(len(texts))])
    equations = [
        variable
        - sympy.Rational(coordinate, 100)
        + sum(m * p.diff(variable) for m, p in zip(mu, polynomials, strict=True))
        for variable, coordinate in zip(x, POINT, strict=False)
    ]
    whole = [sympy.together(equation).as_numer_denom()[0] for equation in (*equations, *polynomials)]
    return [str(sympy.expand(equation)) for equation in whole], [str(symbol) for symbol in (*x, *mu)]


def phc_count(texts: list[str], folder: Path) -> int:
    """Simple solutions by the blackbox solver: the largest of three numbers, since single runs lose paths."""
    equations, names = critical_equations(texts)
    counts = []
    for seed in (34, 35, 36):
        source, answer = folder / f"system{seed}", folder / f"answer{seed}"
        source.write_text(f"{len(names)}\n" + "".join(f" {equation};\n" for equation in equations), encoding="ascii")
        command = ["phc", f"-0{seed}", "-b", str(source), str(answer)]
        subprocess.run(command, check=True, timeout=300, capture_output=True)
        residuals = re.findall(r"^m : 1$.*?= res :\s+(\S+) =", source.read_text(), re.MULTILINE | re.DOTALL)
        counts.append(sum(float(residual) < 1e-6 for residual in residuals))
    return max(counts)


def m2_count(texts: list[str], folder: Path) -> int:
    """The degree of the ideal of critical points, modulo a prime."""
    equations, names = critical_equations(texts)
    script = folder / "system.m2"
    ideal = ", ".join(equation.replace("**", "^") for equation in equations)
    script.write_text(f'R = ZZ/32003[{",".join(names)}];\nprint("FOUND " | toString degree ideal({ideal}));\nexit 0\n')
    done = subprocess.run(["M2", "--script", str(script)], check=True, timeout=300, capture_output=True, text=True)
    found = re.search(r"FOUND (\d+)", done.stdout)
    assert found is not None, done.stdout
    return int(found[1])


@pytest.mark.slow
@needs_phc
@pytest.mark.parametrize("text", BOUNDARIES)
def test_boundaries_by_phcpack(text: str, tmp_path: Path) -> None:
    found = pm.ed_degree(pm.Boundary.from_expression(text), cache=False)
    assert int(found) == phc_count([text], tmp_path)


@pytest.mark.slow
@needs_phc
@pytest.mark.parametrize("texts", VARIETIES, ids=str)
def test_varieties_by_phcpack(texts: list[str], tmp_path: Path) -> None:
    assert int(pm.ed_degree(Variety(texts))) == phc_count(texts, tmp_path)


@pytest.mark.slow
@needs_m2
@pytest.mark.parametrize("texts", [*([text] for text in BOUNDARIES), *VARIETIES], ids=str)
def test_both_by_macaulay2(texts: list[str], tmp_path: Path) -> None:
    assert int(pm.ed_degree(Variety(texts))) == m2_count(texts, tmp_path)
