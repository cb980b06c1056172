"""The figures: what they show, checked by other means; that they are drawn; and that their checks can fail."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import polymargin as pm
from polymargin.errors import PolymarginError
from polymargin.plots.sphere import SphereScene, draw_sphere, render, view_rotation
from polymargin.plots.sphere_mesh import Mesh, ball_mesh, level_surface
from polymargin.reproduce import figure_discriminant, figure_sphere, figure_tracking, figure_xor
from polymargin.reproduce.figure_conics import figure_conics
from polymargin.reproduce.figure_kac_rice import figure_kac_rice
from polymargin.reproduce.report_items import Reproduced


def assert_complete(outcome: Reproduced, *kinds: str) -> None:
    """Files of these kinds with something in them, and agreement with the paper wherever it prints a value."""
    assert sorted(file.suffix for file in outcome.files) == sorted(kinds)
    assert all(file.stat().st_size > 100 for file in outcome.files)
    assert [row for row in outcome.rows if row.agrees is False] == []


# -- continuation --------------------------------------------------------------------------------


def test_tracked_paths_are_the_roots_at_every_time(tmp_path: Path) -> None:
    outcome = figure_tracking.figure_tracking(tmp_path, samples=40)
    assert_complete(outcome, ".png", ".svg", ".csv")
    assert len(outcome.rows) == 3
    rows = list(csv.reader((tmp_path / "figure-tracking.csv").read_text().splitlines()))[1:]
    assert len(rows) == 41
    for row in rows:
        t, *numbers = map(float, row)
        points = np.array(numbers[::2]) + 1j * np.array(numbers[1::2])
        start, target = figure_tracking.GAMMA * (1 - t), t
        # By the eigenvalues of the companion matrix.
        roots = np.roots([start + target, -4 * target, 8 * target, -start - 8 * target])
        assert np.abs(points[:, None] - roots).min(axis=1).max() < 1e-9
        assert np.abs(points[:, None] - roots).min(axis=0).max() < 1e-9


def test_the_step_is_tangent_and_ends_on_the_path() -> None:
    program = figure_tracking.cubic_homotopy()
    predicted, corrected = figure_tracking.predict_and_correct(program, 1.0 + 0j, 0.0, 1e-6)
    assert abs(predicted - corrected[-1]) < 1e-10  # of second order in the length of the step
    predicted, corrected = figure_tracking.predict_and_correct(program, 1.0 + 0j, 0.0, 0.1)
    assert 1e-4 < abs(predicted - corrected[-1]) < 0.05
    t = 0.1
    x = corrected[-1]
    assert abs(figure_tracking.GAMMA * (1 - t) * (x**3 - 1) + t * (x**3 - 4 * x**2 + 8 * x - 8)) < 1e-12


# -- discriminant --------------------------------------------------------------------------------


def test_discriminant_is_the_printed_one(tmp_path: Path) -> None:
    outcome = figure_discriminant.figure_discriminant(tmp_path, samples=400, threads=1)
    assert_complete(outcome, ".png", ".svg", ".csv")
    assert len(outcome.rows) == 10


def test_a_wrong_coefficient_is_seen() -> None:
    right = dict(figure_discriminant.PRINTED)
    assert figure_discriminant.polynomial_row(right).agrees
    row = figure_discriminant.polynomial_row({**right, (0, 3): 809, (1, 4): 1})
    assert row.agrees is False
    assert "u₁^0 u₂^3: printed 808, ours 809" in row.ours
    assert "u₁^1 u₂^4: printed 0, ours 1" in row.ours


def test_example_network_has_the_printed_logits() -> None:
    network = figure_discriminant.example_network()
    x, y = 0.5, -1.25
    printed = (
        11 * x**2 + 14 * x * y + 9 * y**2 + 6 * x + 2 * y + 3,
        19 * x**2 + 16 * x * y + 6 * y**2 + 12 * x + 4 * y + 3,
    )
    assert network([x, y]).tolist() == list(printed)


# -- meshes --------------------------------------------------------------------------------------


def euler_number(mesh: Mesh) -> int:
    """V − E + T of a closed mesh; every edge must belong to two triangles."""
    edges = np.sort(np.concatenate([mesh.triangles[:, pair] for pair in ([0, 1], [1, 2], [0, 2])]), axis=1)
    unique, counts = np.unique(edges, axis=0, return_counts=True)
    assert (counts == 2).all()
    return len(mesh.vertices) - len(unique) + len(mesh.triangles)


def torus(points: np.ndarray) -> np.ndarray:
    ring = np.hypot(points[:, 0], points[:, 1]) - 1.0
    return ring**2 + points[:, 2] ** 2 - 0.16


def test_meshes_are_closed_and_of_the_right_kind() -> None:
    ball = ball_mesh(np.array([1.0, 2.0, 3.0]), 0.5, 9)
    assert euler_number(ball) == 2
    assert np.abs(np.linalg.norm(ball.vertices - [1, 2, 3], axis=1) - 0.5).max() < 1e-4
    assert np.abs((ball.vertices - [1, 2, 3]) / 0.5 - ball.normals).max() < 1e-3
    ring = level_surface(torus, -1.7, 1.7, 17)
    assert euler_number(ring) == 0
    corners = ring.vertices[ring.triangles]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum() / 2
    assert area == pytest.approx(4 * np.pi**2 * 0.4, rel=0.05)
    with pytest.raises(pm.InputError, match="at least two"):
        level_surface(torus, -1.0, 1.0, 1)


# -- robustness sphere ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ellipsoid() -> tuple[SphereScene, pm.Boundary]:
    """x² + 4y² + 9z² = 1 from (0, 0, 1): the nearest point is the upper pole."""
    boundary = pm.Boundary.from_expression("x**2 + 4*y**2 + 9*z**2 - 1", "x y z")
    surface = level_surface(lambda points: np.asarray(boundary(points)), -1.3, 1.3, 20)
    return SphereScene(surface, np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 1 / 3]), 2 / 3), boundary


def test_contact_is_checked(ellipsoid: tuple[SphereScene, pm.Boundary]) -> None:
    scene, boundary = ellipsoid
    assert figure_sphere.check_contact(scene, boundary) == pytest.approx(2 / 3, abs=0.01)
    with pytest.raises(PolymarginError, match="does not touch"):
        figure_sphere.check_contact(replace(scene, radius=0.7), boundary)
    slanted = replace(scene, foot=np.array([0.5, 0.0, np.sqrt(0.75) / 3]), radius=0.5)
    with pytest.raises(PolymarginError, match="does not touch"):
        figure_sphere.check_contact(slanted, boundary)


def test_rendering_hides_what_lies_behind(ellipsoid: tuple[SphereScene, pm.Boundary]) -> None:
    scene, _ = ellipsoid
    above = render(scene, (0.01, 0.0, 1.0), np.zeros(3), 1.5, pixels=60)
    below = render(scene, (0.01, 0.0, -1.0), np.zeros(3), 1.5, pixels=60)
    red, _, blue = np.moveaxis(above[28:34, 36:40], -1, 0)
    assert (red > 0.8 * blue).all()  # the surface through the red sphere
    red, _, blue = np.moveaxis(below[26:34, 26:34], -1, 0)
    assert (red < 0.6 * blue).all()  # the surface hides the sphere
    assert (above[0] == 1).all()
    rotation = view_rotation(np.array([1.8, -1.8, 2.2]))
    assert np.allclose(rotation @ rotation.T, np.eye(3))
    assert np.linalg.det(rotation) == pytest.approx(1.0)


def test_sphere_pictures(ellipsoid: tuple[SphereScene, pm.Boundary], tmp_path: Path) -> None:
    scene, _ = ellipsoid
    files = draw_sphere(scene, [tmp_path / "a.png", tmp_path / "a.svg"], eye=(1.8, -1.8, 2.2), title="t", pixels=80)
    assert all(file.stat().st_size > 5_000 for file in files)


def test_steiner_data() -> None:
    points, labels = figure_sphere.steiner_data(500, seed=1)
    assert (np.abs(points) <= 1).all()
    assert ((figure_sphere.steiner_polynomial(points) > 0) == (labels == 1)).all()
    assert 200 < labels.sum() < 300
    # Steiner's parameterisation (yz, zx, xy) of the unit sphere lies on the surface.
    sphere = np.random.default_rng(0).normal(size=(20, 3))
    x, y, z = (sphere / np.linalg.norm(sphere, axis=1, keepdims=True)).T
    assert np.abs(figure_sphere.steiner_polynomial(np.stack([y * z, z * x, x * y], axis=1))).max() < 1e-13


@pytest.mark.slow
def test_sphere_around_a_trained_network(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    outcome = figure_sphere.figure_sphere(tmp_path, steps=2000, cells=30)
    assert_complete(outcome, ".png", ".svg", ".html", ".npz")
    network = pm.load(tmp_path / "figure-sphere.npz")
    radius = float(outcome.rows[0].ours)
    # No sample of the ball has another class; some point a little outside of it has.
    directions = np.random.default_rng(0).normal(size=(20_000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    label = network.predict(np.array([figure_sphere.POINT]))[0]
    assert (network.predict(figure_sphere.POINT + 0.999 * radius * directions) == label).all()
    assert (network.predict(figure_sphere.POINT + 1.05 * radius * directions) != label).any()


# -- the others ----------------------------------------------------------------------------------


def test_xor(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    seen: list[str] = []
    outcome = figure_xor.figure_xor(tmp_path, starts=2, steps=60, progress=seen.append)
    assert seen == ["start 1 of 2", "start 2 of 2"]
    assert sorted(file.suffix for file in outcome.files) == [".csv", ".png", ".svg"]
    assert torch.get_num_threads() == threads
    rows = list(csv.DictReader((tmp_path / "figure-xor.csv").read_text().splitlines()))
    assert [(row["start"], row["strength"]) for row in rows] == [("0", "0.0"), ("0", "0.1"), ("1", "0.0"), ("1", "0.1")]
    # All starts are counted, whatever they ended in.
    assert all(sum(int(part.split(": ")[1]) for part in row.ours.split(", ")) == 2 for row in outcome.rows[2:])


def test_xor_labels_are_the_sign_of_the_product() -> None:
    points, labels = figure_xor.xor_data(400, 0)
    assert np.mean((points.prod(axis=1) < 0) == (labels == 1)) > 0.98


def test_conics(tmp_path: Path) -> None:
    outcome = figure_conics(tmp_path)
    assert_complete(outcome, ".png", ".svg")
    assert {row.printed for row in outcome.rows} == {"4", "3", "2", "≤ 2"}


def test_kac_rice(tmp_path: Path) -> None:
    outcome = figure_kac_rice(tmp_path, samples=150, most=6)
    assert_complete(outcome, ".png", ".svg", ".csv")
    assert [row.printed for row in outcome.rows[:2]] == ["1.0000", "1.1547"]
