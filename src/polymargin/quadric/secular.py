"""The secular equation of the nearest point, for many points at once.

Minimise ‖δ‖ subject to B = β + gᵀδ + Σ σ_i δ_i² = 0 with β > 0 (flip the sign of B otherwise). Stationarity of
½‖δ‖² + λ B gives d_i δ_i = −λ g_i with d_i = 1 + 2λσ_i. Put into B:

    B(δ(λ)) = β − φ(λ),    φ(λ) = ½ Σ g_i² (λ/d_i)(1 + 1/d_i),    φ'(λ) = Σ g_i² / d_i³.

Let λ₊ = 1/(2|σ_min|) if σ_min < 0, else ∞. On [0, λ₊) all d_i > 0: the Lagrangian is strictly convex, so a stationary point
with B = 0 is *the* global minimiser, and φ rises strictly from 0, so there is at most one. If φ stays below β:

* λ₊ finite (the hard case; g vanishes on the eigenspace of σ_min): at λ₊ the Lagrangian is still convex; add any z of
  that eigenspace with |σ_min| ‖z‖² = β − φ(λ₊). All of this sphere is nearest.
* λ₊ = ∞, A ⪰ 0, g in the range of A: inf B = S = β − Σ g_i²/(4σ_i) ≥ 0. S > 0: no real point. S = 0: B vanishes exactly where
  ∇B = 0, and λ → ∞ leads to the nearest such point.

These cases exhaust all quadrics (strong duality for one quadratic equation). Numerically: Newton's method on log φ as a
function of log λ below λ₊/2, and of log t with λ = λ₊(1 − t) above it: both are nearly straight lines (φ ~ λ, φ ~ t⁻²), and
each variable keeps its relative accuracy where it is used. A bracket safeguards every step. Cf. Moré & Sorensen 1983.

Where A ⪰ 0 and u is far away, β is a difference of large numbers; B = S + Σ w_i/d_i² with w_i = g_i²/(4σ_i), and
Σ w_i/d_i² = −S is solved instead. The core does all this (cpp/secular.hpp), a row at a time: what a row gets does not
depend on the others.
"""

from __future__ import annotations

from enum import IntEnum


class NearestKind(IntEnum):
    """The kind of a nearest point; the core uses the same numbers."""

    REGULAR = 0
    SPHERE = 1  # one of a sphere of nearest points (two of them if the sphere has dimension 0)
    SINGULAR = 2  # a singular point of the boundary: ∇B = 0 there
    EMPTY = 3  # the boundary has no real point
    ON_BOUNDARY = 4
