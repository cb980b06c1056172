"""One owner of class names: what a model calls its classes is what every result, table, file and page says."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import polymargin as pm
from polymargin.class_names import AboutClasses, class_numbers, named, names_of
from polymargin.cli.app import app
from polymargin.networks.attention import LightningAttention
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.readers import npz
from polymargin.networks.stages import Product
from polymargin_checker.stages import read_network

NAMES = ("setosa", "versicolor", "virginica")
# Three classes on a line of two inputs: ties at x = -1 and x = 1.
RIDGES = pm.PolynomialNetwork(
    [([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[0.0, 0.0], [1.0, 0.1], [2.0, -0.3]], [1.0, 0.0, -2.0])], degree=2
)
U = np.array([[0.25, 0.1], [1.2, 0.2], [2.5, 0.3]])


def ridges(names: Any = NAMES) -> pm.Network:
    network = pm.PolynomialNetwork(
        [(layer.weights, layer.bias) for layer in RIDGES.chain.layers], activations=RIDGES.chain.activations
    )
    network.class_names = names
    return network


def test_every_kind_of_result_takes_the_names_over() -> None:
    network = ridges()
    found = [
        pm.margin(network, U[0], proof=False),
        pm.margin(network, U, proof=False)[1],
        pm.verify(network, U[0], 0.1),
        pm.verify(network, U, 5.0)[0],
        pm.margin(network, U[0]),
        pm.margin(network, U)[2],
        pm.attack(network, U[0]),
        pm.attack(network, U)[1],
    ]
    for result in found:
        assert result.class_names == NAMES
        assert result.label_name == NAMES[result.label]
        assert result.rival_name == ("–" if result.rival is None else NAMES[result.rival])
    plain = pm.margin(RIDGES, U[0], proof=False)
    assert (plain.class_names, plain.label_name, plain.rival_name) == (None, "0", "1")
    assert "class_names" not in plain.to_dict()
    assert "label_name" not in plain.to_row()


def test_what_is_printed_calls_classes_by_name() -> None:
    network = ridges()
    assert "class setosa loses to versicolor" in repr(pm.attack(network, U[0]))
    assert pm.Boundary.from_network(network, 0, 2).name == "class setosa against class virginica"
    lost = pm.verify(network, U[0], 5.0)
    assert lost.reason.startswith("class versicolor ties or wins at distance ")
    tie = pm.margin(network, [1.0, 0.0], proof=False)  # 1 = x²
    assert tie.notes == ("classes setosa and versicolor tie exactly at the point",)
    with pytest.raises(pm.InputError, match="classes setosa and versicolor tie exactly at the point"):
        pm.attack(network, [1.0, 0.0])


def test_tables_files_and_plain_data_have_them_beside_the_numbers(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    network = ridges()
    for rows in (pm.margin(network, U, proof=False), pm.verify(network, U, 0.1), pm.margin(network, U)):
        frame = rows.to_frame()
        assert frame["label"].tolist() == [0, 1, 2]
        assert frame["label_name"].tolist() == list(NAMES)
        read = pandas.read_csv(rows.to_csv(tmp_path / "rows.csv"))
        assert read["label_name"].tolist() == list(NAMES)
        assert '<td style="">virginica</td>' in rows._repr_html_()
        again = [type(row).from_dict(json.loads(json.dumps(row.to_dict()))) for row in rows]
        assert [row.label_name for row in again] == list(NAMES)
        assert [row.to_dict() for row in again] == [row.to_dict() for row in rows]
    bad = pm.margin(network, [[0.25, 0.1], [np.nan, 0.0]], proof=False)
    assert list(bad[0].to_row()) == list(bad[1].to_row())
    assert [row.to_row()["rival_name"] for row in bad] == ["versicolor", None]


def test_rows_that_are_told_early_or_come_from_a_checkpoint_have_them(tmp_path: Path) -> None:
    network, told = ridges(), {}
    options: dict[str, Any] = {"checkpoint": tmp_path / "rows.jsonl"}
    for _ in range(2):
        told.clear()
        pm.margin(
            network, U, proof=False, progress=lambda row, found: told.__setitem__(row, found.label_name), **options
        )
        assert told == dict(enumerate(NAMES))
    # The names are no part of what was computed: another model with the same weights has its own.
    assert [m.label_name for m in pm.margin(ridges(("a", "b", "c")), U, proof=False, **options)] == ["a", "b", "c"]
    options["checkpoint"] = tmp_path / "verdicts.jsonl"
    for names in (NAMES, ("a", "b", "c")):
        verdicts = pm.verify(
            ridges(names), U, 5.0, progress=lambda row, v: told.__setitem__(row, v.label_name), **options
        )
        assert told == dict(enumerate(names))
        assert verdicts[0].reason.startswith(f"class {names[1]} ties")


def test_names_that_are_numbers_are_put_in_once() -> None:
    """Class 1 is called 2 and class 2 is called 0: a sentence that is translated twice would speak of another class."""
    network = ridges(("1", "2", "0"))
    lost = pm.verify(network, U[0], 5.0)
    assert lost.rival == 1
    assert lost.reason.startswith("class 2 ties or wins")
    assert named(lost, network) is lost
    with pytest.raises(pm.InputError, match="classes 1 and 2 tie"):
        pm.attack(network, [1.0, 0.0])
    assert pm.margin(network, [[1.0, 0.0]])[0].notes[0].startswith("classes 1 and 2 tie")


@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", "b"), "abc"])
def test_names_that_do_not_fit_are_refused(names: Any) -> None:
    with pytest.raises(pm.InputError, match=r"class_names .*: expected 3 different names, one for each class"):
        pm.margin(ridges(names), U[0], proof=False)


def test_results_that_know_no_classes_are_left_alone() -> None:
    model = SimpleNamespace(class_names=["x", "y"], class_count=2)
    assert names_of(model) == ("x", "y")
    assert names_of(object()) is None
    assert named(None, model) is None
    assert not isinstance(3, AboutClasses)


@pytest.mark.parametrize(
    ("labels", "names", "numbers"),
    [
        (["versicolor", "setosa"], NAMES, [1, 0]),
        ([1, 0], NAMES, [1, 0]),
        ([[2], [1]], ("1", "2"), [1, 0]),  # all of them are names
        ([0, 1], ("1", "2"), [0, 1]),  # one of them is not: numbers
        ([2.0, 1.0], ("1", "2"), [1, 0]),
        ([True, False], ("False", "True"), [1, 0]),
        ([4, 5], None, [4, 5]),
    ],
)
def test_right_classes_are_taken_as_names_or_numbers(labels: Any, names: Any, numbers: list[int]) -> None:
    assert class_numbers(labels, 2, names).tolist() == numbers


@pytest.mark.parametrize(
    ("labels", "names", "message"),
    [
        (["rose", "setosa"], NAMES, "row 0 is 'rose'; expected one of the classes setosa, versicolor, virginica"),
        ([0, 3], NAMES, "row 1 is 3; expected the number of a class, 0, 1, 2, …, or one of setosa"),
        ([0, 1, 2], NAMES, r"shape \(3,\) for 2 points"),
        (["a", "b"], None, "row 0 is 'a', but the model only counts its classes; expected their numbers 0, 1"),
        ([1 + 2j, 0], None, "labels: not an array of real numbers"),
        ([[0], [1, 2]], None, "labels: rows of different lengths"),
        ([0.5, 1], None, "row 0 is 0.5"),
    ],
)
def test_other_labels_get_one_sentence(labels: Any, names: Any, message: str) -> None:
    with pytest.raises(pm.InputError, match=message):
        class_numbers(labels, 2, names)


def test_estimators_report_in_their_own_words(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    from sklearn.datasets import load_iris
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    data = load_iris()
    words = data.target_names[data.target]
    points, right = data.data[::15], words[::15]
    model = QuadraticDiscriminantAnalysis().fit(data.data, words)
    made = pm.report(model, points, right)
    assert made.accuracy.clean == float((model.predict(points) == right).mean())
    assert [row["label_name"] for row in made.table] == model.predict(points).tolist()
    page = made.save(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<th>virginica</th>" in page
    assert '"names":["setosa","versicolor","virginica"]' in page
    assert "class versicolor ties with virginica" in page
    digits = QuadraticDiscriminantAnalysis().fit(data.data, np.array([7, 1, 0])[data.target])
    numbered = np.array([7, 1, 0])[data.target[::15]]
    assert pm.report(digits, points, numbered).accuracy.clean == made.accuracy.clean


def test_the_command_line_says_them(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    joblib = pytest.importorskip("joblib")
    from sklearn.datasets import load_iris
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    data = load_iris()
    model = QuadraticDiscriminantAnalysis().fit(data.data, data.target_names[data.target])
    file, points, labels = tmp_path / "iris.joblib", tmp_path / "points.npy", tmp_path / "labels.csv"
    joblib.dump(model, file)
    np.save(points, data.data[[0, 70, 120]])
    labels.write_text("setosa\nversicolor\nvirginica\n")
    run = CliRunner()
    for command in (["margin"], ["verify", "--radius", "9"]):
        table = run.invoke(app, [command[0], str(file), str(points), *command[1:], "--trust"]).output
        assert {"setosa", "versicolor"} <= set(table.split()), table
        said = run.invoke(app, [command[0], str(file), str(points), *command[1:], "--trust", "--json"]).output
        rows = next(value for key, value in json.loads(said).items() if key in ("margins", "verdicts"))
        assert rows[0]["label"] == 0
        assert rows[0]["label_name"] == "setosa"
    page = tmp_path / "page.html"
    made = run.invoke(app, ["report", str(file), str(points), "--labels", str(labels), "-o", str(page), "--trust"])
    assert "clean accuracy 66.7%" in made.output, (  # row 70 is a virginica to the model
        made.output
    )


def attention(names: Any = None) -> Network:
    network = LightningAttention([[1.0]], [[1.0]], [[2.0]], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    network.class_names = names
    return network


def products(names: Any = None) -> Network:
    both = Forms.of([[1.0, 1.0], [1.0, -1.0]]), Forms.of([[0.0, 1.0], [2.0, 0.0]], [1.0, 0.0])
    readout = Forms.of([[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]])
    network = Network([Product(*both)], readout)
    network.class_names = names
    return network


KINDS = [ridges, attention, products]


@pytest.mark.parametrize("make", KINDS)
def test_files_keep_them_and_the_checker_reads_such_files(make: Any, tmp_path: Path) -> None:
    for names in (NAMES, None, ("a\x1b[31m", "", "\ud800")):
        make(names).save(tmp_path / "model.npz")
        again = pm.load(tmp_path / "model.npz")
        assert again.class_names == names
        assert again.fingerprint == read_network(tmp_path / "model.npz").fingerprint == make().fingerprint


def test_proofs_of_a_named_model_are_checked_beside_it(tmp_path: Path) -> None:
    ridges().save(tmp_path / "model.npz")
    np.save(tmp_path / "points.npy", U[:1])
    run, folder = CliRunner(), tmp_path / "proofs"
    run.invoke(
        app, ["margin", str(tmp_path / "model.npz"), str(tmp_path / "points.npy"), "--certificates", str(folder)]
    )
    assert pm.load(folder / "model.npz").class_names == NAMES
    checked = run.invoke(app, ["check", str(folder / "model.npz"), str(folder / "point-0.json")])
    assert checked.output.startswith("PROVED"), checked.output


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (NAMES[:2], "2 classes in the header; expected 3"),
        (["a", "b", "a"], "expected 3 different names, one for each class"),
        ([1.0, 2.0, 3.0], "expected a list of texts"),
        ("abc", "expected a list of texts"),
    ],
)
def test_names_in_a_file_fit_the_classes(classes: Any, message: str, tmp_path: Path) -> None:
    arrays = ridges().to_arrays()
    header = json.loads(arrays["header"].tobytes()) | {"classes": classes}
    np.savez(tmp_path / "other.npz", **arrays | {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)})
    with pytest.raises(pm.InputError, match=message):
        pm.load(tmp_path / "other.npz")


def test_long_texts_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ridges(("a" * 4000, "b", "c")).save(tmp_path / "model.npz")
    monkeypatch.setattr(npz, "LARGEST_WEIGHTS", 1000)
    with pytest.raises(pm.InputError, match="more than 1000 numbers"):
        pm.load(tmp_path / "model.npz")


def test_reports_of_a_saved_model_take_names_as_labels(tmp_path: Path) -> None:
    np.save(tmp_path / "points.npy", U)
    (tmp_path / "labels.csv").write_text("\n".join(NAMES[number] for number in RIDGES.predict(U)))
    words = ["report", "model.npz", "points.npy", "--labels", "labels.csv", "-o", "page.html"]
    words = [str(tmp_path / word) if "." in word else word for word in words]
    for names, said in ((NAMES, "clean accuracy 100.0%"), (None, "but the model only counts its classes")):
        ridges(names).save(tmp_path / "model.npz")
        result = CliRunner().invoke(app, words)
        assert said in result.output + str(result.exception), result.output
