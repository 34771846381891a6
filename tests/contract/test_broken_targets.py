"""The target suite sees: each of these targets breaks one promise, and the named test fails for it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.contract.promises import broken, promises
from tests.fakes.target import FakeTarget, Frame, Storage, Table
from tests.fakes.target_world import FakeTargetWorld
from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.contract.plan import Applied, MergePlan
from wrackline.consumers.contract.target import Alteration, UpkeepResult
from wrackline.schemas.tables.evolution import AddColumn, ChangeType, DropColumn, RenameColumn
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.merge_model import NONE, Latest, Stored
from wrackline.testing.targets.target_suite import TargetSuite


class ChangesFrames(FakeTarget):
    """Changes what it was given before it merges."""

    def stage(self, frame: Frame, plan: MergePlan) -> int:
        table = self._storage.tables[plan.table.id]
        return super().stage(
            {key: self.changed(new, table.rows.get(key)) for key, new in frame.items()}, plan
        )

    def changed(self, new: Latest, stored: Stored | None) -> Latest:
        raise NotImplementedError


class LetsOlderWin(FakeTarget):
    """The last to arrive wins."""

    def apply(self, staged: int, plan: MergePlan) -> None:
        table = self._storage.tables[plan.table.id]
        frame = self._storage.staged[staged]
        reset = {key: replace(row, seq="") if key in frame else row for key, row in table.rows.items()}
        self._storage.tables[plan.table.id] = replace(table, rows=reset)
        super().apply(staged, plan)


class TouchesRowsAgain(FakeTarget):
    """A repeated batch leaves a trace on rows that it does not change."""

    def apply(self, staged: int, plan: MergePlan) -> None:
        super().apply(staged, plan)
        table = self._storage.tables[plan.table.id]
        frame = self._storage.staged.get(staged, {})
        assert not frame
        rows = {key: replace(row, commit_ts=row.commit_ts + 1) for key, row in table.rows.items()}
        self._storage.tables[plan.table.id] = replace(table, rows=rows)


class KeepsDeletedValues(FakeTarget):
    def apply(self, staged: int, plan: MergePlan) -> None:
        before = self._storage.tables[plan.table.id].rows
        super().apply(staged, plan)
        table = self._storage.tables[plan.table.id]
        rows = {
            key: replace(row, values=before[key].values) if row.deleted and key in before else row
            for key, row in table.rows.items()
        }
        self._storage.tables[plan.table.id] = replace(table, rows=rows)


class ForgetsDeletes(FakeTarget):
    """Deletes for good."""

    def apply(self, staged: int, plan: MergePlan) -> None:
        super().apply(staged, plan)
        table = self._storage.tables[plan.table.id]
        rows = {key: row for key, row in table.rows.items() if not row.deleted}
        self._storage.tables[plan.table.id] = replace(table, rows=rows)


class DropsUnknownDeletes(FakeTarget):
    """A delete without a row leaves nothing."""

    def stage(self, frame: Frame, plan: MergePlan) -> int:
        rows = self._storage.tables[plan.table.id].rows
        return super().stage({k: new for k, new in frame.items() if k in rows or not new.deleted}, plan)


class NullsWhatIsUnsent(ChangesFrames):
    def changed(self, new: Latest, stored: Stored | None) -> Latest:
        del stored
        return replace(new, unsent=NONE)


class CallsPartialRowsComplete(ChangesFrames):
    def changed(self, new: Latest, stored: Stored | None) -> Latest:
        return replace(new, missing=NONE, unsent=new.unsent if stored else NONE)


class LendsTheDead(ChangesFrames):
    """A new row takes the unsent value of the row that was deleted before it."""

    def changed(self, new: Latest, stored: Stored | None) -> Latest:
        lent = new.missing | (new.unsent if stored and stored.deleted else NONE)
        if stored is None or new.deleted or not lent:
            return new
        values = {**new.values, **{name: stored.values[name] for name in lent}}
        return replace(new, values=values, missing=NONE, unsent=new.unsent - lent)


class NeverCompletes(FakeTarget):
    """A row once incomplete stays so."""

    def apply(self, staged: int, plan: MergePlan) -> None:
        before = self._storage.tables[plan.table.id].rows
        super().apply(staged, plan)
        table = self._storage.tables[plan.table.id]
        rows = {
            key: replace(row, missing=row.missing | before[key].missing) if key in before else row
            for key, row in table.rows.items()
        }
        self._storage.tables[plan.table.id] = replace(table, rows=rows)


class ForgetsTheFloor(FakeTarget):
    """Each batch knows its own truncate only."""

    def apply(self, staged: int, plan: MergePlan) -> None:
        table = self._storage.tables[plan.table.id]
        self._storage.tables[plan.table.id] = replace(table, applied=replace(table.applied, floor=None))
        super().apply(staged, plan)


class KeepsTruncatedRows(FakeTarget):
    """Ignores truncates."""

    def apply(self, staged: int, plan: MergePlan) -> None:
        super().apply(staged, replace(plan, upto=replace(plan.upto, floor=None)))


def _moved(stored: Applied, given: Applied) -> Applied:
    return replace(stored, offsets={**stored.offsets, **given.offsets})


class CommitsOffsetsFirst(FakeTarget):
    def apply(self, staged: int, plan: MergePlan) -> None:
        table = self._storage.tables[plan.table.id]
        self._storage.tables[plan.table.id] = replace(table, applied=_moved(table.applied, plan.upto))
        super().apply(staged, plan)


class CommitsRowsFirst(FakeTarget):
    """Rows, then offsets, in two commits."""

    def apply(self, staged: int, plan: MergePlan) -> None:
        crash, self._storage.crash = self._storage.crash, None
        before = self._storage.tables[plan.table.id]
        super().apply(staged, plan)
        after = self._storage.tables[plan.table.id]
        self._storage.tables[plan.table.id] = replace(after, applied=before.applied)
        self._storage.crash = crash
        self._storage.reach("before the commit")
        self._storage.tables[plan.table.id] = after
        self._storage.reach("after the commit")


class MovesOffsetsBack(FakeTarget):
    def apply(self, staged: int, plan: MergePlan) -> None:
        super().apply(staged, plan)
        table = self._storage.tables[plan.table.id]
        self._storage.tables[plan.table.id] = replace(table, applied=_moved(table.applied, plan.upto))


class MergesBehindAGap(FakeTarget):
    def apply(self, staged: int, plan: MergePlan) -> None:
        applied = self.applied(plan.table.id)
        gap = not applied.reaches(plan.since)
        super().apply(staged, replace(plan, since=applied) if gap else plan)


class MergesOverAnotherConsumer(FakeTarget):
    def apply(self, staged: int, plan: MergePlan) -> None:
        applied = self.applied(plan.table.id)
        moved_on = applied.reaches(plan.since)
        super().apply(staged, replace(plan, since=applied) if moved_on else plan)


class ForgetsTheTopicsId(FakeTarget):
    def applied(self, table: TableId) -> Applied:
        return replace(super().applied(table), topic_ids={})


class LetsAnOlderChangeTellTheShape(FakeTarget):
    def apply(self, staged: int, plan: MergePlan) -> None:
        super().apply(staged, plan)
        table = self._storage.tables[plan.table.id]
        told = replace(table.applied, newest=plan.upto.newest or table.applied.newest)
        self._storage.tables[plan.table.id] = replace(table, applied=told)


class ForgetsOtherPartitions(FakeTarget):
    def apply(self, staged: int, plan: MergePlan) -> None:
        super().apply(staged, plan)
        table = self._storage.tables[plan.table.id]
        self._storage.tables[plan.table.id] = replace(
            table, applied=replace(table.applied, offsets=plan.upto.offsets)
        )


class CountsInMemory(FakeTarget):
    """Offsets that a restart forgets."""

    def __init__(self, storage: Storage) -> None:
        super().__init__(storage)
        self._applied = Applied()

    def apply(self, staged: int, plan: MergePlan) -> None:
        super().apply(staged, plan)
        self._applied = self._applied.then(plan.upto)

    def applied(self, table: TableId) -> Applied:
        del table
        return self._applied


class ShowsWhatIsStaged(FakeTarget):
    def stage(self, frame: Frame, plan: MergePlan) -> int:
        staged = super().stage(frame, plan)
        applied = self._storage.tables[plan.table.id].applied
        super().apply(staged, replace(plan, upto=Applied()))
        self._storage.staged[staged] = frame
        assert self._storage.tables[plan.table.id].applied == applied
        return staged


class CreatesAnew(FakeTarget):
    """An ensure that empties what is there."""

    def ensure_table(self, plan: MergePlan) -> None:
        self._storage.tables[plan.table.id] = Table(plan.columns)


class RenamesByDropping(FakeTarget):
    """Knows columns by name: a renamed one is dropped and another added."""

    def alter(self, plan: MergePlan, changes: Sequence[Alteration]) -> None:
        made: list[Alteration] = []
        for change in changes:
            if isinstance(change, RenameColumn):
                column = next(c for c in plan.table.columns if c.identity == change.identity)
                super().alter(plan, [DropColumn(column)])
                made.append(AddColumn(column, 0))
            else:
                made.append(change)
        super().alter(plan, made)


class RenamesInTurn(FakeTarget):
    """Renames one after the other, over a name that is still taken."""

    def alter(self, plan: MergePlan, changes: Sequence[Alteration]) -> None:
        for change in changes:
            if isinstance(change, RenameColumn):
                self._overwrite(plan.table.id, change.old, change.new)
        super().alter(plan, changes)

    def _overwrite(self, table_id: TableId, old: str, new: str) -> None:
        table = self._storage.tables[table_id]
        rows = {
            key: replace(row, values={**row.values, new: row.values[old]}) for key, row in table.rows.items()
        }
        self._storage.tables[table_id] = replace(table, rows=rows)


class KeepsDroppedValues(FakeTarget):
    """Drops a column in the list of columns alone; one of the same name finds the old values."""

    def alter(self, plan: MergePlan, changes: Sequence[Alteration]) -> None:
        table = self._storage.tables[plan.table.id]
        super().alter(plan, changes)
        after = self._storage.tables[plan.table.id]
        rows = {
            key: replace(row, values={**row.values, **table.rows[key].values})
            for key, row in after.rows.items()
        }
        self._storage.tables[plan.table.id] = replace(after, rows=rows)


class AddsTwice(FakeTarget):
    def alter(self, plan: MergePlan, changes: Sequence[Alteration]) -> None:
        assert changes
        table = self._storage.tables[plan.table.id]
        self._storage.tables[plan.table.id] = replace(table, columns=(*table.columns, plan.columns[-1]))


class ForgetsTypes(FakeTarget):
    """Takes a wider type and starts its column over."""

    def alter(self, plan: MergePlan, changes: Sequence[Alteration]) -> None:
        super().alter(plan, changes)
        emptied = {change.name for change in changes if isinstance(change, ChangeType)}
        table = self._storage.tables[plan.table.id]
        rows = {
            key: replace(row, values={**row.values, **dict.fromkeys(emptied)})
            for key, row in table.rows.items()
        }
        self._storage.tables[plan.table.id] = replace(table, rows=rows)


class ClaimsCase(FakeTarget):
    """Says that it distinguishes names by more than it stores of them."""

    can = replace(FakeTarget.can, identifiers=Identifiers(most_characters=400))

    def apply(self, staged: int, plan: MergePlan) -> None:
        super().apply(staged, plan)
        table = self._storage.tables[plan.table.id]
        rows = {
            key: replace(row, values={name[:30]: value for name, value in row.values.items()})
            for key, row in table.rows.items()
        }
        self._storage.tables[plan.table.id] = replace(table, rows=rows)


class ForgetsAllTombstones(FakeTarget):
    def upkeep(self, table: TableId, *, forget_before_ms: int) -> UpkeepResult:
        return super().upkeep(table, forget_before_ms=forget_before_ms * 1000)


class CountsHiddenRowsAsWhole(FakeTarget):
    def upkeep(self, table: TableId, *, forget_before_ms: int) -> UpkeepResult:
        return replace(super().upkeep(table, forget_before_ms=forget_before_ms), incomplete=0)


class ReadsInTheOrderOfNames(FakeTarget):
    def read(self, table: TableId) -> Sequence[Sequence[object]]:
        names = [one.target for one in self.held(table) or ()]
        order = sorted(range(len(names)), key=names.__getitem__)
        return [[row[at] for at in order] for row in super().read(table)]


class ReadsDeletedRows(FakeTarget):
    def read(self, table: TableId) -> Sequence[Sequence[object]]:
        found = self._storage.tables.get(table)
        return [] if found is None else [list(row.values.values()) for row in found.rows.values()]


class ReadsRoundedValues(FakeTarget):
    def read(self, table: TableId) -> Sequence[Sequence[object]]:
        rows = super().read(table)
        return [[round(cell, 6) if isinstance(cell, float) else cell or None for cell in row] for row in rows]


BROKEN: list[tuple[type[FakeTarget], str]] = [
    (ReadsInTheOrderOfNames, "test_rows_are_read_as_they_were_merged"),
    (ReadsDeletedRows, "test_rows_are_read_as_they_were_merged"),
    (ReadsRoundedValues, "test_rows_are_read_as_they_were_merged"),
    (LetsOlderWin, "test_an_older_change_never_wins"),
    (TouchesRowsAgain, "test_a_batch_twice_is_a_batch_once"),
    (KeepsDeletedValues, "test_a_delete_takes_the_values_along"),
    (ForgetsDeletes, "test_a_delete_keeps_its_seq"),
    (DropsUnknownDeletes, "test_a_delete_keeps_its_seq"),
    (NullsWhatIsUnsent, "test_a_partial_update_keeps_what_is_stored"),
    (CallsPartialRowsComplete, "test_a_partial_insert_is_incomplete_until_a_full_image"),
    (NeverCompletes, "test_a_partial_insert_is_incomplete_until_a_full_image"),
    (LendsTheDead, "test_a_new_row_takes_nothing_of_an_old_one"),
    (ForgetsTheFloor, "test_a_truncate_is_a_floor"),
    (KeepsTruncatedRows, "test_a_truncate_is_a_floor"),
    (CommitsOffsetsFirst, "test_a_crash_leaves_all_of_a_batch_or_nothing"),
    (CommitsRowsFirst, "test_a_crash_leaves_all_of_a_batch_or_nothing"),
    (MovesOffsetsBack, "test_applied_offsets_are_those_of_the_commits"),
    (MergesBehindAGap, "test_a_batch_is_refused_where_what_it_follows_is_gone"),
    (MergesOverAnotherConsumer, "test_a_batch_is_refused_where_another_consumer_went_further"),
    (ForgetsTheTopicsId, "test_a_topic_is_known_by_its_id"),
    (LetsAnOlderChangeTellTheShape, "test_applied_offsets_are_those_of_the_commits"),
    (ForgetsOtherPartitions, "test_applied_offsets_are_those_of_the_commits"),
    (CountsInMemory, "test_applied_offsets_are_those_of_the_commits"),
    (ShowsWhatIsStaged, "test_what_is_staged_is_not_seen"),
    (CreatesAnew, "test_a_table_is_created_once"),
    (RenamesByDropping, "test_a_renamed_column_keeps_its_values"),
    (RenamesInTurn, "test_a_renamed_column_keeps_its_values"),
    (KeepsDroppedValues, "test_a_column_that_comes_again_is_another"),
    (AddsTwice, "test_an_added_column_is_null_in_old_rows"),
    (ForgetsTypes, "test_a_widened_column_keeps_its_values"),
    (ClaimsCase, "test_names_are_mapped_and_collisions_refused"),
    (ForgetsAllTombstones, "test_upkeep_forgets_only_old_tombstones_and_counts_incomplete_rows"),
    (CountsHiddenRowsAsWhole, "test_upkeep_forgets_only_old_tombstones_and_counts_incomplete_rows"),
]


def test_the_true_fake_breaks_nothing() -> None:
    assert broken(TargetSuite, promises(TargetSuite), FakeTargetWorld) == set()


@pytest.mark.parametrize(("target", "promise"), BROKEN)
def test_the_suite_catches(target: type[FakeTarget], promise: str) -> None:
    assert broken(TargetSuite, [promise], lambda: FakeTargetWorld(target)) == {promise}
