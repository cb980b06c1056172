"""What is asked of Singular: degrees, saturation, elimination, primary decomposition.

Every function writes a short script and reads back marked lines. Saturation is the loop of ideal quotients that defines it, so
that the scripts do not depend on the version of Singular's libraries.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from polymargin.geometry.algebra.components import PrimaryComponent
from polymargin.geometry.algebra.critical_ideals import System
from polymargin.geometry.algebra.engines import EngineError, run_engine
from polymargin.geometry.algebra.plane import univariate
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


def quotient_dimension(system: System, *, saturate: Sequence[Any] = (), timeout: float) -> int | None:
    """The dimension of the quotient by the ideal, saturated by the polynomials given; None if it is infinite."""
    script = _ideal(system.ring, "I", system.polynomials)
    script += _ideal(system.ring, "S", saturate) + "I = saturated(I, S);\n" if saturate else "I = std(I);\n"
    script += f'print("{MARK}" + string(vdim(I)));\n'
    (answer,) = _run(system.ring, script, timeout)
    return None if answer == "-1" else int(answer)


def eliminated_primes(
    system: System, kept: int, *, saturate: Sequence[Any], timeout: float
) -> list[tuple[int, list[Any]]]:
    """The minimal primes of the part in the last `kept` variables of the saturated ideal, each with its dimension.

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


def primary_decomposition(
    system: System, *, drop: int, saturate: Sequence[Any], timeout: float
) -> list[PrimaryComponent]:
    """The primary components after elimination of the last `drop` variables; saturated first if polynomials are given."""
    ring = system.ring
    small = Ring(ring.names[: len(ring.names) - drop], ring.prime)
    script = _ideal(ring, "I", system.polynomials)
    if saturate:
        script += _ideal(ring, "S", saturate) + "I = saturated(I, S);\n"
    script += f"ideal E = eliminate(std(I), {'*'.join(ring.names[-drop:])});\n"
    names = ",".join(small.names)
    generator = random.Random(20264)
    form = "+".join(f"{generator.randrange(1, 1000)}*{name}" for name in small.names)  # tells the points apart
    script += f"""
ring K = {ring.prime or 0}, ({names}), dp;
short = 0;
option(redSB);
list L = primdecGTZ(imap(R, E));
for (int i = 1; i <= size(L); i++)
{{
  ideal P = std(L[i][1]);
  ideal Q = std(L[i][2]);
  int place = dim(Q);
  if (place >= 0)
  {{
    print("{MARK}" + string(place) + ":" + string(vdim(P)) + ":" + string(vdim(Q)) + ":" + string(P) + ":" + string(Q));
    if (place == 0)
    {{
      ring T = {ring.prime or 0}, ({names}, t), dp;
      short = 0;
      ideal Q = std(imap(K, Q) + ideal(t - ({form})));
      ring X = {ring.prime or 0}, ({names}, t), lp;
      short = 0;
      print("{MARK}" + string(fglm(T, Q)));
      setring K;
      kill T, X;
    }}
  }}
  kill P, Q, place;
}}
"""
    lines = iter(_run(ring, script, timeout, libraries=("primdec.lib",)))
    return [_component(small, line, lines) for line in lines]


def _component(small: Ring, line: str, lines: Iterator[str]) -> PrimaryComponent:
    dimension, total, points, *texts = line.split(":")
    primary, prime = (tuple(_polynomials(small, text)) for text in texts)
    if dimension != "0":
        return PrimaryComponent(primary, prime, int(dimension))
    minimal, coordinates = _shape(small, next(lines))
    return PrimaryComponent(primary, prime, 0, int(total) // int(points), minimal, coordinates)


def _shape(small: Ring, text: str) -> tuple[Any, tuple[Any, ...]]:
    """The shape of a prime ideal of points in lexicographic order: f(t) and x_i − g_i(t)."""
    size, with_form = len(small.names), small.extended("t")
    minimal, *entries = sorted(
        (parse_polynomial(with_form, part) for part in text.split(",")), key=lambda p: p.degrees()
    )
    units = [tuple(int(i == j) for j in range(size)) for i in range(size)]
    entries.reverse()
    if any(minimal.degrees()[:-1]) or [entry.degrees()[:-1] for entry in entries] != units:
        raise EngineError(f"a linear form does not separate the points of the ideal ({text[:200]})")
    coordinates = []
    for variable, unit, entry in zip(with_form.variables, units, entries, strict=False):
        rest = variable - entry / entry[(*unit, 0)]
        coordinates.append(univariate(with_form, rest, size))
    return univariate(with_form, minimal, size), tuple(coordinates)


def _run(ring: Ring, script: str, timeout: float, libraries: Sequence[str] = ()) -> list[str]:
    """The marked lines that a script prints in the given ring."""
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
