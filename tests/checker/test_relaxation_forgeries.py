"""Relaxation proofs that say more than is proved: every way to cheat is refused, and says why."""

from __future__ import annotations

import base64
import copy
import json
import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import RELU, Piecewise, Polynomial
from polymargin_checker import check
from tests.checker import relaxation_prover as prover
from tests.checker.stage_files import model_file
from tests.checker.test_relaxation_soundness import all_parabolas, sampled_minimum

RADIUS = 0.4
NAMES = ["definition", "range", "argument", "ball", "box", "pieces", "minorant", "cauchy_schwarz"]


def network() -> Network:
    """Squares, ReLUs and a read-out of both and of the inputs; three classes."""
    rng = np.random.default_rng(5)
    first = Polynomial(Forms((2,), ((0, rng.normal(size=(3, 2))),), rng.normal(size=3)), (0.0, 0.5, 1.0))
    second = Piecewise(
        Forms((2, 3), ((0, rng.normal(size=(2, 2))), (1, rng.normal(size=(2, 3)))), rng.normal(size=2)), *RELU
    )
    blocks = tuple((source, rng.normal(size=(3, width))) for source, width in enumerate((2, 3, 2)))
    return Network([first, second], Forms((2, 3, 2), blocks, np.array([4.0, 0.0, -1.0])))


POINT = np.array([0.25, -0.5])


def lemma(given: Any) -> dict[str, Any]:
    """w ≥ bound of both forms of the second stage, by the ellipsoid alone: eigenvalues of the brackets."""
    scene = given.prepared(prover.shared(RADIUS, prover.undecided(network()), ellipsoid={"norm": "0x1p0", "box": None}))
    group, first = scene.groups[1], scene.groups[0].slopes.middle
    weights = group.products[1].middle
    least = np.array([np.linalg.eigvalsh(RADIUS**2 * first.T @ (row[:, None] * first))[0] for row in weights])
    multipliers = np.maximum(-least, 0.0) + 1e-6
    bounds = -multipliers * (1 + 1e-6)
    return {
        "group": 1, "of": "w", "side": "low", "forms": [0, 1], "bounds": prover.packed(bounds), "judge": "definite",
        "ellipsoid": prover.packed(multipliers),
    }  # fmt: skip


@cache
def honest_text() -> str:
    """A robust claim against two rivals: shared lemmas, one tree with splits."""
    net = network()
    label = int(np.argmax(net(POINT)))
    given = prover.relaxations(net, POINT, label=label)
    entry = prover.shared(
        RADIUS, prover.undecided(net), ellipsoid={"norm": "0x1p0", "box": None}, lemmas=[lemma(given)]
    )
    scene = given.prepared(entry)
    proofs = {}
    for rival in {0, 1, 2} - {label}:
        assert sampled_minimum_of(net, label, rival) > 0
        low, high = (float(end[0]) for end in scene.enclosures.variables)
        parts = ("variable", 0, (low + high) / 2), ("input", 1, 0.0625)
        tree = prover.split_leaf(given, entry, rival, NAMES, parts[0], all_parabolas)
        if rival == max({0, 1, 2} - {label}):
            tree = prover.split_leaf(given, entry, rival, NAMES, parts[1], all_parabolas)
        proofs[rival] = {"kind": "relaxation", **entry, "lemmas": "shared", "tree": tree}
    return json.dumps(prover.certificate(net, POINT, label, RADIUS, proofs, ranges=entry))


def sampled_minimum_of(net: Network, label: int, rival: int) -> float:
    chosen = Forms(
        net.readout.widths,
        tuple((s, b[[label, rival]]) for s, b in net.readout.blocks),
        net.readout.bias[[label, rival]],
    )
    return sampled_minimum(Network(net.stages, chosen), POINT, 0, RADIUS, "l2")


def honest() -> dict[str, Any]:
    return dict(json.loads(honest_text()))


@cache
def model() -> bytes:
    return model_file(network())


def verdict(document: Any, exact: bool = False) -> Any:
    return check(model(), json.dumps(document).encode(), exact)


def proof(document: dict[str, Any], number: int = 0) -> dict[str, Any]:
    return document["rivals"][number]["proof"]  # type: ignore[no-any-return]


def leaf(document: dict[str, Any]) -> dict[str, Any]:
    return proof(document)["tree"]["high"]  # type: ignore[no-any-return]


