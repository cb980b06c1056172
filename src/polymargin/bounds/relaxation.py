"""The best S-lemma bound on a ball, as one concave program.

To bound γ₀ + γ·a^l from below on the ball of radius r, given ranges for all pre-activations, choose at once

    lines       α_i z + e_i ≤ γ_i σ(z)                    per neuron of the layers l … 2, which turns γ of a layer
                                                          into γ' = Σ_i α_i W_i of the layer below,
    quadratics  p_j y² + t_j y + c_j ≤ γ_j σ(s_j + y)     per neuron of layer 1,
    multiplier  μ ≥ 0,

and maximise θ subject to [[A + μI, b/2], [bᵀ/2, c − μr² − θ]] ⪰ 0. 'Below on a range' means two small positive
semidefinite matrices per neuron (`nonnegative.py`), and every condition is linear in the unknowns, also across layers:
the lines of a layer enter the conditions of the layer below linearly. Splits of neuron ranges need no multipliers of
their own: −ν(y − l)(h − y) is already part of the quadratic of neuron j.

Ranges are mapped to ξ ∈ [−1, 1] and the ball to radius one. A relaxation is a batch: the first axis of every array runs
over problems with the same network (other ranges, functionals or radii). `interior_point.py` solves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.minorants import taylor
from polymargin.bounds.nonnegative import Template, template
from polymargin.bounds.view import View

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NeuronGroup:
    """One layer: minorant coefficients (lowest first) = γ·offset − template.minorant·g, for every neuron.

    first    position of g (h·q numbers) among the unknowns
    gamma    (B, h) and gamma_jacobian (B, h, N) or None: γ as an affine function of the unknowns
    offset   (B, h, width);   particular: two arrays (B, h, s, s), the part of the Gram matrices proportional to γ
    middle, half   (B, h): z or y is middle + half·ξ
    """

    form: Template
    first: int
    gamma: Array
    gamma_jacobian: Array | None
    offset: Array
    particular: tuple[Array, Array]
    middle: Array
    half: Array

    @property
    def block(self) -> slice:
        return slice(self.first, self.first + self.middle.shape[1] * self.form.free)

    def own(self, x: Array) -> Array:
        """g as (B, h, q)."""
        return x[:, self.block].reshape(len(x), self.middle.shape[1], self.form.free)

    def gammas(self, x: Array, affine: bool = True) -> Array:
        value = self.gamma if affine else np.zeros_like(self.gamma)
        return value if self.gamma_jacobian is None else value + (self.gamma_jacobian @ x[..., None])[..., 0]

    def coefficients(self, x: Array) -> Array:
        """The minorants in ξ, lowest coefficient first (B, h, width)."""
        return np.asarray(self.gammas(x)[..., None] * self.offset - self.own(x) @ self.form.minorant.T)

    def take(self, keep: NDArray[np.int64]) -> NeuronGroup:
        return replace(
            self,
            gamma=self.gamma[keep],
            gamma_jacobian=None if self.gamma_jacobian is None else self.gamma_jacobian[keep],
            offset=self.offset[keep],
            particular=(self.particular[0][keep], self.particular[1][keep]),
            middle=self.middle[keep],
            half=self.half[keep],
        )


@dataclass(frozen=True, eq=False)
class GramRelaxation:
    """Unknowns x (B, N): g of every group from the top layer down to layer 1, then θ, then μr².

    forms      (B, h₁, m + 1): ξ_j as an affine form in (δ/r, 1)
    parts      (B, 2h₁ + 2) and parts_jacobian (B, 2h₁ + 2, N): the quadratic and linear coefficients of layer 1, the
               corner of the bordered matrix and μr², as affine functions of the unknowns

    Cones, in this order: two Gram matrices per neuron and group, μ, the bordered matrix; each (B, count, s, s).
    """

    groups: tuple[NeuronGroup, ...]
    forms: Array
    parts: Array
    parts_jacobian: Array

    @classmethod
    def build(cls, view: View, ranges: Sequence[Array], gamma: Array, constant: Array, radius: Array) -> GramRelaxation:
        """`ranges[l-1]` (B, h_l, 2) are those of y for l = 1, of z for deeper layers; γ (B, h) is for the last of them."""
        depth, batch = len(ranges), len(gamma)
        shapes = [template(len(view.activation(layer)) - 1, 2 if layer > 1 else 3) for layer in range(1, depth + 1)]
        N = sum(ranges[i].shape[1] * shapes[i].free for i in range(depth)) + 2
        corner, corner_jacobian = constant.astype(np.float64), np.zeros((batch, N))
        jacobian: Array | None = None
        groups, first = [], 0
        for layer in range(depth, 0, -1):
            group = _group(view, layer, ranges[layer - 1], shapes[layer - 1], first, gamma, jacobian)
            first = group.block.stop
            value, change = _coefficients(group, N)
            corner = corner + value[:, :, 0].sum(axis=1)
            corner_jacobian += change[:, :, 0].sum(axis=1)
            groups.append(group)
            if layer > 1:
                lean = (view.bias(layer) - group.middle) / group.half
                corner = corner + (lean * value[:, :, 1]).sum(axis=1)
                corner_jacobian += (lean[:, None] @ change[:, :, 1])[:, 0]
                pull = np.swapaxes(view.weights(layer) / group.half[..., None], 1, 2)
                gamma, jacobian = (pull @ value[:, :, 1, None])[..., 0], pull @ change[:, :, 1]
        corner_jacobian[:, -2:] = -1.0
        multiplier = np.zeros((batch, 1, N))
        multiplier[:, 0, -1] = 1.0
        parts = np.concatenate([value[:, :, 2], value[:, :, 1], corner[:, None], np.zeros((batch, 1))], axis=1)
        rows = [change[:, :, 2], change[:, :, 1], corner_jacobian[:, None], multiplier]
        forms = np.concatenate([radius[:, None, None] * view.factor, -group.middle[..., None]], axis=-1)
        return cls(tuple(groups), forms / group.half[..., None], parts, np.concatenate(rows, axis=1))

    @property
    def unknowns(self) -> int:
        return int(self.parts_jacobian.shape[2])

    def take(self, keep: NDArray[np.int64]) -> GramRelaxation:
        """The problems with these numbers only."""
        groups = tuple(group.take(keep) for group in self.groups)
        return GramRelaxation(groups, self.forms[keep], self.parts[keep], self.parts_jacobian[keep])

    # -- the linear maps of the program ------------------------------------------------------------

    def cones(self, x: Array, *, affine: bool = True) -> list[Array]:
        """All matrices that have to be positive semidefinite; with affine=False their change along x."""
        result: list[Array] = []
        for group in self.groups:
            gammas = group.gammas(x, affine)[..., None, None]
            for units, particular in zip(group.form.units, group.particular, strict=True):
                result.append(np.tensordot(group.own(x), units, 1) + gammas * particular)
        parts = (self.parts_jacobian @ x[..., None])[..., 0] + (self.parts if affine else 0.0)
        return [*result, x[:, None, None, -1:], self._bordered(parts)[:, None]]

    def _bordered(self, parts: Array) -> Array:
        _, height, side = self.forms.shape
        matrix = np.swapaxes(self.forms, 1, 2) @ (parts[:, :height, None] * self.forms)
        border = (parts[:, None, height : 2 * height] @ self.forms)[:, 0] / 2
        matrix[:, -1, :] += border
        matrix[:, :, -1] += border
        inner = np.arange(side - 1)
        matrix[:, inner, inner] += parts[:, -1:]
        matrix[:, -1, -1] += parts[:, -2]
        return matrix

    def adjoint(self, duals: Sequence[Array]) -> Array:
        """The transpose of `cones`: one number per unknown (B, N)."""
        batch = len(self.parts)
        result = (self._bordered_adjoint(duals[-1][:, 0])[:, None] @ self.parts_jacobian)[:, 0]
        result[:, -1] += duals[-2][:, 0, 0, 0]
        for index, group in enumerate(self.groups):
            pairs = duals[2 * index : 2 * index + 2]
            own = np.zeros((*group.middle.shape, group.form.free))
            for dual, units in zip(pairs, group.form.units, strict=True):
                own += np.tensordot(dual, units, ((2, 3), (1, 2)))
            result[:, group.block] += own.reshape(batch, -1)
            if group.gamma_jacobian is not None:
                first, second = ((a * b).sum(axis=(2, 3)) for a, b in zip(pairs, group.particular, strict=True))
                result += ((first + second)[:, None] @ group.gamma_jacobian)[:, 0]
        return np.asarray(result)

    def _bordered_adjoint(self, dual: Array) -> Array:
        image = self.forms @ dual
        corner = dual[:, -1, -1, None]
        trace = np.trace(dual, axis1=1, axis2=2)[:, None] - corner
        return np.concatenate([(image * self.forms).sum(axis=-1), image[:, :, -1], corner, trace], axis=1)

    def normal_matrix(self, X: Sequence[Array], S: Sequence[Array]) -> Array:
        """Σ over the cones of ⟨E_a, X E_b S⟩, where E_a is the change of the cone with unknown a: (B, N, N)."""
        batch = len(self.parts)
        inner = self._bordered_normal(X[-1][:, 0], S[-1][:, 0])
        result = np.swapaxes(self.parts_jacobian, 1, 2) @ (inner @ self.parts_jacobian)
        result[:, -1, -1] += X[-2][:, 0, 0, 0] * S[-2][:, 0, 0, 0]
        for index, group in enumerate(self.groups):
            height, free = group.middle.shape[1], group.form.free
            local = np.zeros((batch, height, free + 1, free + 1))
            for k in range(2):
                local += _local_normal(X[2 * index + k], S[2 * index + k], group.form.units[k], group.particular[k])
            places = group.first + np.arange(height * free).reshape(height, free)
            result[:, places[:, :, None], places[:, None, :]] += local[:, :, :-1, :-1]
            if group.gamma_jacobian is not None:
                J = group.gamma_jacobian
                result += np.swapaxes(J, 1, 2) @ (local[:, :, -1, -1, None] * J)
                cross = (np.swapaxes(J, 1, 2)[:, :, :, None] * local[:, None, :, -1, :-1]).reshape(
                    batch, -1, height * free
                )
                result[:, :, group.block] += cross
                result[:, group.block, :] += np.swapaxes(cross, 1, 2)
        return result

    def _bordered_normal(self, X: Array, S: Array) -> Array:
        """The same for the bordered matrix in terms of its parts: f fᵀ, sym(f eᵀ), e eᵀ and diag(1, …, 1, 0)."""
        F, FX, FS = self.forms, self.forms @ X, self.forms @ S
        KX, KS = FX @ np.swapaxes(F, 1, 2), FS @ np.swapaxes(F, 1, 2)
        fX, fS, gX, gS = FX[:, :, -1], FS[:, :, -1], X[:, -1, -1, None], S[:, -1, -1, None]
        h = F.shape[1]
        p, t = slice(0, h), slice(h, 2 * h)
        result = np.empty((len(X), 2 * h + 2, 2 * h + 2))
        result[:, p, p] = KX * KS
        result[:, p, t] = (KX * fS[:, :, None] + fX[:, :, None] * KS) / 2
        outer = fX[:, :, None] * fS[:, None, :]
        result[:, t, t] = (outer + np.swapaxes(outer, 1, 2) + gX[..., None] * KS + gS[..., None] * KX) / 4
        result[:, p, -2] = fX * fS
        result[:, t, -2] = (gX * fS + fX * gS) / 2
        XDS = X[:, :, :-1] @ S[:, :-1, :]
        XDS = (XDS + np.swapaxes(XDS, 1, 2)) / 2
        result[:, -2, -2] = gX[:, 0] * gS[:, 0]
        result[:, :, -1] = self._bordered_adjoint(XDS)
        result[:, t, p] = np.swapaxes(result[:, p, t], 1, 2)
        result[:, -2, : 2 * h] = result[:, : 2 * h, -2]
        result[:, -1, :-1] = result[:, :-1, -1]
        return result


def _group(
    view: View, layer: int, ranges: Array, form: Template, first: int, gamma: Array, jacobian: Array | None
) -> NeuronGroup:
    middle = ranges.mean(axis=-1)
    half = np.maximum((ranges[..., 1] - ranges[..., 0]) / 2, 1e-12 * (1 + np.abs(middle)))
    series = taylor(view.activation(layer), middle + (view.shift if layer == 1 else 0.0), half)
    series = np.concatenate([series, np.zeros((*middle.shape, form.degree + 1 - series.shape[-1]))], axis=-1)
    low, high = series[..., : form.width], series[..., form.width :]
    particular = (np.tensordot(high, form.particular[0], 1), np.tensordot(high, form.particular[1], 1))
    return NeuronGroup(form, first, gamma, jacobian, low - high @ form.shift, particular, middle, half)


def _coefficients(group: NeuronGroup, N: int) -> tuple[Array, Array]:
    """The minorant coefficients as an affine function of the unknowns: value (B, h, width), change (B, h, width, N)."""
    batch, height, width = group.offset.shape
    change = np.zeros((batch, height, width, N))
    if group.gamma_jacobian is not None:
        change += group.offset[..., None] * group.gamma_jacobian[:, :, None, :]
    for j in range(height):
        start = group.first + j * group.form.free
        change[:, j, :, start : start + group.form.free] -= group.form.minorant
    return group.gamma[..., None] * group.offset, change


def _local_normal(X: Array, S: Array, units: Array, particular: Array) -> Array:
    """⟨E_a, X E_b S⟩ within one neuron, for its own g and its γ (last): (B, h, q + 1, q + 1)."""
    batch, height, size, _ = X.shape
    square = size * size
    product = np.swapaxes(S, 2, 3)[:, :, :, None, None, :] * X[:, :, None, :, :, None]  # (l, i, j, k)
    product = product.reshape(batch, height, square, square)
    E = np.empty((batch, height, len(units) + 1, square))
    E[:, :, :-1] = units.reshape(len(units), square)
    E[:, :, -1] = particular.reshape(batch, height, square)
    return np.asarray(E @ product @ np.swapaxes(E, 2, 3))
