"""A path tracker that is easy to read: classical Runge–Kutta steps, full Newton corrections, one path at a time.

It shares the program with the C++ tracker but evaluates it by the Python interpreter, and nothing else.
"""

from __future__ import annotations

import numpy as np

from polymargin.polynomials import Program, evaluate


def follow_path(program: Program, start: np.ndarray, p0: np.ndarray, p1: np.ndarray) -> np.ndarray:
    """The end of the path that begins at `start` for parameters p0 and ends at parameters p1."""
    n = program.input_count

    def system(x: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        parameters = (1 - t) * p0 + t * p1
        entries = evaluate(program, list(x), list(parameters), derivatives=True)
        value = np.array(entries[:n], dtype=complex)
        jacobian = np.array(entries[n:], dtype=complex).reshape(n, n)
        step = 1e-6
        ahead, behind = (evaluate(program, list(x), list(parameters + s * step * (p1 - p0))) for s in (1, -1))
        return (
            value,
            jacobian,
            (np.array(ahead, dtype=complex) - np.array(behind, dtype=complex)) / (2 * step),
        )

    def tangent(x: np.ndarray, t: float) -> np.ndarray:
        _, jacobian, in_t = system(x, t)
        return -np.linalg.solve(jacobian, in_t)

    def newton(x: np.ndarray, t: float) -> tuple[np.ndarray, list[float]]:
        sizes = []
        for _ in range(4):
            value, jacobian, _ = system(x, t)
            change = -np.linalg.solve(jacobian, value)
            x = x + change
            sizes.append(float(np.abs(change).max() / (1e-3 + np.abs(x).max())))
        return x, sizes

    x, t, h = np.array(start, dtype=complex), 0.0, 0.02
    while t < 1.0:
        h = min(h, 1.0 - t)
        k1 = tangent(x, t)
        k2 = tangent(x + h / 2 * k1, t + h / 2)
        k3 = tangent(x + h / 2 * k2, t + h / 2)
        k4 = tangent(x + h * k3, t + h)
        predicted = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        corrected, sizes = newton(predicted, t + h)
        if sizes[0] < 1e-3 and sizes[1] < 1e-5 and sizes[-1] < 1e-11:
            x, t = corrected, t + h
            h *= 1.5 if sizes[0] < 1e-4 else 1.0
        else:
            h /= 2
            assert h > 1e-10, "the readable tracker is stuck"
    return x
