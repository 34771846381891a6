"""The suite of removals sees: each of these targets breaks one promise, and the named test fails for it."""

from dataclasses import replace

import pytest

from tests.contract.promises import broken, promises
from tests.fakes.target import FakeTarget, Table
from tests.fakes.target_world import FakeTargetWorld
from wrackline.consumers.contract.plan import TableMode
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.drop_suite import DropSuite

ASIDE = "test_a_table_that_is_set_aside_keeps_its_rows_under_another_name"
GOES = "test_a_dropped_table_goes_with_all_that_is_its_own"


class LeavesLetters(FakeTarget):
    def drop(self, table: TableId) -> bool:
        return self._storage.tables.pop(table, None) is not None


class SaysItWentAgain(FakeTarget):
    def drop(self, table: TableId) -> bool:
        super().drop(table)
        return True


class TakesTheNeighboursToo(FakeTarget):
    def drop(self, table: TableId) -> bool:
        there = super().drop(table)
        self._storage.letters.clear()
        return there


class EmptiesIt(FakeTarget):
    """Takes the rows alone: what is applied stays, so the first batches that come again are skipped."""

    def drop(self, table: TableId) -> bool:
        found = self._storage.tables.get(table)
        if found is None:
            return False
        self._storage.tables[table] = Table(found.columns, applied=found.applied, key=found.key)
        return True


class KeepsHistories(FakeTarget):
    def drop(self, table: TableId) -> bool:
        found = self._storage.tables.get(table)
        if found is not None and found.mode is TableMode.HISTORY:
            return True
        return super().drop(table)


class TakesTheRowsWithTheName(FakeTarget):
    def set_aside(self, table: TableId, suffix: str) -> str | None:
        found = self._storage.tables.get(table)
        if found is not None:
            self._storage.tables[table] = replace(found, rows={})
        return super().set_aside(table, suffix)


class WritesOverAnEarlierOne(FakeTarget):
    def set_aside(self, table: TableId, suffix: str) -> str | None:
        self._storage.aside.clear()
        return super().set_aside(table, suffix)


class GoesOnUnderTheOldName(FakeTarget):
    def set_aside(self, table: TableId, suffix: str) -> str | None:
        found = self._storage.tables.get(table)
        name = super().set_aside(table, suffix)
        if found is not None:
            self._storage.tables[table] = found
        return name


BROKEN: list[tuple[type[FakeTarget], str]] = [
    (LeavesLetters, GOES),
    (SaysItWentAgain, GOES),
    (TakesTheNeighboursToo, "test_a_drop_touches_no_other_table"),
    (EmptiesIt, "test_a_dropped_table_may_come_back_and_starts_over"),
    (KeepsHistories, "test_tables_of_every_mode_go"),
    (TakesTheRowsWithTheName, ASIDE),
    (WritesOverAnEarlierOne, ASIDE),
    (GoesOnUnderTheOldName, ASIDE),
]


def test_the_true_fake_breaks_nothing() -> None:
    assert broken(DropSuite, promises(DropSuite), FakeTargetWorld) == set()


@pytest.mark.parametrize(("target", "promise"), BROKEN)
def test_the_suite_catches(target: type[FakeTarget], promise: str) -> None:
    assert broken(DropSuite, [promise], lambda: FakeTargetWorld(target)) == {promise}
