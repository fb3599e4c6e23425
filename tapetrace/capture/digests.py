"""Values known again by their bytes: a number that left TensorFlow and one that came back."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np


def digest_of(values: Any) -> bytes:
    """Equal for two arrays of the same numbers in the same dtype, whatever their shape."""
    array = np.asarray(values)
    if array.dtype.hasobject:  # strings
        return blake2b(repr(array.tolist()).encode(), digest_size=16).digest()
    numbers: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return blake2b(numbers, digest_size=16, key=array.dtype.name.encode()).digest()


def is_telling(values: Any) -> bool:
    """Whether a float array of these values is hardly met by chance: more than a round number such as 0, 1 or 0.5."""
    array = np.asarray(values)
    scaled = array.reshape(-1)[:64].astype(np.float64) * 64.0
    return bool(np.any(scaled != np.rint(scaled)))