def own_lemmas(document: dict[str, Any]) -> dict[str, Any]:
    """The first lemma, with the shared part as the first rival's own."""
    document["ranges"]["lemmas"] = copy.deepcopy(document["ranges"]["lemmas"])
    return document["ranges"]["lemmas"][0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("exact", [False, True])
def test_the_honest_certificate_is_accepted(exact: bool) -> None:
    found = verdict(honest(), exact)
    assert found.accepted, found.reason


def test_ranges_of_its_own_do_as_well() -> None:
    document = honest()
    shared = document.pop("ranges")
    for entry in document["rivals"]:
        entry["proof"]["lemmas"] = shared["lemmas"]
    assert verdict(document).accepted


def changed_array(key: str, change: Any) -> Any:
    def apply(document: dict[str, Any]) -> None:
        values = np.frombuffer(base64.b64decode(leaf(document)[key]), dtype="<f8").copy()
        leaf(document)[key] = prover.packed(change(values))

    return apply


def negative(values: np.ndarray) -> np.ndarray:
    values[int(np.argmax(values))] *= -1e-30
    return values


def put(*path: Any) -> Any:
    *keys, value = path

    def apply(document: dict[str, Any]) -> None:
        target: Any = document
        for key in keys[:-1]:
            target = target[key]
        target[keys[-1]] = value

    return apply


def in_leaf(key: str, value: Any) -> Any:
    return lambda document: leaf(document).__setitem__(key, value)


def in_lemma(key: str, value: Any) -> Any:
    return lambda document: own_lemmas(document).__setitem__(key, value)


def in_minorant(key: str, change: Any) -> Any:
    def apply(document: dict[str, Any]) -> None:
        entry = leaf(document)["minorant"]
        if key in ("neuron", "sign"):
            entry[key] = change(entry[key])
        else:
            values = np.frombuffer(base64.b64decode(entry[key]), dtype="<f8").copy()
            entry[key] = prover.packed(change(values))

    return apply


def first_replaced(value: float) -> Any:
    return lambda values: [value, *list(values)[1:]]


SPLIT = ("rivals", 0, "proof", "tree", "split")
FORGERIES = [
    # multipliers of the wrong sign, or no numbers
    *[(changed_array(key, negative), "multiplier is negative") for key in ("range", "argument", "box", "cauchy_schwarz")],
    (in_leaf("ball", "-0x1p-1000"), "multiplier is negative"),
    (in_leaf("ellipsoid", "-0x1p0"), "multiplier is negative"),
    (in_minorant("weight", lambda values: [-1e-30, *values[1:]]), "a weight is negative"),
    *[
        (changed_array(key, lambda values, bad=bad: [bad, *values[1:]]), "not finite")
        for key in ("range", "definition", "pieces")
        for bad in (np.nan, np.inf, -np.inf)
    ],
    (in_leaf("ball", "nan"), "not a hexadecimal float"),
    (in_leaf("ball", "inf"), "not a hexadecimal float"),
    (in_leaf("ball", 1.0), "expected a hexadecimal float"),
    (in_leaf("ball", True), "expected a hexadecimal float"),
    (in_leaf("ball", ["0x1p0", "0x1p-80"]), "is not a double"),
    (in_leaf("range", [0.0] * 4), "bytes in base64"),
    (in_leaf("range", None), "bytes in base64"),
    (in_leaf("range", "AAAA"), "bytes in base64"),
    (changed_array("range", lambda values: values[1:]), "bytes in base64"),
    (changed_array("definition", lambda values: [*values, 0.0]), "bytes in base64"),
    (lambda document: leaf(document).__setitem__("range", leaf(document)["range"][:-4] + "A?=="), "not base64|expected"),
    (lambda document: leaf(document).__setitem__("range", " " + leaf(document)["range"][1:]), "not base64|expected"),
    # parabolas
    (in_minorant("c", lambda values: values + 0.25), "on its side"),
    (in_minorant("neuron", first_replaced(2)), "numbers of neurons from 0 to 1"),
    (in_minorant("neuron", first_replaced(-1)), "numbers of neurons"),
    (in_minorant("neuron", first_replaced(True)), "numbers of neurons"),
    (in_minorant("sign", first_replaced(0)), "signs 1 and -1"),
    (in_minorant("sign", first_replaced(1.0)), "signs 1 and -1"),
    (in_minorant("sign", lambda signs: [-sign for sign in signs]), "on its side"),
    (in_minorant("a", lambda values: values[1:]), "bytes in base64"),
    (in_leaf("minorant", []), "expected an object"),
    # judges
    (in_leaf("judge", "certain"), "unknown judge"),
    (in_leaf("judge", None), "unknown judge"),
    (in_leaf("judge", "linear"), "of something quadratic"),
    (in_leaf("trust", "me"), "unknown key 'trust'"),
    (lambda document: leaf(document).pop("judge"), "'judge' is missing"),
    (lambda document: proof(document)["tree"].__setitem__("high", {"empty": True}), "not shown to be empty"),
    (lambda document: proof(document)["tree"].__setitem__("high", {"judge": "definite"}), "not shown to be positive definite"),
    # splits
    (put(*SPLIT, ["variable", 0, "0x1p9"]), "outside the range"),
    (put(*SPLIT, ["variable", 99, "0x0p0"]), "split, index"),
    (put(*SPLIT, ["variable", -1, "0x0p0"]), "split, index"),
    (put(*SPLIT, ["variable", True, "0x0p0"]), "split, index"),
    (put(*SPLIT, ["variable", 0, ["0x1p-3", "0x1p-90"]]), "is not a double"),
    (put(*SPLIT, ["logit", 0, "0x0p0"]), "expected input, variable or argument"),
    (put(*SPLIT, [["variable"], 0, "0x0p0"]), "expected input, variable or argument"),
    (put(*SPLIT, ["variable", 2]), "expected 3 entries"),
    (lambda document: proof(document)["tree"].pop("low"), "'low' is missing"),
    # lemmas: bounds, places, order
    (in_lemma("bounds", prover.packed([0.0, 0.0])), "lemma 0: the form is not shown"),
    (in_lemma("bounds", prover.packed([np.nan, 0.0])), "not finite"),
    (in_lemma("bounds", prover.packed([-9.0])), "bytes in base64"),
    (in_lemma("side", "high"), "lemma 0: the form is not shown"),
    (in_lemma("side", "both"), "one side"),
    (in_lemma("of", "y"), "one side"),
    (in_lemma("of", "t"), "lemma 0: the form is not shown"),
    (in_lemma("group", 0), "no w"),
    (in_lemma("group", 2), "lemma 0, group"),
    (in_lemma("forms", [1, 0]), "rising order"),
    (in_lemma("forms", [0, 0]), "rising order"),
    (in_lemma("forms", [0, 2]), "lemma 0, forms"),
    (in_lemma("forms", []), "rising order"),
    (in_lemma("ellipsoid", prover.packed([-1.0, 1.0])), "multiplier is negative"),
    (in_lemma("judge", "linear"), "of something quadratic"),
    (in_lemma("extra", 1), "unknown key"),
    (lambda document: own_lemmas(document).pop("judge"), "'judge' is missing"),
    (put("ranges", "lemmas", {}), "expected a list"),
    # shared ranges of something else
    (put("rivals", 0, "proof", "radius", (2 * RADIUS).hex()), "another radius"),
    (put("rivals", 0, "proof", "coordinates", "forms"), "another radius"),
    (put("rivals", 0, "proof", "ellipsoid", None), "another radius"),
    (put("rivals", 0, "proof", "decided", []), "another radius"),
    (lambda document: document.pop("ranges"), "the certificate has no ranges"),
    (put("ranges", None), "ranges: expected an object"),
    (put("ranges", "coordinates", "outputs"), "another radius|coordinates"),
    (put("rivals", 0, "proof", "lemmas", "hidden"), "lemmas: expected a list"),
    (put("rivals", 0, "lower", (2 * RADIUS).hex()), "above the radius"),
    (put("rivals", 0, "proof", "tree", None), "expected an object"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(FORGERIES)))
def test_forgeries_are_refused(number: int) -> None:
    change, reason = FORGERIES[number]
    document = honest()
    change(document)
    found = verdict(document)
    assert not found.accepted
    assert re.search(reason, found.reason), found.reason


def everywhere(document: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """The same change in the shared part and in all proofs."""
    for entry in (document["ranges"], *(rival["proof"] for rival in document["rivals"])):
        entry[key] = value
    return document


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("radius", "0x0p0", "not positive"),
        ("radius", "-0x1p0", "not positive"),
        ("radius", "0x1.9999999999999p-2", "not shown|below|above"),
        ("radius", "0x1p0", "not shown|above"),
        ("radius", "0x1p1000", "not shown|outside|leaves"),
        ("coordinates", "forms", "only the first stage sees the inputs"),
        ("coordinates", 3, "expected 'inputs' or 'forms'"),
        ("ellipsoid", {"norm": "0x1.0000000000001p0", "box": None}, "contain the region"),
        ("ellipsoid", {"norm": "0x1p0", "box": prover.packed([1e-9, 0.0])}, "contain the region"),
        ("ellipsoid", {"norm": "-0x1p0", "box": None}, "negative number"),
        ("ellipsoid", {"norm": "0x1p0", "box": prover.packed([-1.0, 0.0])}, "negative number"),
        ("ellipsoid", {"norm": "0x0p0", "box": None}, "not shown"),
        ("ellipsoid", {"norm": "0x1p0"}, "'box' is missing"),
        ("ellipsoid", None, "no ellipsoid"),
        ("decided", [], "expected 1 entries"),
        ("decided", [prover.pieces_entry(1, [-1, -1])], "decided, stage"),
        ("decided", [prover.pieces_entry(2, [0, -1])], "shown to be on its piece|bytes in base64|not shown"),
        ("decided", [prover.pieces_entry(2, [1, -1])], "shown to be on its piece|bytes in base64|not shown"),
        ("decided", [prover.pieces_entry(2, [2, -1])], "no such piece"),
        ("decided", [prover.pieces_entry(2, [-2, -1])], "no such piece"),
        ("decided", [prover.pieces_entry(2, [-1])], "bytes in base64"),
        ("decided", [[2, [-1, -1]]], "bytes in base64"),
    ],
)
def test_forgeries_of_what_is_shared_are_refused(key: str, value: Any, reason: str) -> None:
    found = verdict(everywhere(honest(), key, value))
    assert not found.accepted
    assert re.search(reason, found.reason), found.reason


