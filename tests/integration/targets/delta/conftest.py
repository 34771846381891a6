"""What the gate runs of the target contract on Delta: what Delta does in its own code."""

import pytest

GATE = {
    "test_applied_offsets_are_those_of_the_commits",
    "test_a_batch_is_refused_where_another_consumer_went_further",
    "test_a_crash_leaves_all_of_a_batch_or_nothing",
    "test_a_renamed_column_keeps_its_values",
    "test_a_dropped_table_goes_with_all_that_is_its_own",
}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave the rest of the contract to --full."""
    if "TestDelta" in item.nodeid and item.name not in GATE:
        item.add_marker("full")
