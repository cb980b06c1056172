"""Networks of products: work and memory are looked at before they are spent."""

from __future__ import annotations

import pytest
from checker.stage_files import as_read
from checker.test_products_details import mixed, rationals
from flint import fmpq

from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import Product
from polymargin_checker import exact
from polymargin_checker.completeness import degree_of
from polymargin_checker.exact import exact_logits
from polymargin_checker.refusal import Refused


def squared_again_and_again(times: int) -> Network:
    forms = [Forms.of([[0.0] * k + [1.0]]) for k in range(times)]
    return Network([Product(form, form) for form in forms], Forms.of([[0.0] * times + [1.0], [1.0] + [0.0] * times]))


def test_logits_of_a_high_degree_are_refused_before_they_are_computed() -> None:
    model = as_read(squared_again_and_again(40))
    with pytest.raises(Refused, match="too high to list"):
        degree_of(model)
    assert exact_logits(as_read(squared_again_and_again(5)), [fmpq(3)])[0] == fmpq(3) ** 32
    for point in (fmpq(3), fmpq(3, 2)):
        with pytest.raises(Refused, match="more memory than this checker allows"):
            exact_logits(model, [point])


def test_the_sizes_of_integers_are_looked_at_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sum, every product and every activation asks, with what it is about to make."""
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(exact, "_afford", lambda bits, count: asked.append((bits, count)))
    network = as_read(mixed("powers", (0.0, 0.0, 0.0, 1.0)))
    logits = exact_logits(network, [fmpq(1 << 100), fmpq(1, 1 << 50)])
    longest = max(int(value.p).bit_length() for value in logits)
    assert max(bits for bits, _ in asked) >= longest


def test_every_step_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums, products and activations of the exact logits."""
    asked: list[tuple[int, int, str]] = []
    monkeypatch.setattr(exact, "spend", lambda *words: asked.append(words))
    network = as_read(mixed("powers", (0.0, 0.0, 0.0, 1.0)))
    exact_logits(network, rationals([1.0, 2.0]))
    forms = [form for stage in network.stages for form in stage.forms]
    weights = sum(64 * len(block.weights) for form in forms for _, block in form.blocks)
    assert sum(count for count, *_ in asked) >= weights + 2 + 3 * 2 + 1 + 64 * 7
    assert {step for *_, step in asked} == {"the exact logits"}
