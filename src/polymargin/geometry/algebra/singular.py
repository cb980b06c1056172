"""Elimination with Singular: a short script is written, and marked lines are read back.

Saturation is the loop of ideal quotients that defines it, so
that the script does not depend on the version of Singular's libraries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polymargin.geometry.algebra.engines import EngineError, run_engine
from polymargin.geometry.algebra.equations import System
from polymargin.geometry.algebra.rings import Ring, integer_form, parse_polynomial

MARK = "@@"
SATURATE = """
proc saturated(ideal I, ideal S)
{
  I = std(I);
  while (1)
  {
    ideal Q = std(quotient(I, S));
    if (size(reduce(Q, I)) == 0) { return(I); }
    I = Q;
    kill Q;
  }
}
"""


def eliminated_primes(
    system: System, kept: int, *, saturate: Sequence[Any], timeout: float
) -> list[tuple[int, list[Any]]]:
    """Return the minimal primes of the part in the last `kept` variables of the saturated ideal, each with its dimension.

    As integer polynomials in a ring of the kept variables.
    """
    ring = system.ring
    small = Ring(ring.names[-kept:], ring.prime)
    script = _ideal(ring, "I", system.polynomials) + _ideal(ring, "S", saturate)
    script += f"""
ideal E = eliminate(saturated(I, S), {"*".join(ring.names[:-kept])});
ring K = {ring.prime or 0}, ({",".join(small.names)}), dp;
short = 0;
list L = minAssGTZ(imap(R, E));
for (int i = 1; i <= size(L); i++)
{{
  L[i] = std(L[i]);
  if (dim(L[i]) >= 0) {{ print("{MARK}" + string(dim(L[i])) + ":" + string(interred(L[i]))); }}
}}
"""
    parts = [line.split(":") for line in _run(ring, script, timeout, libraries=("primdec.lib",))]
    return [(int(dimension), _polynomials(small, body)) for dimension, body in parts]


def _run(ring: Ring, script: str, timeout: float, libraries: Sequence[str] = ()) -> list[str]:
    """Return the marked lines that a script prints in the given ring."""
    head = "".join(f'LIB "{library}";\n' for library in libraries) + SATURATE
    head += f"ring R = {ring.prime or 0}, ({','.join(ring.names)}), dp;\nshort = 0;\n"
    arguments = ["--quiet", "--no-rc", "--no-tty", "script"]
    printed = run_engine("Singular", arguments, {"script": f"{head}{script}quit;\n"}, timeout=timeout)
    troubles = [line.strip() for line in printed.splitlines() if line.lstrip().startswith("?")]
    if troubles:
        raise EngineError(f"Singular stopped: {troubles[0]}")
    return [line[len(MARK) :] for line in printed.splitlines() if line.startswith(MARK)]


def _ideal(ring: Ring, name: str, polynomials: Sequence[Any]) -> str:
    texts = [str(p if ring.prime else integer_form(p)) for p in polynomials if not p.is_zero()]
    return f"ideal {name} = " + ",\n".join(texts or ["0"]) + ";\n"


def _polynomials(ring: Ring, text: str) -> list[Any]:
    parsed = [parse_polynomial(ring, part) for part in text.split(",")]
    return [p if ring.prime else integer_form(p) for p in parsed]
