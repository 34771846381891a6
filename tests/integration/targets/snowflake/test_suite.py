"""What every target promises, kept over an emulator of Snowflake by its own driver."""

import pytest

from wrackline.testing.targets.drop_suite import DropSuite
from wrackline.testing.targets.keyless_suite import KeylessPromises, KeyPromises
from wrackline.testing.targets.modes_suite import AppendPromises, HardDeletePromises
from wrackline.testing.targets.target_suite import TargetSuite

pytestmark = pytest.mark.full  # each kept in the gate too, by the same statements over DuckDB


class TestSnowflake(TargetSuite):
    """Rows, commits, letters, shapes."""


class TestModes(HardDeletePromises, AppendPromises):
    """Hard deletes, and tables of events."""


class TestKeys(KeylessPromises):
    """Keys of every kind, and tables without one; one promise is left out.  EMULATORS.md: sf-zero."""

    test_another_key = KeyPromises.test_a_table_with_another_key_starts_over
    test_comes_again = KeyPromises.test_a_key_may_go_and_come_again
    test_same_place = KeyPromises.test_what_was_made_at_the_place_of_its_delete_lives


class TestDrops(DropSuite):
    """Tables that go."""
