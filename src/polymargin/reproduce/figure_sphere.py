"""The first figure: a decision surface in three inputs and the sphere around a point that touches it.

The data are points of the cube [−1, 1]³, labelled by the sign of the polynomial of Steiner's Roman surface,

    x²y² + y²z² + z²x² − xyz,

as many of one class as of the other; the network is 3-20-20-2 with activation x², so its boundary is a quartic with 52 critical
points. The paper says neither; size, data, steps and point follow the code its authors published. Their random numbers are not
ours, so the surface is another one each time, and there is no printed radius to compare with. What can be checked is that the
sphere touches: its radius is the margin, and no point of the surface lies inside.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.errors import PolymarginError
from polymargin.learning import Training, train
from polymargin.learning.extra import torch_package
from polymargin.margins import Margin, margin
from polymargin.networks import Network, PolynomialNetwork
from polymargin.plots.sphere import SphereScene, draw_sphere
from polymargin.plots.sphere_mesh import level_surface
from polymargin.reproduce.figure_training import one_thread
from polymargin.reproduce.report_items import NOT_PRINTED, Comparison, Reproduced

POINT = (0.45, 0.45, 0.45)
DATA, WIDTH, RATE = 1000, 20, 1e-3
EYE = (1.8, -1.8, 2.2)
# Vertices of the mesh are that near to the surface itself.
MESH_TOLERANCE = 1e-4


def figure_sphere(directory: Path, *, steps: int = 10_000, cells: int = 72, seed: int = 0) -> Reproduced:
    """Train, compute the margin at the point, draw the pictures."""
    network, training = steiner_network(steps, seed)
    found = margin(network, np.array(POINT), proof=False, seed=seed)
    rival = 1 - int(network.predict(np.array([POINT]))[0])
    boundary = Boundary.from_network(network, 1 - rival, rival)

    def field(points: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(boundary(points))

    directory.mkdir(parents=True, exist_ok=True)
    if found.point is None:
        raise PolymarginError(f"the network did not learn a boundary in {steps} steps; raise the number of steps")
    scene = SphereScene(level_surface(field, -1.0, 1.0, cells), np.array(POINT), found.point, found.radius)
    title = f"Robustness sphere of radius {found.radius:.4f} around (0.45, 0.45, 0.45)"
    pictures = draw_sphere(
        scene, [directory / f"figure-sphere.{kind}" for kind in ("png", "svg")], eye=EYE, title=title
    )
    network.save(directory / "figure-sphere.npz")
    files = (*pictures, directory / "figure-sphere.npz")
    return Reproduced(files, _rows(found), _notes(training, steps, seed, found, check_contact(scene, boundary)))


def steiner_data(count: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return uniform points of the cube and their side of the Roman surface, in equal numbers."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 2, count)
    points = generator.uniform(-1, 1, (count, 3))
    wrong = np.arange(count)
    while len(wrong):
        points[wrong] = generator.uniform(-1, 1, (len(wrong), 3))
        wrong = wrong[(steiner_polynomial(points[wrong]) > 0) != (labels[wrong] == 1)]
    return points, labels


def steiner_polynomial(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evaluate the polynomial of Steiner's Roman surface at points (m, 3)."""
    x, y, z = points.T
    return np.asarray(x**2 * y**2 + y**2 * z**2 + z**2 * x**2 - x * y * z)


def steiner_network(steps: int, seed: int) -> tuple[Network, Training]:
    """Return the trained network, in double precision."""
    torch = torch_package()
    from polymargin.learning.square import Square

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        linear = [
            torch.nn.Linear(inputs, outputs, dtype=torch.float64)
            for inputs, outputs in ((3, WIDTH), (WIDTH, WIDTH), (WIDTH, 2))
        ]
    module = torch.nn.Sequential(linear[0], Square(), linear[1], Square(), linear[2])
    with one_thread():
        training = train(module, *steiner_data(DATA, seed), steps=steps, rate=RATE)
    layers = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in linear]
    return PolynomialNetwork(layers, degree=2), training


def check_contact(scene: SphereScene, boundary: Boundary) -> float:
    """Return the distance of the nearest vertex; raise an error if the sphere does not touch the surface as a tangent.

    The mesh knows the surface by signs of B alone, the margin by all of its critical points.
    """
    nearest = float(np.linalg.norm(scene.surface.vertices - scene.point, axis=1).min())
    arm, gradient = scene.foot - scene.point, boundary.gradient(scene.foot)
    length = float(np.linalg.norm(arm))
    cosine = abs(float(gradient @ arm)) / (float(np.linalg.norm(gradient)) * length)
    touches = abs(length - scene.radius) <= 1e-9 * scene.radius and cosine >= 1 - 1e-9
    if nearest < scene.radius - MESH_TOLERANCE or not touches:
        raise PolymarginError(
            f"the sphere of radius {scene.radius} does not touch the surface: nearest vertex at {nearest}, point of contact at "
            f"{length}, cosine of radius and normal {cosine}; one of the two computations is wrong"
        )
    return nearest


def _rows(found: Margin) -> tuple[Comparison, ...]:
    return (
        Comparison("robustness radius", NOT_PRINTED, f"{found.radius:.10f}", None),
        Comparison("complex critical points", NOT_PRINTED, str(found.complex_count), None),
        Comparison("real critical points", NOT_PRINTED, str(found.real_count), None),
    )


def _notes(training: Training, steps: int, seed: int, found: Margin, nearest: float) -> tuple[str, ...]:
    return (
        f"Network 3-{WIDTH}-{WIDTH}-2, activation x², {DATA} points, {steps} steps of Adam, seed {seed}: "
        f"accuracy {training.accuracy:.3f} on the training data.",
        f"The radius is {found.standing.name.lower()} by {found.method}. The surface is drawn by marching tetrahedra in "
        f"[−1, 1]³; the nearest of its vertices is {nearest:.6f} away, "
        "and radius and normal are parallel where the sphere touches.",
        "The paper prints no radius and does not describe the data; both follow the code published with it.",
    )
