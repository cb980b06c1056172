"""Attention: the theorem on one token, shared weights, metrics; against counts modulo primes and against monodromy."""

from __future__ import annotations

import pytest

import polymargin as pm
from polymargin.boundary import AttentionArchitecture, bombieri_weyl
from polymargin.geometry import parameterisation
from polymargin.standing import Standing

# (t, d, d', a), shared: ED degrees in the Euclidean, the Bombieri–Weyl and a generic metric, as notes/numbers.md prints them.
PRINTED = {
    ((2, 1, 1, 1), ""): (7, 7, 9),
    ((2, 2, 1, 1), ""): (17, 21, 21),
    ((2, 2, 1, 1), "KQ"): (14, 18, 18),
    ((2, 2, 1, 1), "KV"): (10, 12, 12),
    ((2, 2, 1, 1), "KQV"): (7, 9, 9),
    ((2, 2, 2, 1), "KQ"): (17, 21, 21),
    ((2, 3, 1, 2), "KQ"): (52, 60, 60),
    ((3, 1, 1, 1), ""): (7, 13, 15),
    ((3, 2, 1, 1), "KQ"): (14, 30, 30),
    ((3, 2, 2, 2), "KQV"): (99, 153, 153),
}


@pytest.mark.parametrize("shared", ["", "KQ"])
@pytest.mark.parametrize("a", [1, 2, 3])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_one_token(d: int, a: int, shared: str) -> None:
    architecture = AttentionArchitecture(1, d, 1, a, shared)
    theorem = pm.ed_degree(architecture)
    assert theorem.standing is Standing.CERTIFIED
    assert theorem.value == min((6 if shared else 12) * a, 6 * d - 3)
    assert int(pm.ed_degree(architecture, method="symbolic")) == theorem.value


@pytest.mark.parametrize(("sizes", "shared"), PRINTED, ids=str)
def test_printed_rows(sizes: tuple[int, int, int, int], shared: str) -> None:
    architecture = AttentionArchitecture(*sizes, shared)
    metrics = (None, bombieri_weyl(2, architecture.inputs - 1), "generic")
    found = tuple(int(pm.ed_degree(architecture, method="symbolic", metric=metric)) for metric in metrics)
    assert found == PRINTED[sizes, shared]


def test_monodromy_counts_shared_weights_too() -> None:
    found = pm.ed_degree(AttentionArchitecture(2, 2, 1, 1, "KQ"), method="numeric")
    assert (found.value, found.standing) == (14, Standing.NUMERICAL)


def test_what_is_not_shared() -> None:
    with pytest.raises(pm.InputError, match="expected one of"):
        AttentionArchitecture(2, 2, 1, 1, "QV")
    with pytest.raises(pm.InputError, match="d' = a"):
        AttentionArchitecture(2, 2, 2, 1, "KV")
    shared = AttentionArchitecture(2, 2, 1, 1, "KQ")
    with pytest.raises(pm.InputError, match="symmetries"):
        parameterisation(shared)
