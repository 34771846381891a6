"""What every target promises, kept over an emulator of BigQuery by Google's own client."""

from dataclasses import replace

import pytest

from tests.fakes.bigquery_world import BigQueryWorld
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.table import KeyKind
from wrackline.testing.targets.drop_suite import DropSuite
from wrackline.testing.targets.keyless_suite import BAG, KeylessPromises, KeylessWorld, KeyPromises, row
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.modes_suite import AppendPromises, HardDeletePromises
from wrackline.testing.targets.target_suite import TargetSuite, plan_for, put, seq

pytestmark = pytest.mark.full  # each kept in the gate too, by the same statements over DuckDB


class TestBigQuery(TargetSuite):
    """Rows, commits, letters, shapes."""


class TestModes(HardDeletePromises, AppendPromises):
    """Hard deletes, and tables of events."""


class TestKeys(KeyPromises, KeylessPromises):
    """Keys of every kind, and tables without one."""

    def test_a_row_goes_after_a_column_was_added(self, world: KeylessWorld) -> None:
        """The emulator makes of t.* behind windows what the table had at first.  EMULATORS.md: bq-star."""
        with pytest.raises(OperatorNeeded, match=r"bigquery\.refused.*change of shape"):
            super().test_a_row_goes_after_a_column_was_added(world)

    def test_a_key_is_written_as_its_newest_change_has_it(self, world: KeylessWorld) -> None:
        """The emulator leaves a stored -0.0, so the statement is looked at.  EMULATORS.md: bq-zero."""
        assert isinstance(world, BigQueryWorld)
        by_weight = replace(BAG, key=("weight",), key_kind=KeyKind.PRIMARY)
        for number, weight in enumerate((-0.0, 0.0), start=1):
            one = Change((weight,), seq(number), "c", row("x", weight=weight))
            put(world, plan_for(world, number, table=by_weight), one)
        assert len(world.stored(BAG.id)) == 1
        assert [text for text in world.texts if "`weight` = s.c3" in text]


class TestDrops(DropSuite):
    """Tables that go."""
