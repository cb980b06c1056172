"""Training for a picture: small networks, where more threads only cost time and change the last bits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from polymargin.learning.extra import torch_package


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch with a single thread inside the block."""
    torch = torch_package()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
