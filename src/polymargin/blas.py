"""The number of BLAS threads while a function runs: one, unless `workers=` is larger.

By default BLAS takes every core for every product. The matrices of bounds have some hundred rows and gain little from that, and
where others are at work too each product waits for the slowest of its threads: bounds took fifteen times as long. BLAS has one
number of threads for the whole process. The first Python thread that sets it controls it as long as that thread lives
(threadpoolctl); calls on other threads run with what it has set.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import scipy.linalg  # noqa: F401  (loads the BLAS of SciPy)
from threadpoolctl import ThreadpoolController

# The BLAS of NumPy and of SciPy, which are part of the process; finding them takes milliseconds.
LIBRARIES = ThreadpoolController()


@contextmanager
def blas_threads(threads: int | None = None) -> Iterator[None]:
    """Limit BLAS to so many threads; to one by default."""
    with LIBRARIES.limit(limits=threads or 1, user_api="blas"):
        yield
