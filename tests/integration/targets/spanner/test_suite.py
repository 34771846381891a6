"""Every promise of the contract over Google's emulator, by Google's own client."""

import pytest

from wrackline.testing.targets.drop_suite import DropSuite
from wrackline.testing.targets.keyless_suite import KeylessPromises, KeyPromises
from wrackline.testing.targets.modes_suite import ModesSuite
from wrackline.testing.targets.target_suite import TargetSuite

pytestmark = pytest.mark.full  # the gate has the rows as mutations, and what is Spanner's alone


class TestSpanner(TargetSuite):
    """Rows, commits, letters and shapes."""


class TestModes(ModesSuite):
    """Histories, hard deletes, and tables of events."""


class TestKeys(KeylessPromises, KeyPromises):
    """Keys of every kind, and tables without one."""


class TestDrops(DropSuite):
    """Tables that go."""
