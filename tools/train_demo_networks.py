"""Train the small networks that ship with polymargin, and draw the points that go with them.

A demonstration should answer at once and without downloads, on a network that somebody really trained:
random weights have margins too, but no picture and no meaning. Three are enough to show the range.

    moons     2-6-2      x³ once    cubic curve in the plane      9 complex critical points for a class pair
    spheres   3-4-4-3    x² twice   quartic surface in space     52
    cubic8    8-10-2     x³ once    cubic hypersurface in R⁸    765

The counts are those of a general hypersurface of degree d in n variables, d Σ_{i<n} (d-1)^i.

Training is full-batch AdamW on the cross entropy in float32; the weights are then taken exactly, as every
float32 is a float64. Powers are unpleasant to train: their gradients vanish at small inputs and explode at
large ones. So biases start away from zero, gradients are clipped, and a little weight decay keeps weights
of order one. All randomness comes from one NumPy seed per network; torch draws nothing.

The points are the first six fresh draws of the same distribution with the classes in turn; none is dropped,
right or wrong. The rule and the seed of cubic8 were picked among ten tries for a boundary curved enough that
some of these points have more than one real critical point: accuracy and margins here are examples, not
statistics.

    python tools/train_demo_networks.py [folder]      # default: src/polymargin/data; needs torch, CPU only
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from polymargin import PolynomialNetwork
from polymargin.networks import Network

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Sampler = Callable[[int], tuple[Array, Labels]]

DATA = Path(__file__).resolve().parent.parent / "src" / "polymargin" / "data"
POINT_COUNT = 6


@dataclass(frozen=True)
class Demo:
    """What to train: `task` takes a generator, fixes the labelling rule and returns a sampler of it."""

    name: str
    widths: tuple[int, ...]
    degree: int
    task: Callable[[np.random.Generator], Sampler]
    seed: int
    accuracy: float
    samples: int = 2000
    steps: int = 3000
    rate: float = 1e-2
    decay: float = 2e-2


# -- the three tasks -------------------------------------------------------------------------------


def moons(rng: np.random.Generator) -> Sampler:
    """Two half circles that hold each other, with noise, centred at the origin."""

    def sample(count: int) -> tuple[Array, Labels]:
        labels = rng.integers(0, 2, count)
        angle = rng.uniform(0.0, np.pi, count)
        upper = np.stack([np.cos(angle) - 0.5, np.sin(angle) - 0.25], axis=1)
        points = np.where(labels[:, None] == 0, upper, -upper)
        return points + 0.12 * rng.standard_normal(points.shape), labels

    return sample


def shells(rng: np.random.Generator) -> Sampler:
    """Three ellipsoidal shells, one inside the other, off-centre and stretched along different axes.

    Round concentric shells would train networks close to a sphere, where critical points come in families.
    """
    radii = np.array([0.45, 1.0, 1.6])
    stretch = np.array([[1.3, 0.9, 0.7], [0.85, 1.2, 1.0], [1.1, 0.9, 1.0]])
    centres = np.array([[0.15, 0.0, -0.1], [-0.1, 0.1, 0.0], [0.0, -0.05, 0.1]])

    def sample(count: int) -> tuple[Array, Labels]:
        labels = rng.integers(0, 3, count)
        directions = rng.standard_normal((count, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        radius = radii[labels] + 0.1 * rng.standard_normal(count)
        return centres[labels] + radius[:, None] * stretch[labels] * directions, labels

    return sample


def random_cubic(rng: np.random.Generator) -> Sampler:
    """The sign of a random cubic on the cube [-1, 1]⁸, split at its median so that the classes balance."""
    forms = 1.5 * rng.standard_normal((4, 8)) / np.sqrt(8.0)
    offsets = rng.uniform(-0.3, 0.3, 4)
    slope = rng.standard_normal(8) / np.sqrt(8.0)

    def rule(points: Array) -> Array:
        cubes = (points @ forms.T + offsets) ** 3
        return np.asarray(cubes @ [1.0, -1.0, 1.0, -1.0] + points @ slope)

    threshold = float(np.median(rule(rng.uniform(-1.0, 1.0, (10_000, 8)))))

    def sample(count: int) -> tuple[Array, Labels]:
        points = rng.uniform(-1.0, 1.0, (count, 8))
        return points, (rule(points) > threshold).astype(np.int64)

    return sample


DEMOS = (
    Demo("moons", (2, 6, 2), 3, moons, seed=1, accuracy=0.97),
    Demo("spheres", (3, 4, 4, 3), 2, shells, seed=2, accuracy=0.90),
    Demo("cubic8", (8, 10, 2), 3, random_cubic, seed=4, accuracy=0.90),
)


# -- training --------------------------------------------------------------------------------------


def parameter(values: Array) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32, requires_grad=True)


def train(demo: Demo, points: Array, labels: Labels, rng: np.random.Generator) -> Network:
    """Minimise the cross entropy of the network with activation z**degree."""
    inputs, targets = torch.tensor(points, dtype=torch.float32), torch.tensor(labels)
    layers = []
    for before, after in zip(demo.widths[:-1], demo.widths[1:], strict=True):
        start = rng.normal(0.0, 0.7 / np.sqrt(before), (after, before))
        layers.append((parameter(start), parameter(rng.uniform(-0.5, 0.5, after))))
    parameters = [tensor for layer in layers for tensor in layer]
    optimizer = torch.optim.AdamW(parameters, lr=demo.rate, weight_decay=demo.decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, demo.steps)
    for _ in range(demo.steps):
        values = inputs
        for weights, bias in layers[:-1]:
            values = (values @ weights.T + bias) ** demo.degree
        logits = values @ layers[-1][0].T + layers[-1][1]
        optimizer.zero_grad()
        torch.autograd.backward(torch.nn.functional.cross_entropy(logits, targets))
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        schedule.step()
    exact = [(weights.detach().numpy(), bias.detach().numpy()) for weights, bias in layers]
    return PolynomialNetwork(exact, degree=demo.degree)


def first_of_each_class(points: Array, labels: Labels) -> tuple[Array, Labels]:
    """The first POINT_COUNT rows with the classes in turn 0, 1, …, 0, 1, …"""
    classes = int(labels.max()) + 1
    rows = [np.flatnonzero(labels == k % classes)[k // classes] for k in range(POINT_COUNT)]
    return points[rows], labels[rows]


def build(demo: Demo, folder: Path) -> None:
    """Train one network, refuse it if it is poor, and write it with its points."""
    rng = np.random.default_rng(demo.seed)
    sample = demo.task(rng)
    points, labels = sample(demo.samples)
    network = train(demo, points, labels, rng)
    fresh_points, fresh_labels = sample(demo.samples)
    trained, fresh = (
        float(np.mean(network.predict(p) == k)) for p, k in ((points, labels), (fresh_points, fresh_labels))
    )
    largest = max(float(np.abs(layer.weights).max()) for layer in network.chain.layers)
    print(f"{demo.name}: accuracy {trained:.4f} trained, {fresh:.4f} fresh; largest weight {largest:.2f}")
    if min(trained, fresh) < demo.accuracy:
        raise SystemExit(f"{demo.name}: accuracy below {demo.accuracy}; try another seed or more steps")
    network.save(folder / f"{demo.name}.npz")
    shown_points, shown_labels = first_of_each_class(fresh_points, fresh_labels)
    np.savez(folder / f"{demo.name}_points.npz", points=shown_points, labels=shown_labels)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for demo in DEMOS:
        build(demo, folder)


if __name__ == "__main__":
    main()
