"""Networks: a list of stages, and the logits as forms of all values.

    v⁰ = x,      vᵏ = stage_k(v⁰, …, vᵏ⁻¹),      logits = readout(v⁰, …, vᴷ).

Layers, gates, residual sums, attention and Π-nets are constructors of such lists. A network is the real function with exactly its
stored weights, doubles; float32 weights fit exactly. Evaluation is written once and runs on NumPy batches, on symbolic scalars
and on Fractions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.class_names import names_of
from polymargin.errors import InputError
from polymargin.networks import format as file_format
from polymargin.networks.description import description
from polymargin.networks.exact import ExactStages
from polymargin.networks.forms import Forms
from polymargin.networks.layers import Chain, Layer, chain_of
from polymargin.networks.readers.npz import binary_file, read_arrays
from polymargin.networks.rounding import rounding_errors
from polymargin.networks.stages import Degrees, Piecewise, Polynomial, Stage, degrees_of, with_forms
from polymargin.networks.structures import Structure, structure_of

Array = NDArray[np.float64]


class Network:
    """A classifier made of stages.

    stages        products, polynomials and piecewise polynomials in the order in which they are computed
    readout       forms of the inputs and the values of all stages: the logits
    structure     what a constructor knows about the architecture (`structures.py`), for formulas that need it
    class_names   one name for each class
    origin        how a reader understood its input, where it had to choose
    layer_names   one name for the forms of each stage, and one for the read-out

    >>> square = Polynomial(Forms.of([[1.0, 2.0], [0.0, 1.0]], [0.5, 0.0]), (0.0, 0.0, 1.0))
    >>> net = Network([square], Forms.of([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]))
    >>> net
    Network(2-2-2, x², logits of degree 2)
    >>> net([1.0, 1.0])
    array([12.25,  1.  ])
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        readout: Forms,
        *,
        structure: Structure | None = None,
        class_names: Sequence[str] | None = None,
        origin: str = "",
        layer_names: Sequence[str] | None = None,
    ) -> None:
        widths = (stages[0].forms[0] if stages else readout).widths[:1]
        made: list[Stage] = []
        for number, stage in enumerate(stages, start=1):
            if not len(stage):
                raise InputError(f"stage {number} has no values; expected at least one")
            made.append(with_forms(stage, [f.over(widths, f"the forms of stage {number} take") for f in stage.forms]))
            widths = (*widths, len(stage))
        self.stages, self.readout = tuple(made), readout.over(widths, "the read-out takes")
        if len(readout) < 2:
            raise InputError("the network has one class; a margin needs at least two logits to compare")
        self.structure, self.origin = structure, origin
        # What later packages compute from the stages, by keys of their own; it lives as long as the network and does not travel.
        self.cache: dict[Any, Any] = {}
        self.class_names = None if class_names is None else tuple(class_names)
        self.layer_names = None if layer_names is None else tuple(layer_names)
        if self.layer_names is not None and len(self.layer_names) != len(self.stages) + 1:
            raise InputError(
                f"{len(self.layer_names)} names of layers; expected {len(self.stages) + 1}: one for each stage and the read-out"
            )

    # -- shape ---------------------------------------------------------------------------------

    @property
    def dimension(self) -> int:
        """Number of inputs."""
        return self.readout.widths[0]

    @property
    def class_count(self) -> int:
        """Return the number of classes."""
        return len(self.readout)

    @property
    def widths(self) -> tuple[int, ...]:
        """Return the numbers of inputs, values of each stage and classes."""
        return (*self.readout.widths, self.class_count)

    @property
    def is_polynomial(self) -> bool:
        """Return whether no stage is piecewise."""
        return not any(isinstance(stage, Piecewise) for stage in self.stages)

    @cached_property
    def degree(self) -> int:
        """Return the degree of the logits in the inputs, if nothing cancels; with piecewise stages the largest of a region."""
        degrees: list[Degrees] = [np.ones(self.dimension, dtype=np.int64)]
        for stage in self.stages:
            degrees.append(stage.degrees(degrees))
        return int(degrees_of(self.readout, degrees).max(initial=0))

    @cached_property
    def chain(self) -> Chain | None:
        """Return the layers, if every stage sees the one before it alone."""
        return chain_of(self.stages, self.readout)

    def expect_chain(self) -> Chain:
        """Return the layers; refuse a network without layers, or with other activations than polynomials in powers."""
        if self.chain is None or not self.chain.in_powers:
            raise InputError(
                f"{self!r}: expected fully connected layers, each of which sees the one before it alone, with polynomials between"
            )
        return self.chain

    def __repr__(self) -> str:
        parts = [description(self.widths, self.stages, self.degree), *([self.origin] if self.origin else [])]
        return f"Network({'; '.join(parts)})"

    # -- evaluation ----------------------------------------------------------------------------

    def values(self, points: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the inputs and the values of each stage, for points (…, n) or an object array of one axis."""
        values = [points]
        for stage in self.stages:
            values.append(stage(values))
        return values

    def logits(self, points: NDArray[Any]) -> NDArray[Any]:
        """Return the logits along the last axis: of floats, or of an object array of symbolic scalars or Fractions."""
        return self.readout(self.values(points))

    def __call__(self, points: ArrayLike) -> Array:
        """Return the logits at one point (n,) or a batch (m, n)."""
        return self.logits(real_array(points, "the points"))

    def predict(self, points: ArrayLike) -> NDArray[np.int64]:
        """Return the class of the largest logit."""
        return np.asarray(np.argmax(self(points), axis=-1))

    def exact_logits(self, point: ArrayLike) -> list[Fraction]:
        """Return the logits at one point of doubles, or of dyadic Fractions, without rounding."""
        return self._exact(point)

    def prepare_exact(self) -> None:
        """Write the weights as integers. It takes a second for a few million of them; called early, a deadline counts it."""
        _ = self._exact

    @cached_property
    def _exact(self) -> ExactStages:
        return ExactStages(self.stages, self.readout)

    def rounding_errors(self, points: Array) -> Array:
        """Return bounds (…, classes) of how far floating-point logits at points (…, n) are from the exact ones."""
        return rounding_errors(self.stages, self.readout, points)

    def largest_rounding_errors(self, sizes: Array) -> Array:
        """Return bounds (…, classes) that hold at all points with |x_i| ≤ sizes_i, for sizes (…, n)."""
        return rounding_errors(self.stages, self.readout, sizes, everywhere=True)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without exact integers, which cannot be pickled or copied, and with an empty cache."""
        return {name: value for name, value in vars(self).items() if name != "_exact"} | {"cache": {}}

    # -- the inputs ----------------------------------------------------------------------------

    @cached_property
    def input_forms(self) -> Layer:
        """Return the affine forms through which the logits depend on the inputs: the rows of all stages and of the read-out."""
        users, first = self._users(0), self.stages[0] if self.stages else None
        if isinstance(first, Polynomial) and first.degree == 1 and users == [first.form]:
            # A change of variables: what matters is what later forms see of it.
            constant, slope = first.coefficients
            seen = _rows(self._users(1), 1, len(first))
            weights, bias = slope * first.form.block(0), slope * first.form.bias + constant
            return Layer(seen.weights @ weights, seen.bias + seen.weights @ bias)
        return _rows(users, 0, self.dimension)

    def active_subspace(self, label: int, rival: int) -> tuple[Array, Network] | None:
        """Return an orthonormal basis (n, m) of what f_label − f_rival depends on, and the network on it.

        None where nothing is known beyond `input_forms`.
        """
        found = None if self.structure is None else self.structure.active_subspace(label, rival)
        return None if found is None else (found[0], Network(*found[1:]))

    def _users(self, source: int) -> list[Forms]:
        """Return the forms that depend on the values of a source directly."""
        every = [*(forms for stage in self.stages for forms in stage.forms), self.readout]
        return [forms for forms in every if any(own == source for own, _ in forms.blocks)]

    def precompose(self, matrix: Array, offset: Array) -> Network:
        """Return the network y ↦ f(offset + matrix @ y).

        The weights are multiplied out if one layer alone sees the inputs. Otherwise the map is a stage of its own, so that what
        several forms share is not rounded apart.
        """
        if len(self._users(0)) == 1:
            stages = [with_forms(stage, [f.of_inputs(matrix, offset) for f in stage.forms]) for stage in self.stages]
            return Network(stages, self.readout.of_inputs(matrix, offset))
        entry = Polynomial(Forms.of(matrix, offset), (0.0, 1.0))
        stages = [with_forms(stage, [f.after(matrix.shape[1]) for f in stage.forms]) for stage in self.stages]
        return Network([entry, *stages], self.readout.after(matrix.shape[1]))

    def with_readout(self, readout: Forms) -> Network:
        """Return the network with other forms of the same values as its logits."""
        structure = None if self.structure is None else self.structure.with_readout(readout)
        return Network(self.stages, readout, structure=structure)

    # -- files ---------------------------------------------------------------------------------

    @cached_property
    def fingerprint(self) -> str:
        """Return the SHA-256 of the exact numbers; names and the structure do not count."""
        return file_format.fingerprint(self.stages, self.readout)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the named arrays of a file."""
        structure = None if self.structure is None else self.structure.to_json()
        about = file_format.Description(names_of(self), self.layer_names, self.origin, structure)
        return file_format.written(self.stages, self.readout, about)

    @classmethod
    def from_arrays_dict(cls, arrays: Mapping[str, NDArray[Any]]) -> Network:
        """Return the network of the arrays that `to_arrays` makes."""
        stages, readout, about = file_format.read(arrays)
        structure = structure_of(about.structure, stages, readout)
        network = cls(
            stages,
            readout,
            structure=structure,
            class_names=about.classes,
            origin=about.origin,
            layer_names=about.layers,
        )
        names_of(network)  # refuses names that occur twice
        return network

    def save(self, path: Any) -> None:
        """Write the network as one .npz file."""
        arrays: dict[str, Any] = self.to_arrays()
        with binary_file(path) as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: Any) -> Network:
        """Read a network that `save` wrote; nothing in the file is executed."""
        arrays = read_arrays(path)
        try:
            return cls.from_arrays_dict(arrays)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None


def _rows(users: Sequence[Forms], source: int, width: int) -> Layer:
    """Return the different rows over a source; all of them where there is one user."""
    if len(users) == 1:
        return Layer(users[0].block(source), users[0].bias)
    seen: dict[bytes, tuple[Array, float]] = {}
    for forms in users:
        for row, bias in zip(forms.block(source), forms.bias.tolist(), strict=True):
            if row.any():
                seen.setdefault(row.tobytes(), (row, bias))
    found = list(seen.values()) or [(np.zeros(width), 0.0)]
    return Layer(np.array([row for row, _ in found]), np.array([bias for _, bias in found]))
