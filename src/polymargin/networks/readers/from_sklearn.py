"""Classifiers from scikit-learn: what they and the steps of their pipelines compute, on a tape.

Linear classifiers are one layer. The log-posterior of a Gaussian class is −½ Σ_j (w_j·(x − μ))² + const. A polynomial kernel is
Σ_i α_i (γ s_i·x + c)^d + b, one neuron per support vector. Polynomial features are products of inputs. Numbers are rounded to
doubles where factors are multiplied out (γ·s_i, a scaler into the first layer); the margin speaks of the network made here, which
agrees with the estimator as well as doubles allow. Estimators are recognised by name, so nothing is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.networks.readers.foreign import Foreign
from polymargin.networks.tape.arithmetic import add, concatenate, constant, multiply, power, subtract
from polymargin.networks.tape.einsum import matmul
from polymargin.networks.tape.fold import fold
from polymargin.networks.tape.operations import OperationTape, Tensor, Value

Array = NDArray[np.float64]


def from_sklearn(estimator: Foreign) -> Network:
    """Return the network of a fitted classifier; class i of the network is `estimator.classes_[i]`, and results say so.

    Reads linear classifiers (LogisticRegression, LinearSVC, RidgeClassifier, Perceptron, SGDClassifier, linear
    discriminants, …), QuadraticDiscriminantAnalysis, GaussianNB, SVC and NuSVC with linear or polynomial kernels and two
    classes, OneVsRestClassifier over these, and pipelines of scalers, PCA and PolynomialFeatures that end in one of them.
    Two classes with one decision function f become the logits (0, f).
    """
    try:
        # A pipeline of nothing but 'passthrough' and a search know how many features they were fitted on.
        inputs = OperationTape().input((1, _feature_count(estimator)))
        network = fold(_scores(estimator, inputs))
    except AttributeError as error:
        name = type(estimator).__name__
        raise InputError(f"{name} is not fitted ({error}); call fit before from_sklearn") from None
    names = tuple(str(name) for name in np.asarray(getattr(estimator, "classes_", ())).tolist())
    if len(names) == network.class_count and names != tuple(map(str, range(len(names)))):
        network.class_names = names
    return network


def _feature_count(estimator: Foreign) -> int:
    _known(estimator, (*CLASSIFIERS, *_SEARCHES, "Pipeline"))
    return int(estimator.n_features_in_)


def _scores(estimator: Foreign, x: Tensor) -> Tensor:
    """Return decision functions, one for each class or one for two classes."""
    name = _name(estimator)
    if name == "Pipeline":
        *steps, last = (step for _, step in estimator.steps)
        for step in steps:
            x = _transformed(step, x)
        return _scores(last, x)
    if name in _SEARCHES:
        return _scores(estimator.best_estimator_, x)
    _known(estimator, CLASSIFIERS)
    return CLASSIFIERS[name](estimator, x)


def _affine(x: Tensor, weights: Array, constants: ArrayLike) -> Tensor:
    result: Tensor = add(matmul(x, weights.T), constants)
    return result


# -- classifiers -----------------------------------------------------------------------------------


def _linear(estimator: Foreign, x: Tensor) -> Tensor:
    kind = str(getattr(getattr(estimator, "_label_binarizer", None), "y_type_", ""))
    if kind.startswith("multilabel"):
        raise InputError(f"{type(estimator).__name__} was fitted on several labels per point; a margin needs one class")
    return _affine(x, np.atleast_2d(_dense(estimator.coef_)), _dense(estimator.intercept_).reshape(-1))


def _quadratic_discriminant(estimator: Foreign, x: Tensor) -> Tensor:
    pairs = zip(estimator.rotations_, estimator.scalings_, strict=True)
    whiteners = [(_dense(rotation) * _dense(scaling) ** -0.5).T for rotation, scaling in pairs]
    volumes = np.array([np.log(scaling).sum() for scaling in estimator.scalings_])
    return _gaussians(x, whiteners, estimator.means_, np.log(estimator.priors_) - 0.5 * volumes)


def _naive_bayes(estimator: Foreign, x: Tensor) -> Tensor:
    variances = _dense(estimator.var_)
    constants = np.log(estimator.class_prior_) - 0.5 * np.log(2.0 * np.pi * variances).sum(axis=1)
    return _gaussians(x, [np.diag(row**-0.5) for row in variances], estimator.theta_, constants)


def _gaussians(x: Tensor, whiteners: list[Array], means: Foreign, constants: Array) -> Tensor:
    """Return −½ |W_k (x − μ_k)|² + constants[k]."""
    squares = [power(_affine(x, rows, -(rows @ mean)), 2) for rows, mean in zip(whiteners, _dense(means), strict=True)]
    parts = [matmul(square, np.full((square.size, 1), -0.5)) for square in squares]
    result: Tensor = add(concatenate(parts, 1), constants)
    return result


def _support_vectors(estimator: Foreign, x: Tensor) -> Tensor:
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
        return _affine(x, factors @ vectors, constants)
    kernels = power(_affine(x, float(estimator._gamma) * vectors, float(estimator.coef0)), int(estimator.degree))
    return _affine(kernels, factors, constants)


def _one_against_rest(estimator: Foreign, x: Tensor) -> Tensor:
    if estimator.multilabel_:
        raise InputError("OneVsRestClassifier was fitted on several labels per point; a margin needs one class")
    parts = [_scores(part, x) for part in estimator.estimators_]
    single = [part if part.size == 1 else subtract(part.take([[1]]), part.take([[0]])) for part in parts]
    result: Tensor = concatenate(single, 1)
    return result


_SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
_LINEAR = (
    "LogisticRegression", "LogisticRegressionCV", "LinearSVC", "RidgeClassifier", "RidgeClassifierCV", "Perceptron",
    "PassiveAggressiveClassifier", "SGDClassifier", "LinearDiscriminantAnalysis",
)  # fmt: skip
CLASSIFIERS: dict[str, Callable[[Foreign, Tensor], Tensor]] = {
    **dict.fromkeys(_LINEAR, _linear),
    "QuadraticDiscriminantAnalysis": _quadratic_discriminant,
    "GaussianNB": _naive_bayes,
    "SVC": _support_vectors,
    "NuSVC": _support_vectors,
    "OneVsRestClassifier": _one_against_rest,
}


# -- steps -----------------------------------------------------------------------------------------


def _transformed(step: Foreign, x: Tensor) -> Tensor:
    if step is None or step == "passthrough":
        return x
    if _name(step) == "Pipeline":
        for _, inner in step.steps:
            x = _transformed(inner, x)
        return x
    if _name(step) not in _STEPS:
        raise InputError(
            f"{_described(step)} is not a pipeline step that from_sklearn reads; it reads {_listed(_STEPS)}"
        )
    result: Tensor = _STEPS[_name(step)](step, x)
    return result


def _standardized(x: Tensor, centre: Foreign, scale: Foreign) -> Value:
    """Return (x − centre) / scale."""
    centred = x if centre is None else subtract(x, _dense(centre))
    return centred if scale is None else multiply(centred, 1.0 / _dense(scale))


def _range_scaler(step: Foreign, x: Tensor) -> Value:
    _expect_no_clip(step)
    return add(multiply(x, step.scale_), step.min_)


def _size_scaler(step: Foreign, x: Tensor) -> Value:
    _expect_no_clip(step)
    return _standardized(x, None, step.scale_)


def _expect_no_clip(step: Foreign) -> None:
    if getattr(step, "clip", False):
        raise InputError(f"{_name(step)} with clip=True is not polynomial; fit it with clip=False")


def _principal_components(step: Foreign, x: Tensor) -> Value:
    matrix = _dense(step.components_)
    if step.whiten:
        matrix = matrix / np.sqrt(_dense(step.explained_variance_))[:, None]
    return matmul(_standardized(x, step.mean_, None), matrix.T)


def _polynomial_features(step: Foreign, x: Tensor) -> Value:
    """Return monomials, each the product of one input after the other; 1 stands where there is none."""
    powers = np.asarray(step.powers_, dtype=np.int64)
    factors = np.full((len(powers), max(1, int(powers.sum(axis=1).max()))), powers.shape[1])
    for row, exponents in zip(factors, powers, strict=True):
        row[: exponents.sum()] = np.repeat(np.arange(len(exponents)), exponents)
    inputs = concatenate([x, constant(x.tape, [[1.0]])], 1)
    result = inputs.take(factors[None, :, 0])
    for column in factors.T[1:]:
        result = multiply(result, inputs.take(column[None]))
    return result


_STEPS: dict[str, Callable[[Foreign, Tensor], Value]] = {
    "StandardScaler": lambda step, x: _standardized(x, step.mean_ if step.with_mean else None, step.scale_),
    "MinMaxScaler": _range_scaler,
    "MaxAbsScaler": _size_scaler,
    "RobustScaler": lambda step, x: _standardized(
        x, step.center_ if step.with_centering else None, step.scale_ if step.with_scaling else None
    ),
    "PCA": _principal_components,
    "PolynomialFeatures": _polynomial_features,
}


# -- names -----------------------------------------------------------------------------------------


def _name(estimator: Foreign) -> str:
    """Return the class name, empty for classes from elsewhere: a subclass may decide in another way."""
    kind = type(estimator)
    return kind.__name__ if kind.__module__.split(".")[0] == "sklearn" else ""


def _described(estimator: Foreign) -> str:
    return _name(estimator) or f"{type(estimator).__module__}.{type(estimator).__qualname__}"


def _known(estimator: Foreign, names: Iterable[str]) -> None:
    if _name(estimator) not in names:
        raise InputError(
            f"{_described(estimator)} is not a classifier that from_sklearn reads; it reads {_listed(CLASSIFIERS)}"
        )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _dense(values: Foreign) -> Array:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)
