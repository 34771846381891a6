"""The inputs that fuzzing has kept: each ends in a value or in an error with a code."""

import tracemalloc

import pytest

from tests.fuzz.targets import TARGETS, hold, kept

_MOST_MEMORY = 64 << 20


@pytest.mark.parametrize("name", TARGETS)
def test_what_was_kept_holds(name: str) -> None:
    inputs = kept(name)
    assert inputs
    tracemalloc.start()
    try:
        for data in inputs:
            hold(name, data)
        assert tracemalloc.get_traced_memory()[1] < _MOST_MEMORY
    finally:
        tracemalloc.stop()
