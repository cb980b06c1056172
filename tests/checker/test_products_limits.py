"""Programs of products: work and memory are looked at before they are spent."""

from __future__ import annotations

from pathlib import Path

import pytest
from checker.test_products_details import mixed, model_of, rationals
from checker.views_of_files import as_read, stages_of
from flint import fmpq

from polymargin.bounds.layered.layers import layered
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import Product
from polymargin_checker import exact, squares, work
from polymargin_checker.completeness import degree_of
from polymargin_checker.exact import exact_logits
from polymargin_checker.refusal import Refused
from polymargin_checker.work import limited_work


def squared_again_and_again(times: int) -> Network:
    forms = [Forms.of([[0.0] * k + [1.0]]) for k in range(times)]
    return Network([Product(form, form) for form in forms], Forms.of([[0.0] * times + [1.0], [1.0] + [0.0] * times]))


def test_logits_of_a_high_degree_are_refused_before_they_are_computed(tmp_path: Path) -> None:
    model = model_of(squared_again_and_again(40), tmp_path)
    with pytest.raises(Refused, match="too high to list"):
        degree_of(stages_of(model))
    assert exact_logits(as_read(squared_again_and_again(5)), [fmpq(3)])[0] == fmpq(3) ** 32
    for point in (fmpq(3), fmpq(3, 2)):
        with pytest.raises(Refused, match="more memory than this checker allows"):
            exact_logits(stages_of(model), [point])


def test_the_sizes_of_integers_are_looked_at_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sum, every product and every activation asks, with what it is about to make."""
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(exact, "_afford", lambda bits, count: asked.append((bits, count)))
    network = as_read(mixed("powers", (0.0, 0.0, 0.0, 1.0)))
    logits = exact_logits(network, [fmpq(1 << 100), fmpq(1, 1 << 50)])
    longest = max(int(value.p).bit_length() for value in logits)
    assert max(bits for bits, _ in asked) >= longest


def test_layers_of_squares_have_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = mixed("powers", (0.0, 0.0, 0.75))
    model = model_of(network, tmp_path)
    lowering = {"scales": [float(scale).hex() for scale in layered(network, 0, 1).lowering["scales"]]}
    layers = model.layers(lowering)
    largest = max(matrix.rows * matrix.columns for matrix in layers.weights)
    numbers = [*(w for matrix in layers.weights for w in matrix.values), *(b for bias in layers.biases for b in bias)]
    longest = max(int(w.p).bit_length() + int(w.q).bit_length() for w in numbers)
    for name, least, reason in (("_LARGEST_LAYER", largest, "too large"), ("_LONGEST", longest, "longer numbers")):
        with monkeypatch.context() as patched:
            patched.setattr(squares, name, least)
            assert model.layers(lowering) == layers
            patched.setattr(squares, name, least - 1)
            with pytest.raises(Refused, match=reason):
                model.layers(lowering)


def test_a_deep_program_is_refused_for_its_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its layers has to look through all forms of those above: as many steps as the square of the depth."""
    monkeypatch.setattr(work, "FLAT", 1 << 34)
    monkeypatch.setattr(work, "PER_NUMBER", 0)
    for times, refused in ((4, False), (120, True)):
        network = squared_again_and_again(times)
        model = model_of(network, tmp_path)
        with limited_work():
            scales = {"scales": ["0x1p0"] * (2 * times)}
            if refused:
                with pytest.raises(Refused, match="the layers of squares: more work"):
                    model.layers(scales)
            else:
                assert len(model.layers(scales).weights) == times + 1


def test_every_step_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums, products and activations of the exact logits; rows and sums of the layers of squares."""
    asked: list[tuple[int, int, str]] = []
    for module in (exact, squares):
        monkeypatch.setattr(module, "spend", lambda *words: asked.append(words))
    network = mixed("powers", (0.0, 0.0, 0.0, 1.0))
    model = model_of(network, tmp_path)
    exact_logits(as_read(network), rationals([1.0, 2.0]))
    weights = sum(64 * len(form.weights) for stage in model.stages for form in stage.forms)
    assert sum(count for count, *_ in asked) >= weights + 2 + 3 * 2 + 1 + 64 * 7
    assert {step for *_, step in asked} == {"the exact logits"}
    asked.clear()
    model.layers({"scales": [float(scale).hex() for scale in layered(network, 0, 1).lowering["scales"]]})
    assert {step for *_, step in asked} == {"the layers of squares"}
    # Two kinds of steps: a row that is looked through, at no length, and a sum, at the length of its numbers.
    assert {bits > 0 for _, bits, _ in asked} == {False, True}
