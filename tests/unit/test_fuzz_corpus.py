"""The inputs that fuzzing has kept: each ends in a value or in an error with a code; and what asan runs."""

import tracemalloc

import pytest

from tests.fuzz.sanitized import FILES, FOLDERS, ROOT, TESTS
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


def test_each_path_that_is_tested_with_checks_of_memory_is_there() -> None:
    """A list that named a missing one would end the command only after its long build."""
    assert [path for path in (*TESTS, *FILES, *FOLDERS) if not (ROOT / path).exists()] == []
