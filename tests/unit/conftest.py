"""The pure tests stay pure: one that brings in TensorFlow or Keras fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_tensorflow() -> Iterator[None]:
    before = {"tensorflow", "keras"} & set(sys.modules)
    yield
    assert {"tensorflow", "keras"} & set(sys.modules) == before, "a pure test imported TensorFlow or Keras"
