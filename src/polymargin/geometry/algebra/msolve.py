"""Counting the solutions of a polynomial system with msolve.

msolve computes a Gröbner basis and from it a rational parametrisation: a linear form that separates the solutions, its
minimal polynomial modulo the radical, and the coordinates in terms of it. Two numbers are read off: the dimension of the
quotient ring (solutions with multiplicity) and the degree of the minimal polynomial (different solutions).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from polymargin.geometry.algebra.critical_ideals import System
from polymargin.geometry.algebra.engines import EngineError, run_engine
from polymargin.geometry.algebra.rings import integer_form


@dataclass(frozen=True)
class SolutionCount:
    """Solutions over the algebraic closure: counted with multiplicity, and different ones."""

    with_multiplicity: int
    distinct: int


def count_solutions(system: System, *, timeout: float) -> SolutionCount | None:
    """The number of solutions; None where there are infinitely many.

    msolve reads expanded polynomials only; over the rationals it wants integer coefficients.
    """
    prime = system.ring.prime
    polynomials = [p if prime else integer_form(p) for p in system.polynomials if not p.is_zero()]
    text = f"{','.join(system.ring.names)}\n{prime or 0}\n" + ",\n".join(map(str, polynomials)) + "\n"
    arguments = ["-f", "system", "-o", "answer", "-P", "2"]
    answer = run_engine("msolve", arguments, {"system": text}, timeout=timeout, output="answer")
    return _read("".join(answer.split()))


def _read(answer: str) -> SolutionCount | None:
    """[-1] no solution, [1,n,-1,[]] infinitely many, [0,[p,n,dimension,[names],[form],[1,[[degree,[coefficients]],…

    Only the beginning is read: the coefficients can have more digits than Python likes to convert.
    """
    if answer.startswith("[-1]"):
        return SolutionCount(0, 0)
    if re.match(r"\[1,\d+,-1,", answer):
        return None
    found = re.match(r"\[0,\[\d+,\d+,(\d+),\[[^]]*\],\[[^]]*\],\[1,\[\[(\d+),", answer)
    if found is None:
        raise EngineError(f"msolve gave an answer that cannot be read: {answer[:200]!r}")
    return SolutionCount(int(found[1]), int(found[2]))
