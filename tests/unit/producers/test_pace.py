"""Waits between tries: none at first, then longer, never longer than the longest."""

from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.task.task_limits import TaskLimits


@given(st.integers(2, 1000), st.floats(0, 1, exclude_max=True), st.floats(0.01, 100))
def test_waits_grow_to_the_longest(tries: int, chance: float, longest: float) -> None:
    limits = TaskLimits(longest_wait=longest)
    assert limits.wait_before(1, chance) == 0.0
    wait = limits.wait_before(tries, chance)
    assert 0 < wait <= longest
    assert wait <= limits.wait_before(tries + 1, chance)
