"""What the gate runs of the target contract on Delta: what Delta does in its own code. Iceberg runs all."""

import pytest

GATE = {
    "test_changes_become_rows",
    "test_a_batch_twice_is_a_batch_once",
    "test_applied_offsets_are_those_of_the_commits",
    "test_a_batch_is_refused_where_what_it_follows_is_gone",
    "test_a_batch_is_refused_where_another_consumer_went_further",
    "test_what_is_staged_is_not_seen",
    "test_a_crash_leaves_all_of_a_batch_or_nothing",
    "test_upkeep_forgets_only_old_tombstones_and_counts_incomplete_rows",
    "test_letters_are_kept_as_they_are",
    "test_an_added_column_is_null_in_old_rows",
    "test_a_renamed_column_keeps_its_values",
    "test_a_widened_column_keeps_its_values",
    "test_names_are_mapped_and_collisions_refused",
    "test_a_dropped_table_goes_with_all_that_is_its_own",
}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave the rest of the contract to --full."""
    if "TestDelta" in item.nodeid and item.name not in GATE:
        item.add_marker("full")
