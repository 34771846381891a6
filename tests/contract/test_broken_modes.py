"""The suite of the other modes sees: each of these targets breaks one promise, and its test fails for it."""

from dataclasses import replace

import pytest

from tests.contract.promises import broken, promises
from tests.fakes.target import FakeTarget, Frame, Table
from tests.fakes.target_world import FakeTargetWorld
from wrackline.consumers.contract.plan import Deletes, MergePlan, TableMode
from wrackline.consumers.contract.target import UpkeepResult
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.history_model import TRUNCATE
from wrackline.testing.targets.merge_model import NONE, Key, Rows, Stored, forget
from wrackline.testing.targets.modes_suite import ModesSuite


class Spoils(FakeTarget):
    """Does something to the rows behind each merge."""

    def apply(self, staged: int, plan: MergePlan) -> None:
        super().apply(staged, plan)
        table = self._storage.tables[plan.table.id]
        self._storage.tables[plan.table.id] = replace(table, rows=self.spoilt(table))

    def spoilt(self, table: Table) -> Rows:
        raise NotImplementedError


class ForgetsTruncates(Spoils):
    def spoilt(self, table: Table) -> Rows:
        return {key: row for key, row in table.rows.items() if row.op != TRUNCATE}


class KnowsTheNewestTruncateAlone(Spoils):
    def spoilt(self, table: Table) -> Rows:
        newest = max((row.seq for row in table.rows.values() if row.op == TRUNCATE), default="")
        return {key: row for key, row in table.rows.items() if row.op != TRUNCATE or row.seq == newest}


class KeepsTheNewestOfAKey(Spoils):
    """An event takes the place of its key's older ones."""

    def spoilt(self, table: Table) -> Rows:
        kept: dict[Key, tuple[Key, Stored]] = {}
        for key, row in sorted(table.rows.items(), key=lambda pair: pair[1].seq):
            kept[row.values.get("shop"), row.values.get("number")] = (key, row)
        return dict(kept.values())


class ForgetsDeletes(Spoils):
    def spoilt(self, table: Table) -> Rows:
        return {key: row for key, row in table.rows.items() if not row.deleted}


class TakesWhatIsReadForAChange(Spoils):
    def spoilt(self, table: Table) -> Rows:
        return {
            key: replace(row, values={**row.values, "big": row.seq}) if row.op == "r" else row
            for key, row in table.rows.items()
        }


class TakesUnsentForNull(Spoils):
    def spoilt(self, table: Table) -> Rows:
        return {key: replace(row, missing=NONE) for key, row in table.rows.items()}


class WatchesEveryColumn(FakeTarget):
    def apply(self, staged: int, plan: MergePlan) -> None:
        super().apply(staged, replace(plan, tracked=None))


class VacuumsEveryMode(FakeTarget):
    def upkeep(self, table: TableId, *, forget_before_ms: int) -> UpkeepResult:
        found = self._storage.tables[table]
        self._storage.tables[table] = replace(found, rows=forget(found.rows, forget_before_ms))
        return UpkeepResult()


class TakesAnyMode(FakeTarget):
    def ensure_table(self, plan: MergePlan) -> None:
        if plan.table.id not in self._storage.tables:
            super().ensure_table(plan)


class TellsChunksRowsBySeqAlone(FakeTarget):
    """Lets the rows of one chunk fall together."""

    def stage(self, frame: Frame, plan: MergePlan) -> int:
        return super().stage({(row.seq + row.op,): row for row in frame.values()}, plan)


class LeavesTombstones(FakeTarget):
    def apply(self, staged: int, plan: MergePlan) -> None:
        super().apply(staged, replace(plan, deletes=Deletes.SOFT))


class DeletesWhatIsNewer(FakeTarget):
    def apply(self, staged: int, plan: MergePlan) -> None:
        gone = {key for key, row in self._storage.staged[staged].items() if row.deleted}
        super().apply(staged, plan)
        table = self._storage.tables[plan.table.id]
        if plan.mode is TableMode.UPSERT:
            rows = {key: row for key, row in table.rows.items() if key not in gone}
            self._storage.tables[plan.table.id] = replace(table, rows=rows)


BROKEN: list[tuple[type[FakeTarget], str]] = [
    (ForgetsTruncates, "test_a_truncate_ends_what_lived"),
    (ForgetsTruncates, "test_every_event_is_a_row"),
    (KnowsTheNewestTruncateAlone, "test_a_truncate_ends_what_lived"),
    (KeepsTheNewestOfAKey, "test_a_version_is_valid_until_the_next"),
    (KeepsTheNewestOfAKey, "test_any_order_and_cut_gives_the_same_history"),
    (KeepsTheNewestOfAKey, "test_every_event_is_a_row"),
    (ForgetsDeletes, "test_a_version_is_valid_until_the_next"),
    (TakesWhatIsReadForAChange, "test_what_is_read_again_is_no_new_version"),
    (TakesUnsentForNull, "test_what_was_not_sent_comes_from_the_event_before"),
    (TakesUnsentForNull, "test_columns_of_a_history_come_and_change_their_names"),
    (WatchesEveryColumn, "test_untracked_columns_begin_no_version"),
    (VacuumsEveryMode, "test_a_history_is_never_forgotten"),
    (VacuumsEveryMode, "test_every_event_is_a_row"),
    (TakesAnyMode, "test_a_table_of_another_mode_is_refused"),
    (TellsChunksRowsBySeqAlone, "test_every_event_is_a_row"),
    (LeavesTombstones, "test_a_hard_delete_leaves_nothing"),
    (DeletesWhatIsNewer, "test_a_hard_delete_leaves_nothing"),
]


def test_the_true_fake_breaks_nothing() -> None:
    assert broken(ModesSuite, promises(ModesSuite), FakeTargetWorld) == set()


@pytest.mark.parametrize(("target", "promise"), BROKEN)
def test_the_suite_catches(target: type[FakeTarget], promise: str) -> None:
    assert broken(ModesSuite, [promise], lambda: FakeTargetWorld(target)) == {promise}
