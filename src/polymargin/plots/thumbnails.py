"""Inputs that are images, as small PNG files: the image itself, and a difference in red and blue on nothing.

The difference is transparent where nothing changes, so that it can be seen on a light and on a dark page.
"""

from __future__ import annotations

import math
from base64 import b64encode
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.errors import InputError, MissingExtraError

Array = NDArray[np.float64]
# (h, w), (h, w, 3) or (3, h, w)
Shape = tuple[int, ...]

# Smaller squares are tables rather than images.
SMALLEST_SIDE = 8
UP, DOWN = (200, 30, 30), (40, 90, 210)


def guessed_shape(inputs: int) -> Shape | None:
    """Return a square grey image, or a square one with three channels first; None for other numbers of inputs.

    >>> guessed_shape(784), guessed_shape(3072), guessed_shape(30), guessed_shape(16)
    ((28, 28), (3, 32, 32), None, None)
    """
    side, third = math.isqrt(inputs), math.isqrt(inputs // 3)
    if side * side == inputs and side >= SMALLEST_SIDE:
        return (side, side)
    return (3, third, third) if 3 * third * third == inputs and third >= SMALLEST_SIDE else None


def checked_shape(shape: Any, inputs: int) -> Shape:
    """Return a shape that is an image of so many inputs; refuse others."""
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else ()
    whole = all(isinstance(size, (int, np.integer)) and size > 0 for size in sizes)
    if not whole or len(sizes) not in (2, 3) or math.prod(sizes) != inputs or (len(sizes) == 3 and 3 not in sizes[::2]):
        raise InputError(
            f"image shape {shape!r} for {inputs} inputs: expected (h, w), (h, w, 3) or (3, h, w) with that product"
        )
    return tuple(int(size) for size in sizes)


def image_shape_of(points: Array, given: Any) -> Shape | None:
    """Return the image shape of points (m, …): as `given` ("none": no images), their own shape, or a square."""
    inputs = int(np.prod(points.shape[1:]))
    if isinstance(given, str):
        if given != "none":
            raise InputError(f"image_shape={given!r}: expected a shape such as (28, 28), or 'none'")
        return None
    if given is not None:
        return checked_shape(given, inputs)
    if points.ndim > 2:
        own = points.shape[1:]
        return checked_shape(own[1:] if len(own) == 3 and own[0] == 1 else own, inputs)
    return guessed_shape(inputs)


def pixels(values: ArrayLike, shape: Shape) -> Array:
    """Return flat values as (h, w) or (h, w, 3), channels last."""
    array = np.reshape(np.asarray(values, dtype=np.float64), shape)
    return np.moveaxis(array, 0, 2) if array.ndim == 3 and array.shape[2] != 3 else array


def image_range(points: ArrayLike) -> tuple[float, float]:
    """Return the values of black and white: 0 and 1, or 0 and 255, if the data stay within; otherwise their extremes."""
    array = np.asarray(points, dtype=np.float64)
    finite = array[np.isfinite(array)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    for top in (1.0, 255.0):
        if low >= 0.0 and top / 4 < high <= top:
            return 0.0, top
    return (low, high) if high > low else (low, low + 1.0)


def image_png(values: ArrayLike, shape: Shape, limits: tuple[float, float]) -> bytes:
    """Return a PNG of the image with `limits` as black and white; other values are clipped."""
    low, high = limits
    share = np.clip((pixels(values, shape) - low) / (high - low), 0.0, 1.0)
    return png_bytes(np.rint(255 * np.nan_to_num(share)).astype(np.uint8))


def difference_png(change: ArrayLike, shape: Shape) -> bytes:
    """Return a PNG, red where the value grows, blue where it falls, relative to the largest change."""
    array = pixels(change, shape)
    grey = array if array.ndim == 2 else array.mean(axis=2)
    strength = np.abs(grey) / (float(np.abs(grey).max()) or 1.0)
    colour = np.where((grey >= 0)[..., None], UP, DOWN).astype(np.uint8)
    return png_bytes(np.dstack([colour, np.rint(255 * strength).astype(np.uint8)]))


def data_address(png: bytes) -> str:
    """Return the picture as a data address."""
    return "data:image/png;base64," + b64encode(png).decode("ascii")


def png_bytes(array: NDArray[np.uint8]) -> bytes:
    """Return a PNG file of grey, RGB or RGBA pixels."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError("images need Pillow; install it with: pip install 'polymargin[plot]'") from None
    buffer = BytesIO()
    Image.fromarray(array).save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()
