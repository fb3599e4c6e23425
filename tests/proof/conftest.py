"""What the first check of a process makes is made before a test compares the process before and after."""

from __future__ import annotations

import pytest

import tapetrace
from tests.proof.ways import OTHER_WAYS, WAYS


@pytest.fixture(scope="session")
def made_on_first_use() -> None:
    from tests.proof.hostile_steps import X, healthy  # brings in TensorFlow, which the tests of files do without

    for options in (*WAYS.values(), *OTHER_WAYS.values()):
        tapetrace.check(healthy, X, **options)
