"""Classifiers from scikit-learn as shallow networks.

    scores(x) = outer · (rows x + offsets)^power + constants

is the form of everything read here, and it is a network with one hidden layer and the activation z^power. Linear
classifiers have power 1. The log-posterior of a Gaussian class is −½ Σ_j (w_j·(x − μ))² + const. A polynomial kernel
Σ_i α_i (γ s_i·x + c)^d + b is such a sum as it stands, one neuron per support vector. A quadratic polynomial is
(x, 1) M (x, 1)ᵀ for a symmetric M, and the eigenvectors of M are its neurons: linear and constant terms come for free.
Products of three or more features are sums of powers of linear forms by polarization,

    2^d d! x_1^{a_1} ⋯ x_m^{a_m} = Σ_k (−1)^{Σk} Π_i C(a_i, k_i) (Σ_i (a_i − 2k_i) x_i)^d,     Σ a_i = d,  0 ≤ k_i ≤ a_i.

Pipelines are read backwards: each step pulls the scores back to its own inputs. Numbers are rounded to doubles where
factors are multiplied out (γ·s_i, a scaler into the first layer, eigenvectors); the margin speaks of the network made here,
which agrees with the estimator as well as doubles allow. Estimators are recognised by name, so nothing is imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.networks.polynomial_network import PolynomialNetwork

Array = NDArray[np.float64]

# More neurons than this from polarized monomials are refused: no margin could be computed for them.
LARGEST_WIDTH = 5_000


@dataclass(frozen=True, eq=False)
class _Scores:
    """outer @ (rows @ x + offsets)**power + constants; one row of `outer` per class, or a single one for two classes."""

    rows: Array
    offsets: Array
    power: int
    outer: Array
    constants: Array

    @property
    def linear(self) -> tuple[Array, Array]:
        """Weights and constants where the power is 1."""
        return self.outer @ self.rows, self.outer @ self.offsets + self.constants


def from_sklearn(estimator: Any) -> PolynomialNetwork:
    """The network of a fitted scikit-learn classifier; class i of the network is `estimator.classes_[i]`.

    Reads linear classifiers (LogisticRegression, LinearSVC, RidgeClassifier, Perceptron, SGDClassifier, linear
    discriminants, …), QuadraticDiscriminantAnalysis, GaussianNB, SVC and NuSVC with linear or polynomial kernels and two
    classes, OneVsRestClassifier over these, and pipelines of scalers, PCA and PolynomialFeatures that end in one of them.
    Two classes with one decision function f become the logits (0, f).
    """
    try:
        scores = _scores(estimator)
    except AttributeError as error:
        name = type(estimator).__name__
        raise InputError(f"{name} is not fitted ({error}); call fit before from_sklearn") from None
    if len(scores.constants) == 1:
        zero = np.zeros((1, scores.outer.shape[1]))
        scores = replace(
            scores, outer=np.vstack([zero, scores.outer]), constants=np.concatenate([[0.0], scores.constants])
        )
    if scores.power == 1 or not len(scores.rows):
        return PolynomialNetwork([scores.linear])
    return PolynomialNetwork([(scores.rows, scores.offsets), (scores.outer, scores.constants)], degree=scores.power)


def _scores(estimator: Any) -> _Scores:
    name = _sklearn_name(estimator)
    if name == "Pipeline":
        *steps, last = [step for _, step in estimator.steps]
        scores = _scores(last)
        for step in reversed(steps):
            scores = _pull_back(scores, step)
        return scores
    if name in ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"):
        return _scores(estimator.best_estimator_)
    if name not in _CLASSIFIERS:
        raise InputError(
            f"{_described(estimator)} is not a classifier that from_sklearn reads; it reads {_list(_CLASSIFIERS)}"
        )
    return _CLASSIFIERS[name](estimator)


def _sklearn_name(estimator: Any) -> str:
    """The class name, empty for classes from elsewhere: a subclass may decide in another way."""
    kind = type(estimator)
    return kind.__name__ if kind.__module__.split(".")[0] == "sklearn" else ""


def _described(estimator: Any) -> str:
    return _sklearn_name(estimator) or f"{type(estimator).__module__}.{type(estimator).__qualname__}"


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)


# -- classifiers -----------------------------------------------------------------------------------


def _dense(values: Any) -> Array:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)


def _linear_classifier(estimator: Any) -> _Scores:
    kind = str(getattr(getattr(estimator, "_label_binarizer", None), "y_type_", ""))
    if kind.startswith("multilabel"):
        raise InputError(f"{type(estimator).__name__} was fitted on several labels per point; a margin needs one class")
    weights = np.atleast_2d(_dense(estimator.coef_))
    constants = np.broadcast_to(_dense(estimator.intercept_).reshape(-1), (len(weights),))
    return _linear_scores(weights, constants)


def _linear_scores(weights: Array, constants: Array) -> _Scores:
    return _Scores(weights, np.zeros(len(weights)), 1, np.eye(len(weights)), np.array(constants))


def _quadratic_discriminant(estimator: Any) -> _Scores:
    factors = [
        _dense(rotation) * _dense(scaling) ** -0.5
        for rotation, scaling in zip(estimator.rotations_, estimator.scalings_, strict=True)
    ]
    volumes = np.array([np.log(scaling).sum() for scaling in estimator.scalings_])
    return _gaussians([factor.T for factor in factors], estimator.means_, np.log(estimator.priors_) - 0.5 * volumes)


def _naive_bayes(estimator: Any) -> _Scores:
    variances = _dense(estimator.var_)
    constants = np.log(estimator.class_prior_) - 0.5 * np.log(2.0 * np.pi * variances).sum(axis=1)
    return _gaussians([np.diag(row**-0.5) for row in variances], estimator.theta_, constants)


def _gaussians(whiteners: list[Array], means: Any, constants: Array) -> _Scores:
    """−½ |W_k (x − μ_k)|² + constants[k]."""
    offsets = [-(rows @ mean) for rows, mean in zip(whiteners, _dense(means), strict=True)]
    outer = _block_diagonal([np.full((1, len(rows)), -0.5) for rows in whiteners])
    return _Scores(np.vstack(whiteners), np.concatenate(offsets), 2, outer, constants)


def _support_vectors(estimator: Any) -> _Scores:
    name, kernel, count = type(estimator).__name__, estimator.kernel, len(estimator.classes_)
    if kernel not in ("linear", "poly"):
        raise InputError(
            f"{name} with kernel {kernel!r} is not polynomial; from_sklearn reads the kernels 'linear', 'poly'"
        )
    if count != 2:
        raise InputError(
            f"{name} with {count} classes decides by votes between pairs of classes, which is no comparison of "
            f"polynomials; wrap it as OneVsRestClassifier({name}(…)), or fit two classes"
        )
    vectors, factors = _dense(estimator.support_vectors_), _dense(estimator.dual_coef_)
    constants = _dense(estimator.intercept_).reshape(-1)
    if kernel == "linear":
        return _linear_scores(factors @ vectors, constants)
    offsets = np.full(len(vectors), float(estimator.coef0))
    return _Scores(float(estimator._gamma) * vectors, offsets, int(estimator.degree), factors, constants)


def _one_against_rest(estimator: Any) -> _Scores:
    if estimator.multilabel_:
        raise InputError("OneVsRestClassifier was fitted on several labels per point; a margin needs one class")
    parts = [_single(_scores(part)) for part in estimator.estimators_]
    powers = sorted({part.power for part in parts})
    if len(powers) > 1:
        raise InputError(f"the classifiers inside OneVsRestClassifier have degrees {powers}; expected the same for all")
    return _Scores(
        rows=np.vstack([part.rows for part in parts]),
        offsets=np.concatenate([part.offsets for part in parts]),
        power=powers[0],
        outer=_block_diagonal([part.outer for part in parts]),
        constants=np.concatenate([part.constants for part in parts]),
    )


def _single(scores: _Scores) -> _Scores:
    """One decision function for two classes."""
    if len(scores.constants) == 1:
        return scores
    return replace(
        scores, outer=scores.outer[1:] - scores.outer[:1], constants=scores.constants[1:] - scores.constants[:1]
    )


def _block_diagonal(blocks: list[Array]) -> Array:
    result = np.zeros((sum(len(block) for block in blocks), sum(block.shape[1] for block in blocks)))
    row = column = 0
    for block in blocks:
        result[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return result


_CLASSIFIERS: dict[str, Callable[[Any], _Scores]] = {
    **dict.fromkeys(
        (
            "LogisticRegression",
            "LogisticRegressionCV",
            "LinearSVC",
            "RidgeClassifier",
            "RidgeClassifierCV",
            "Perceptron",
            "PassiveAggressiveClassifier",
            "SGDClassifier",
            "LinearDiscriminantAnalysis",
        ),
        _linear_classifier,
    ),
    "QuadraticDiscriminantAnalysis": _quadratic_discriminant,
    "GaussianNB": _naive_bayes,
    "SVC": _support_vectors,
    "NuSVC": _support_vectors,
    "OneVsRestClassifier": _one_against_rest,
}


# -- steps before the classifier -------------------------------------------------------------------


def _pull_back(scores: _Scores, step: Any) -> _Scores:
    """x ↦ scores(step(x))."""
    if step is None or step == "passthrough":
        return scores
    name = _sklearn_name(step)
    if name == "Pipeline":
        for _, inner in reversed(step.steps):
            scores = _pull_back(scores, inner)
        return scores
    if name == "PolynomialFeatures":
        return _polynomial_features(scores, step)
    if name not in _SCALERS:
        known = _list((*_SCALERS, "PolynomialFeatures"))
        raise InputError(f"{_described(step)} is not a pipeline step that from_sklearn reads; it reads {known}")
    return _SCALERS[name](scores, step)


def _standardized(scores: _Scores, center: Any, scale: Any) -> _Scores:
    """After x ↦ (x − center) / scale."""
    rows = scores.rows if scale is None else scores.rows / _dense(scale)
    offsets = scores.offsets if center is None else scores.offsets - rows @ _dense(center)
    return replace(scores, rows=rows, offsets=offsets)


def _standard_scaler(scores: _Scores, step: Any) -> _Scores:
    return _standardized(scores, step.mean_ if step.with_mean else None, step.scale_)


def _range_scaler(scores: _Scores, step: Any) -> _Scores:
    if step.clip:
        raise InputError("MinMaxScaler with clip=True is not polynomial; fit it with clip=False")
    return replace(scores, rows=scores.rows * step.scale_, offsets=scores.offsets + scores.rows @ step.min_)


def _size_scaler(scores: _Scores, step: Any) -> _Scores:
    if getattr(step, "clip", False):
        raise InputError("MaxAbsScaler with clip=True is not polynomial; fit it with clip=False")
    return _standardized(scores, None, step.scale_)


def _robust_scaler(scores: _Scores, step: Any) -> _Scores:
    return _standardized(
        scores, step.center_ if step.with_centering else None, step.scale_ if step.with_scaling else None
    )


def _principal_components(scores: _Scores, step: Any) -> _Scores:
    matrix = _dense(step.components_)
    if step.whiten:
        matrix = matrix / np.sqrt(_dense(step.explained_variance_))[:, None]
    return _standardized(replace(scores, rows=scores.rows @ matrix), step.mean_, None)


_SCALERS: dict[str, Callable[[_Scores, Any], _Scores]] = {
    "StandardScaler": _standard_scaler,
    "MinMaxScaler": _range_scaler,
    "MaxAbsScaler": _size_scaler,
    "RobustScaler": _robust_scaler,
    "PCA": _principal_components,
}


def _polynomial_features(scores: _Scores, step: Any) -> _Scores:
    powers = np.asarray(step.powers_, dtype=np.int64)
    degree = int(powers.sum(axis=1).max())
    if scores.power != 1:
        raise InputError(
            f"PolynomialFeatures of degree {degree} before a classifier of degree {scores.power} is not read; "
            "put a linear classifier after the features"
        )
    coefficients, constants = scores.linear
    if degree == 2:
        return _sums_of_squares(powers, coefficients, constants)
    return _polarized(powers, coefficients, constants, degree)


def _sums_of_squares(powers: NDArray[np.int64], coefficients: Array, constants: Array) -> _Scores:
    """Each quadratic polynomial through the eigenvectors of its matrix in (x, 1)."""
    size = powers.shape[1] + 1
    one = size - 1
    homogeneous = np.column_stack([powers, 2 - powers.sum(axis=1)])
    rows, weights = [], []
    for row, constant in zip(coefficients, constants, strict=True):
        matrix = np.zeros((size, size))
        matrix[one, one] = constant
        for exponents, coefficient in zip(homogeneous, row.tolist(), strict=True):
            i, j = np.repeat(np.arange(size), exponents).tolist()
            matrix[i, j] += coefficient / 2
            matrix[j, i] += coefficient / 2
        # Powers of two that bring features of different units together, so that the rounding is small in each of them.
        scale = _equilibration(matrix)
        values, vectors = np.linalg.eigh(matrix * scale * scale[:, None])
        rows.append(vectors.T[values != 0] / scale)
        weights.append(values[None, values != 0])
    forms = np.vstack(rows)
    return _Scores(forms[:, :one], forms[:, one], 2, _block_diagonal(weights), np.zeros(len(constants)))


def _equilibration(matrix: Array) -> Array:
    """Powers of two d such that the largest entries of the rows of d M d are close to one another."""
    scale = np.ones(len(matrix))
    for _ in range(20):
        largest = np.abs(matrix * scale * scale[:, None]).max(axis=1)
        scale = scale / np.sqrt(np.where(largest > 0, largest, 1.0))
    return np.asarray(np.exp2(np.round(np.log2(scale))))


def _polarized(powers: NDArray[np.int64], coefficients: Array, constants: Array, degree: int) -> _Scores:
    """Monomials of degree up to `degree`, made homogeneous by a constant 1, as sums of powers of linear forms."""
    homogeneous = np.column_stack([powers, degree - powers.sum(axis=1)])
    width = int(np.prod(homogeneous + 1.0, axis=1).sum()) // 2
    if width > LARGEST_WIDTH:
        raise InputError(
            f"PolynomialFeatures of degree {degree} in {powers.shape[1]} features would need {width} neurons, more than the "
            f"{LARGEST_WIDTH} that from_sklearn makes; use degree 2, fewer features, or SVC(kernel='poly', degree={degree})"
        )
    unit = Fraction(1, 2**degree * math.factorial(degree))
    forms: dict[tuple[int, ...], list[Fraction]] = {}
    totals = [Fraction(constant) for constant in constants.tolist()]
    for exponents, column in zip(homogeneous.tolist(), coefficients.T.tolist(), strict=True):
        if not any(exponents[:-1]):
            totals = [total + Fraction(coefficient) for total, coefficient in zip(totals, column, strict=True)]
            continue
        for chosen in product(*(range(exponent + 1) for exponent in exponents)):
            form = [exponent - 2 * k for exponent, k in zip(exponents, chosen, strict=True)]
            divisor = math.gcd(*form) * (1 if next((entry for entry in form if entry), 1) > 0 else -1)
            if not any(form):
                continue
            weight = unit * (-1) ** sum(chosen) * divisor**degree
            weight *= math.prod(math.comb(exponent, k) for exponent, k in zip(exponents, chosen, strict=True))
            key = tuple(entry // divisor for entry in form)
            sums = totals if not any(key[:-1]) else forms.setdefault(key, [Fraction(0)] * len(totals))
            for position, coefficient in enumerate(column):
                sums[position] += weight * Fraction(coefficient)
    kept = {form: weights for form, weights in forms.items() if any(weights)}
    matrix = np.array(list(kept), dtype=np.float64).reshape(-1, homogeneous.shape[1])
    outer = np.array([[float(weight) for weight in weights] for weights in kept.values()]).reshape(-1, len(totals)).T
    return _Scores(matrix[:, :-1], matrix[:, -1], degree, outer, np.array([float(total) for total in totals]))
