"""How often cycles are looked for while a task runs, and that it is as before afterwards."""

import gc

from wrackline.producers.task.memory_tuning import collect_rarely


def test_it_is_seldom_inside_and_as_before_outside() -> None:
    before, runs = gc.get_threshold(), gc.get_stats()[0]["collections"]
    with collect_rarely():
        rows = [(number, "c", b"key", b"value", None) for number in range(50_000)]
        assert gc.get_stats()[0]["collections"] == runs
        assert gc.get_freeze_count() > 0
    assert len(rows) == 50_000
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
