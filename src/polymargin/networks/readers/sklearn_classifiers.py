"""Classifiers of scikit-learn, by their names: their decision functions as sums of powers of linear forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.readers.sklearn_scores import (
    Array,
    Scores,
    block_diagonal,
    dense,
    described,
    linear_scores,
    listed,
    sklearn_name,
)
from polymargin.networks.readers.sklearn_steps import pull_back


def scores_of(estimator: Any) -> Scores:
    name = sklearn_name(estimator)
    if name == "Pipeline":
        *steps, last = [step for _, step in estimator.steps]
        scores = scores_of(last)
        for step in reversed(steps):
            scores = pull_back(scores, step)
        return scores
    if name in ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"):
        return scores_of(estimator.best_estimator_)
    if name not in CLASSIFIERS:
        raise InputError(
            f"{described(estimator)} is not a classifier that from_sklearn reads; it reads {listed(CLASSIFIERS)}"
        )
    return CLASSIFIERS[name](estimator)


def _linear_classifier(estimator: Any) -> Scores:
    kind = str(getattr(getattr(estimator, "_label_binarizer", None), "y_type_", ""))
    if kind.startswith("multilabel"):
        raise InputError(f"{type(estimator).__name__} was fitted on several labels per point; a margin needs one class")
    weights = np.atleast_2d(dense(estimator.coef_))
    constants = np.broadcast_to(dense(estimator.intercept_).reshape(-1), (len(weights),))
    return linear_scores(weights, constants)


def _quadratic_discriminant(estimator: Any) -> Scores:
    factors = [
        dense(rotation) * dense(scaling) ** -0.5
        for rotation, scaling in zip(estimator.rotations_, estimator.scalings_, strict=True)
    ]
    volumes = np.array([np.log(scaling).sum() for scaling in estimator.scalings_])
    return _gaussians([factor.T for factor in factors], estimator.means_, np.log(estimator.priors_) - 0.5 * volumes)


def _naive_bayes(estimator: Any) -> Scores:
    variances = dense(estimator.var_)
    constants = np.log(estimator.class_prior_) - 0.5 * np.log(2.0 * np.pi * variances).sum(axis=1)
    return _gaussians([np.diag(row**-0.5) for row in variances], estimator.theta_, constants)


def _gaussians(whiteners: list[Array], means: Any, constants: Array) -> Scores:
    """−½ |W_k (x − μ_k)|² + constants[k]."""
    offsets = [-(rows @ mean) for rows, mean in zip(whiteners, dense(means), strict=True)]
    outer = block_diagonal([np.full((1, len(rows)), -0.5) for rows in whiteners])
    return Scores(np.vstack(whiteners), np.concatenate(offsets), 2, outer, constants)


def _support_vectors(estimator: Any) -> Scores:
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
    vectors, factors = dense(estimator.support_vectors_), dense(estimator.dual_coef_)
    constants = dense(estimator.intercept_).reshape(-1)
    if kernel == "linear":
        return linear_scores(factors @ vectors, constants)
    offsets = np.full(len(vectors), float(estimator.coef0))
    return Scores(float(estimator._gamma) * vectors, offsets, int(estimator.degree), factors, constants)


def _one_against_rest(estimator: Any) -> Scores:
    if estimator.multilabel_:
        raise InputError("OneVsRestClassifier was fitted on several labels per point; a margin needs one class")
    parts = [_single(scores_of(part)) for part in estimator.estimators_]
    powers = sorted({part.power for part in parts})
    if len(powers) > 1:
        raise InputError(f"the classifiers inside OneVsRestClassifier have degrees {powers}; expected the same for all")
    return Scores(
        rows=np.vstack([part.rows for part in parts]),
        offsets=np.concatenate([part.offsets for part in parts]),
        power=powers[0],
        outer=block_diagonal([part.outer for part in parts]),
        constants=np.concatenate([part.constants for part in parts]),
    )


def _single(scores: Scores) -> Scores:
    """One decision function for two classes."""
    if len(scores.constants) == 1:
        return scores
    return replace(
        scores, outer=scores.outer[1:] - scores.outer[:1], constants=scores.constants[1:] - scores.constants[:1]
    )


CLASSIFIERS: dict[str, Callable[[Any], Scores]] = {
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
