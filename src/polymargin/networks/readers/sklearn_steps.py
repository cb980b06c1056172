"""Steps of a pipeline before its classifier: each one pulls the scores back to its own inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.readers.sklearn_features import polynomial_features
from polymargin.networks.readers.sklearn_scores import Scores, dense, described, listed, sklearn_name


def pull_back(scores: Scores, step: Any) -> Scores:
    """x ↦ scores(step(x))."""
    if step is None or step == "passthrough":
        return scores
    name = sklearn_name(step)
    if name == "Pipeline":
        for _, inner in reversed(step.steps):
            scores = pull_back(scores, inner)
        return scores
    if name == "PolynomialFeatures":
        return polynomial_features(scores, step)
    if name not in _SCALERS:
        known = listed((*_SCALERS, "PolynomialFeatures"))
        raise InputError(f"{described(step)} is not a pipeline step that from_sklearn reads; it reads {known}")
    return _SCALERS[name](scores, step)


def _standardized(scores: Scores, centre: Any, scale: Any) -> Scores:
    """After x ↦ (x − centre) / scale."""
    rows = scores.rows if scale is None else scores.rows / dense(scale)
    offsets = scores.offsets if centre is None else scores.offsets - rows @ dense(centre)
    return replace(scores, rows=rows, offsets=offsets)


def _standard_scaler(scores: Scores, step: Any) -> Scores:
    return _standardized(scores, step.mean_ if step.with_mean else None, step.scale_)


def _range_scaler(scores: Scores, step: Any) -> Scores:
    if step.clip:
        raise InputError("MinMaxScaler with clip=True is not polynomial; fit it with clip=False")
    return replace(scores, rows=scores.rows * step.scale_, offsets=scores.offsets + scores.rows @ step.min_)


def _size_scaler(scores: Scores, step: Any) -> Scores:
    if getattr(step, "clip", False):
        raise InputError("MaxAbsScaler with clip=True is not polynomial; fit it with clip=False")
    return _standardized(scores, None, step.scale_)


def _robust_scaler(scores: Scores, step: Any) -> Scores:
    return _standardized(
        scores, step.center_ if step.with_centering else None, step.scale_ if step.with_scaling else None
    )


def _principal_components(scores: Scores, step: Any) -> Scores:
    matrix = dense(step.components_)
    if step.whiten:
        matrix = matrix / np.sqrt(dense(step.explained_variance_))[:, None]
    return _standardized(replace(scores, rows=scores.rows @ matrix), step.mean_, None)


_SCALERS: dict[str, Callable[[Scores, Any], Scores]] = {
    "StandardScaler": _standard_scaler,
    "MinMaxScaler": _range_scaler,
    "MaxAbsScaler": _size_scaler,
    "RobustScaler": _robust_scaler,
    "PCA": _principal_components,
}
