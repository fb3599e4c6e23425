"""The garbage collector is left as it was found."""

from __future__ import annotations

import gc

import pytest

from tapetrace.capture.garbage import without_collections


def test_collections_pause_inside_and_go_on_afterwards() -> None:
    with without_collections():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_they_go_on_after_an_error() -> None:
    with pytest.raises(KeyError), without_collections():
        raise KeyError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with without_collections():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