def test_proofs_of_another_rival_point_or_class_are_refused() -> None:
    document = honest()
    first, second = (entry["proof"] for entry in document["rivals"])
    document["rivals"][0]["proof"], document["rivals"][1]["proof"] = second, first
    assert not verdict(document).accepted
    document = honest()
    net, label = network(), document["label"]
    steps = np.random.default_rng(0).normal(size=(1000, 2))
    within = 0.9 * RADIUS * steps / np.linalg.norm(steps, axis=1, keepdims=True)
    won = (x for x in POINT + steps if net(x).argmax() == label)
    near = next(
        x for x in won if (net(x + within).argmax(axis=1) != label).any()
    )  # another class wins nearer than claimed
    document["point"] = [float(x).hex() for x in near]
    assert not verdict(document).accepted
    document = honest()
    del document["rivals"][1]
    assert "is missing" in verdict(document).reason


def test_keys_given_twice_are_refused() -> None:
    text = honest_text().replace('"coordinates": "inputs"', '"coordinates": "inputs", "coordinates": "inputs"', 1)
    found = check(model(), text.encode())
    assert not found.accepted
    assert "twice" in found.reason


def test_random_changes_of_numbers_never_prove_too_much() -> None:
    """A claim beyond a point where another class wins: whatever the multipliers are, it is refused."""
    net, rng = network(), np.random.default_rng(0)
    label = int(np.argmax(net(POINT)))
    radius = 1.0
    steps = rng.normal(size=(20_000, 2))
    steps *= radius * rng.random(size=(20_000, 1)) / np.linalg.norm(steps, axis=1, keepdims=True)
    assert (net(POINT + steps).argmax(axis=1) != label).any()
    given = prover.relaxations(net, POINT, label=label)
    entry = prover.shared(radius, prover.undecided(net), ellipsoid={"norm": "0x1p0", "box": None})
    scene = given.prepared(entry)
    sizes = prover.lengths(scene)
    rivals = sorted({0, 1, 2} - {label})
    for _ in range(150):
        proofs = {}
        for rival in rivals:
            values: dict[str, Any] = {"ball": float(10 ** rng.uniform(-2, 3))}
            for name in rng.choice(sorted(sizes), size=3, replace=False):
                size = 10 ** rng.uniform(-2, 2)
                drawn = rng.normal(size=sizes[name]) if name in prover.FREE else rng.random(size=sizes[name])
                values[name] = size * drawn
            values["minorant"] = [(*p, float(10 ** rng.uniform(-2, 2))) for p in all_parabolas(scene)]
            proofs[rival] = {"kind": "relaxation", **entry, "tree": prover.leaf_of(values)}
        document = prover.certificate(net, POINT, label, radius, proofs)
        found = check(model(), json.dumps(document).encode())
        assert found.usable
        assert not found.accepted


