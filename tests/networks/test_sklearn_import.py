"""What is read from scikit-learn agrees with the estimator: decision values to 1e-9 and all predicted classes."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import polymargin as pm
from polymargin.networks.readers.from_sklearn import from_sklearn

sklearn = pytest.importorskip("sklearn")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import (
        MaxAbsScaler,
        MinMaxScaler,
        Normalizer,
        PolynomialFeatures,
        RobustScaler,
        StandardScaler,
    )
    from sklearn.svm import SVC, LinearSVC

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::FutureWarning")


def blobs(classes: int, dimension: int, seed: int = 0, units: bool = False) -> tuple[Any, Any]:
    """Overlapping clouds of different shapes; with `units`, features of very different size and place."""
    generator = np.random.default_rng(seed)
    x = [
        generator.normal(size=(60, dimension)) @ generator.normal(size=(dimension, dimension))
        + 2 * generator.normal(size=dimension)
        for _ in range(classes)
    ]
    points = np.concatenate(x)
    if units:
        points = points * 10.0 ** np.linspace(-3, 3, dimension) + 10.0 ** np.linspace(-3, 3, dimension)
    return points, np.repeat([f"class {c}" for c in range(classes)], 60)


def decision(estimator: Any, x: Any) -> Any:
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function(x)
    return estimator.predict_joint_log_proba(x)


def check(estimator: Any, x: Any, y: Any, degree: int) -> pm.Network:
    estimator.fit(x, y)
    network = from_sklearn(estimator)
    assert network.degree == degree
    assert network.dimension == x.shape[1]
    assert network.class_count == len(estimator.classes_)
    low, high = x.min(axis=0), x.max(axis=0)
    test = np.random.default_rng(5).uniform(
        low - 0.2 * (high - low), high + 0.2 * (high - low), size=(1000, x.shape[1])
    )
    expected, logits = decision(estimator, test), network(test)
    found = logits[:, 1] - logits[:, 0] if expected.ndim == 1 else logits
    # Where the decision value crosses zero its relative error has no meaning; a typical size stands in there.
    assert (np.abs(found - expected) <= 1e-9 * (np.abs(expected) + np.median(np.abs(expected)))).all()
    assert (estimator.classes_[network.predict(test)] == estimator.predict(test)).all()
    return network


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        LinearSVC(),
        RidgeClassifier(),
        Perceptron(),
        SGDClassifier(random_state=0),
        LinearDiscriminantAnalysis(),
        LogisticRegression(fit_intercept=False),
    ],
    ids=lambda e: type(e).__name__,
)
def test_linear(estimator: Any, classes: int) -> None:
    network = check(estimator, *blobs(classes, 4), degree=1)
    assert len(network.chain.layers) == 1


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("estimator", [QuadraticDiscriminantAnalysis(reg_param=0.1), GaussianNB()])
def test_gaussian_classes(estimator: Any, classes: int) -> None:
    network = check(estimator, *blobs(classes, 3), degree=2)
    assert network.widths == (3, 3 * classes, classes)


@pytest.mark.parametrize("degree", [2, 3, 5])
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
def test_polynomial_kernels(degree: int, gamma: Any) -> None:
    estimator = SVC(kernel="poly", degree=degree, gamma=gamma, coef0=0.7)
    network = check(estimator, *blobs(2, 3), degree=degree)
    assert network.widths == (3, len(estimator.support_vectors_), 2)


@pytest.mark.parametrize("estimator", [SVC(kernel="linear"), SVC(kernel="poly", degree=1)])
def test_kernels_of_degree_one(estimator: Any) -> None:
    check(estimator, *blobs(2, 3), degree=1)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("options", [{}, {"interaction_only": True}, {"include_bias": False}])
def test_polynomial_features(classes: int, degree: int, options: dict[str, bool]) -> None:
    pipeline = make_pipeline(StandardScaler(), PolynomialFeatures(degree, **options), LogisticRegression(C=10))
    check(pipeline, *blobs(classes, 4), degree=degree)


def test_features_are_the_products_they_are() -> None:
    network = check(make_pipeline(PolynomialFeatures(2), LogisticRegression()), *blobs(2, 5), degree=2)
    assert sorted(network.widths[1:-1]) == [5, 10]  # squares and products of pairs


def test_features_before_curved_classifiers() -> None:
    gaussian = make_pipeline(PolynomialFeatures(2, include_bias=False), QuadraticDiscriminantAnalysis(reg_param=0.5))
    check(gaussian, *blobs(3, 3), degree=4)
    check(make_pipeline(StandardScaler(), PolynomialFeatures(7), LogisticRegression()), *blobs(3, 3), degree=7)


@pytest.mark.parametrize(
    "scaler", [StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler(), PCA(2, whiten=True)]
)
def test_scalers_before_and_after_the_features(scaler: Any) -> None:
    check(make_pipeline(scaler, PolynomialFeatures(2), StandardScaler(), LinearSVC()), *blobs(3, 4), degree=2)
    check(make_pipeline(scaler, "passthrough", SVC(kernel="poly", coef0=1.0)), *blobs(2, 4), degree=3)
    check(make_pipeline(make_pipeline(scaler), QuadraticDiscriminantAnalysis()), *blobs(3, 4), degree=2)


def test_features_of_very_different_units() -> None:
    x, y = blobs(2, 4, units=True)
    check(make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression()), x, y, degree=2)
    check(make_pipeline(PolynomialFeatures(2), StandardScaler(), LogisticRegression()), x, y, degree=2)
    check(make_pipeline(StandardScaler(), QuadraticDiscriminantAnalysis()), x, y, degree=2)


@pytest.mark.parametrize(
    ("part", "degree"),
    [
        (SVC(kernel="poly", degree=3), 3),
        (LogisticRegression(), 1),
        (GaussianNB(), 2),
        (QuadraticDiscriminantAnalysis(), 2),
    ],
)
def test_one_against_rest(part: Any, degree: int) -> None:
    x, y = blobs(3, 3)
    if hasattr(part, "decision_function"):
        check(OneVsRestClassifier(part), x, y, degree=degree)
    else:
        estimator = OneVsRestClassifier(part).fit(x, y)
        assert (estimator.classes_[from_sklearn(estimator).predict(x)] == estimator.predict(x)).all()


def test_a_search_gives_its_best_estimator() -> None:
    x, y = blobs(2, 3)
    search = GridSearchCV(SVC(kernel="poly", coef0=1.0), {"degree": [2]}).fit(x, y)
    assert from_sklearn(search).degree == 2


def test_features_are_exact() -> None:
    """48(x²y − 3z + 2): nothing is rounded."""
    x, y = blobs(2, 3)
    pipeline = make_pipeline(PolynomialFeatures(3), RidgeClassifier()).fit(x, y)
    names = pipeline[0].get_feature_names_out(["x", "y", "z"]).tolist()
    coefficients = np.zeros((1, len(names)))
    coefficients[0, names.index("x^2 y")], coefficients[0, names.index("z")] = 48.0, -144.0
    pipeline[1].coef_, pipeline[1].intercept_ = coefficients, np.array([96.0])
    logits = from_sklearn(pipeline).exact_logits([3.0, -2.0, 0.5])
    assert logits[1] - logits[0] == 48 * (Fraction(9) * -2 - 3 * Fraction(1, 2) + 2)


def test_margins_of_what_was_read() -> None:
    """Two Gaussians that differ in one variance: the boundary is a parabola, sampled finely."""
    x, y = blobs(2, 2)
    estimator = QuadraticDiscriminantAnalysis().fit(x, y)
    estimator.means_ = np.array([[0.0, 0.0], [2.0, 0.0]])
    estimator.rotations_ = [np.eye(2), np.eye(2)]
    estimator.scalings_ = [np.array([1.0, 1.0]), np.array([1.0, 4.0])]
    estimator.priors_ = np.array([0.5, 0.5])
    found = pm.margin(from_sklearn(estimator), [0.0, 0.3], proof=False)
    # −½(x² + y²) = −½((x − 2)² + y²/4 + log 4), a parabola: 2x = 2 + log(4)/2 − 3y²/8.
    t = np.linspace(-20, 20, 2_000_001)
    nearest = np.hypot(1 + np.log(4) / 4 - 3 * t**2 / 16, t - 0.3).min()
    assert found.radius == pytest.approx(nearest, rel=1e-9)


class Homemade(LogisticRegression):
    pass


@pytest.mark.parametrize(
    ("estimator", "sentence"),
    [
        (RandomForestClassifier(n_estimators=2), "RandomForestClassifier is not a classifier that from_sklearn reads"),
        (SVC(kernel="rbf"), "kernel 'rbf' is not polynomial"),
        (SVC(kernel="poly"), "SVC with 3 classes decides by votes"),
        (Homemade(), "Homemade is not a classifier"),
        (make_pipeline(Normalizer(), LogisticRegression()), "Normalizer is not a pipeline step"),
        (make_pipeline(MinMaxScaler(clip=True), RidgeClassifier()), "clip=True"),
    ],
)
def test_refusals_are_one_sentence(estimator: Any, sentence: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(*blobs(3, 3))
    with pytest.raises(pm.InputError, match=sentence) as caught:
        from_sklearn(estimator)
    assert "\n" not in str(caught.value)


def test_not_fitted_and_not_an_estimator() -> None:
    with pytest.raises(pm.InputError, match="LogisticRegression is not fitted"):
        from_sklearn(LogisticRegression())
    with pytest.raises(pm.InputError, match=r"builtins\.int is not a classifier"):
        from_sklearn(3)
