"""Classifiers from scikit-learn as shallow networks.

    scores(x) = outer · (rows x + offsets)^power + constants

is the form of everything read here, and it is a network with one hidden layer and the activation z^power. Linear
classifiers have power 1. The log-posterior of a Gaussian class is −½ Σ_j (w_j·(x − μ))² + const. A polynomial kernel
Σ_i α_i (γ s_i·x + c)^d + b is such a sum as it stands, one neuron per support vector. Polynomial features become one in
`sklearn_features.py`. Pipelines are read backwards: each step pulls the scores back to its own inputs. Numbers are rounded
to doubles where factors are multiplied out (γ·s_i, a scaler into the first layer, eigenvectors); the margin speaks of the
network made here, which agrees with the estimator as well as doubles allow. Estimators are recognised by name, so nothing is
imported.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.constructors import PolynomialNetwork
from polymargin.networks.network import Network
from polymargin.networks.readers.sklearn_classifiers import scores_of


def from_sklearn(estimator: Any) -> Network:
    """The network of a fitted scikit-learn classifier; class i of the network is `estimator.classes_[i]`, and results say so.

    Reads linear classifiers (LogisticRegression, LinearSVC, RidgeClassifier, Perceptron, SGDClassifier, linear
    discriminants, …), QuadraticDiscriminantAnalysis, GaussianNB, SVC and NuSVC with linear or polynomial kernels and two
    classes, OneVsRestClassifier over these, and pipelines of scalers, PCA and PolynomialFeatures that end in one of them.
    Two classes with one decision function f become the logits (0, f).
    """
    try:
        scores = scores_of(estimator)
    except AttributeError as error:
        name = type(estimator).__name__
        raise InputError(f"{name} is not fitted ({error}); call fit before from_sklearn") from None
    if len(scores.constants) == 1:
        zero = np.zeros((1, scores.outer.shape[1]))
        scores = replace(
            scores, outer=np.vstack([zero, scores.outer]), constants=np.concatenate([[0.0], scores.constants])
        )
    if scores.power == 1 or not len(scores.rows):
        network = PolynomialNetwork([scores.linear])
    else:
        pairs = [(scores.rows, scores.offsets), (scores.outer, scores.constants)]
        network = PolynomialNetwork(pairs, degree=scores.power)
    network.class_names = _class_names(estimator, network.class_count)
    return network


def _class_names(estimator: Any, count: int) -> tuple[str, ...] | None:
    """What the estimator calls its classes, where that says more than their numbers."""
    names = tuple(str(name) for name in np.asarray(getattr(estimator, "classes_", ())).tolist())
    return names if len(names) == count and names != tuple(map(str, range(count))) else None