# -- what the Cauchy-Schwarz inequality is about ---------------------------------------------------

SQUARE, CUBE = (0.0, 0.0, 1.0), (0.0, 0.0, 0.0, 1.0)


def chain(*activations: tuple[float, ...], bias: float = 0.0, skip: bool = False) -> Network:
    """Stages of two neurons, each of the one before; with `skip` the last one sees the first one too."""
    rng, widths, stages = np.random.default_rng(0), (2,), []
    for number, coefficients in enumerate(activations):
        sources = [1, number] if skip and number == len(activations) - 1 else [number]
        blocks = tuple((source, rng.normal(size=(2, 2))) for source in sources)
        stages.append(Polynomial(Forms(widths, blocks, np.full(2, bias)), coefficients))
        widths = (*widths, 2)
    last = ((len(activations), np.array([[1.0, 1.0], [0.0, 0.0]])),)
    return Network(stages, Forms(widths, last, np.array([3.0, 0.0])))


def with_curvatures(net: Network) -> tuple[bytes, bytes]:
    """A leaf with a multiplier for the last w."""
    point = np.zeros(2)
    given = prover.relaxations(net, point)
    entry = prover.shared(2.0**-20, ellipsoid={"norm": "0x1p0", "box": None})
    multipliers = np.zeros(given.prepared(entry).remainders)
    multipliers[-1] = 1.0
    leaf = {"judge": "definite", "cauchy_schwarz": prover.packed(multipliers), "ball": "0x1p30"}
    document = prover.certificate(net, point, 0, 2.0**-20, {1: {"kind": "relaxation", **entry, "tree": leaf}})
    return model_file(net), json.dumps(document).encode()


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("net", "quadratic"),
    [
        (chain(SQUARE, SQUARE, bias=0.5), True),
        (chain(SQUARE, SQUARE, SQUARE, bias=0.5), False),  # w and squares of t that depend on w
        (chain(SQUARE, SQUARE, SQUARE), False),  # squares of t that depend on w, but no w: σ'(0) = 0
        (chain(SQUARE, (0.0, 1.0), SQUARE, skip=True), False),  # squares of t without w, and w
    ],
)
def test_only_quadratic_forms_of_the_inputs_are_bounded_by_curvatures(
    net: Network, quadratic: bool, exact: bool
) -> None:
    found = check(*with_curvatures(net), exact)
    assert ("is no quadratic form of the inputs" not in found.reason) is quadratic


def test_a_lemma_of_several_forms_has_no_curvatures() -> None:
    """Multipliers of several claims would be added up."""
    document = honest()
    own_lemmas(document)["cauchy_schwarz"] = prover.packed(np.ones(4))
    assert "cauchy_schwarz in a lemma of several forms" in verdict(document).reason
    own_lemmas(document)["cauchy_schwarz"] = prover.packed(np.zeros(4))
    assert verdict(document).accepted


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("stage", [1, 2])
@pytest.mark.parametrize("sign", [1, -1])
def test_each_parabola_is_judged_on_its_own(stage: int, sign: int, exact: bool) -> None:
    """Alone in a leaf, of the first ReLUs and of those after them: right, and too high or too low by a millionth."""
    rng, sizes = np.random.default_rng(3), (2, 3, 2)
    layers = [Forms((2,), ((0, rng.normal(size=(3, 2))),), np.zeros(3))]
    layers += [Forms((2, 3), ((1, rng.normal(size=(2, 3))),), np.zeros(2))]
    readout = Forms(sizes, ((2, np.array([[1.0, 1.0], [0.0, 0.0]])),), np.array([9.0, 0.0]))
    net = Network([Piecewise(form, *RELU) for form in layers], readout)
    given = prover.relaxations(net, np.zeros(2))
    entry = prover.shared(0.5, prover.undecided(net))
    found = [p for p in all_parabolas(given.prepared(entry)) if p[1] == sign and (p[0] >= 3) == (stage == 2)]
    assert len(found) >= 2
    for parabola in found:
        for wrong in (0.0, 1e-6, -1e-6):
            moved = (*parabola[:4], parabola[4] + sign * wrong)
            leaf = prover.leaf_of({"minorant": [(*moved, 2.0**-20)], "ball": 1.0})
            document = prover.certificate(net, [0.0, 0.0], 0, 0.5, {1: {"kind": "relaxation", **entry, "tree": leaf}})
            reason = check(model_file(net), json.dumps(document).encode(), exact).reason
            assert ("on its side" in reason) is (wrong > 0), (parabola, wrong, reason)


def test_curvatures_need_an_ellipsoid() -> None:
    net = chain(SQUARE, SQUARE, bias=0.5)
    model_, text = with_curvatures(net)
    document = json.loads(text)
    document["rivals"][0]["proof"]["ellipsoid"] = None
    assert "cauchy_schwarz without an ellipsoid" in check(model_, json.dumps(document).encode()).reason
