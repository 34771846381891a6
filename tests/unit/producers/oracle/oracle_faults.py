"""Faults that others had, or that are near, planted into the product; and whether a history shows them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.unit.producers.oracle.model_reader import ModelReader, wanted
from tests.unit.producers.oracle.redo_model import RedoModel
from wrackline.producers.sources.oracle.mining.mined_row import (
    COMMIT,
    DELETE,
    INSERT,
    LOB_PARTS,
    UPDATE,
    MinedRow,
)
from wrackline.producers.sources.oracle.mining.position import (
    MinedWindow,
    OraclePosition,
    RedoRowPlace,
    last_at,
)
from wrackline.producers.sources.oracle.transactions.change_stack import ChangeStack, StackPlace
from wrackline.producers.sources.oracle.transactions.mined_change import MinedChange
from wrackline.producers.sources.oracle.transactions.open_transaction import OpenTransaction
from wrackline.producers.sources.oracle.transactions.slot_index import lacks_sequence
from wrackline.producers.sources.oracle.transactions.spill_file import SpillFile
from wrackline.producers.sources.oracle.transactions.transaction_buffer import (
    CommittedTransaction,
    TransactionBuffer,
)
from wrackline.schemas.errors import WracklineError

Plant = Callable[[pytest.MonkeyPatch], type[ModelReader]]
FAULTS: dict[str, Plant] = {}


def is_caught(seed: int, folder: Path, reader_of: type[ModelReader] = ModelReader) -> bool:
    """Whether the history of a seed comes out wrong."""
    model = RedoModel(Random(seed))
    model.write(80)
    reader = reader_of(model, Random(seed + 1), folder)
    try:
        return reader.read() != list(wanted(model))
    except (AssertionError, WracklineError, KeyError):
        return True


def planted(plant: Plant) -> Plant:
    FAULTS[plant.__name__] = plant
    return plant


def replaced(owner: object, attribute: str, wrong: object) -> Plant:
    def plant(monkeypatch: pytest.MonkeyPatch) -> type[ModelReader]:
        monkeypatch.setattr(owner, attribute, wrong)
        return ModelReader

    return plant


def with_reader(**methods: Any) -> Plant:
    return lambda _: type("FaultyReader", (ModelReader,), methods)


# which range


def closed_below(self: RedoModel, random: Random, after: int, upto: int, *rest: Any) -> Iterator[MinedRow]:
    return MINE(self, random, after - 1, upto, *rest)


def open_above(self: RedoModel, random: Random, after: int, upto: int, *rest: Any) -> Iterator[MinedRow]:
    return MINE(self, random, after, upto - 1, *rest)


MINE = RedoModel.mine
FAULTS["the_first_scn_twice"] = replaced(RedoModel, "mine", closed_below)
FAULTS["the_last_scn_left_out"] = replaced(RedoModel, "mine", open_above)
FAULTS["what_is_current_is_safe"] = with_reader(safe=lambda _, before: max(before.values()) + 4)
FAULTS["what_one_thread_has_written_is_safe"] = with_reader(safe=lambda _, before: max(before.values()))


# resuming


def from_done(self: ModelReader) -> OraclePosition:
    found = MODEL_RESUME(self)
    return found.mined(MinedWindow(found.done.scn + 1, found.seen, 0, found.done))


def without_cut(self: ModelReader) -> OraclePosition:
    """The cut is forgotten: what was out comes again."""
    found = MODEL_RESUME(self)
    return OraclePosition(1, found.done, oldest=found.oldest, seen=found.seen, done=found.done)


def whole_scn(self: ModelReader) -> OraclePosition:
    """A transaction with the SCN of another's commit is taken for one that is out."""
    found = MODEL_RESUME(self)
    if found.cut is not None:
        return found
    done = last_at(found.done.scn)
    return OraclePosition(1, done, oldest=found.oldest, seen=found.seen, done=done)


MODEL_RESUME = ModelReader.resume
FAULTS["resume_from_done"] = with_reader(resume=from_done)
FAULTS["resume_without_the_cut"] = with_reader(resume=without_cut)
FAULTS["one_transaction_per_scn"] = with_reader(resume=whole_scn)


@planted
def what_left_nothing_is_not_done(monkeypatch: pytest.MonkeyPatch) -> type[ModelReader]:
    """A transaction that took all back is mined again after a stop, without its beginning."""
    drop = TransactionBuffer._drop

    def only_published(self: TransactionBuffer) -> None:
        done, transaction = self._done, self._open[self._ended[0][1]]
        out = transaction.end is not None and transaction.end.commits and not transaction.is_empty
        drop(self)
        self._done = self._done if out else done

    monkeypatch.setattr(TransactionBuffer, "_drop", only_published)
    return ModelReader


# order and hold


def without_hold(self: TransactionBuffer) -> CommittedTransaction | None:
    while self._ended:
        place, key = self._ended[0]
        transaction = self._open[key]
        end = transaction.end
        if end is not None and end.commits and place > self._done and not transaction.is_empty:
            cut = self._cut
            if cut is not None and cut[:3] == (*key, place):
                return CommittedTransaction(transaction, end, self._cut_rows, cut.last)
            return CommittedTransaction(transaction, end)
        self._drop()
    return None


def holds_lower_alone(self: TransactionBuffer) -> int:
    """A commit goes out as soon as its own SCN was seen in every thread."""
    return min(self._seen.values())


FAULTS["no_hold"] = replaced(TransactionBuffer, "next_commit", without_hold)
FAULTS["equal_scns_are_not_held"] = replaced(TransactionBuffer, "after", property(holds_lower_alone))


@planted
def rolled_back_is_published(monkeypatch: pytest.MonkeyPatch) -> type[ModelReader]:
    """As far as rows of it are left: no undo, no rollback."""
    real = TransactionBuffer._set_end
    monkeypatch.setattr(
        TransactionBuffer, "_set_end", lambda self, one, row: real(self, one, row._replace(operation=COMMIT))
    )
    monkeypatch.setattr(OpenTransaction, "_undo", lambda *_: None)
    return ModelReader


@planted
def one_container(monkeypatch: pytest.MonkeyPatch) -> type[ModelReader]:
    take = TransactionBuffer._key

    def key(self: TransactionBuffer, row: MinedRow) -> Any:
        found = take(self, row)
        return None if found is None else (0, found[1])

    monkeypatch.setattr(TransactionBuffer, "_key", key)
    return ModelReader


@planted
def a_slot_names_nobody(monkeypatch: pytest.MonkeyPatch) -> type[ModelReader]:
    def key(_: TransactionBuffer, row: MinedRow) -> Any:
        return None if lacks_sequence(row.xid) else (row.container, row.xid)

    monkeypatch.setattr(TransactionBuffer, "_key", key)
    return ModelReader


@planted
def rows_of_one_record_are_one(monkeypatch: pytest.MonkeyPatch) -> type[ModelReader]:
    """(RS_ID, SSN) is taken for a row's name."""
    take = ChangeStack.take

    def once(self: ChangeStack, row: MinedRow) -> bool:
        last = self._memory[-1].rows[-1] if self._memory else None
        if last is not None and (last.rs_id, last.ssn) == (row.rs_id, row.ssn):
            return True
        return take(self, row)

    monkeypatch.setattr(ChangeStack, "take", once)
    return ModelReader


# rollbacks to savepoints


@planted
def undo_the_latest(monkeypatch: pytest.MonkeyPatch) -> type[ModelReader]:
    """The latest change of the row, also if it was taken back already (DBZ-9074)."""
    gone: list[MinedChange] = []

    def remove(_: ChangeStack, place: StackPlace) -> None:
        gone.append(place.change)

    changes = ChangeStack.changes

    def left(self: ChangeStack) -> Iterator[MinedChange]:
        return (change for change in changes(self) if not any(change is one for one in gone))

    monkeypatch.setattr(ChangeStack, "remove", remove)
    monkeypatch.setattr(ChangeStack, "changes", left)
    monkeypatch.setattr(ChangeStack, "spill", lambda _: None)
    return ModelReader


@planted
def undo_all_of_the_row(monkeypatch: pytest.MonkeyPatch) -> type[ModelReader]:
    """Every change of the row is taken back (DBZ-5907)."""
    remove = ChangeStack.remove

    def all_of_it(self: ChangeStack, place: StackPlace) -> None:
        remove(self, place)
        while (other := self.newest(place.change.row_id, place.change.table)) is not None:
            if other.change.unclosed:
                break
            remove(self, other)

    monkeypatch.setattr(ChangeStack, "remove", all_of_it)
    return ModelReader


@planted
def a_lob_row_is_undone_alone(monkeypatch: pytest.MonkeyPatch) -> type[ModelReader]:
    """Only the row with the ROW_ID is taken back, not the statement's others (dbz#1960)."""
    take = ChangeStack.take

    def apart(self: ChangeStack, row: MinedRow) -> bool:
        if row.operation in LOB_PARTS or row.operation not in {INSERT, UPDATE, DELETE}:
            return take(self, row)
        self._push(MinedChange(row.operation, row.row_id, unclosed=False, rows=[row]), row)
        return True

    monkeypatch.setattr(ChangeStack, "take", apart)
    return ModelReader


FAULTS["undo_is_ignored"] = replaced(OpenTransaction, "_undo", lambda *_: None)
FAULTS["what_was_spilled_stays"] = replaced(SpillFile, "drop", lambda *_: None)


# memory


def evict(self: ChangeStack) -> None:
    self._memory, self.size = self._memory[-1:], 0


def half(self: SpillFile, number: int) -> list[tuple[int, MinedChange]]:
    return READ(self, number)[1:]


READ = SpillFile.read
FAULTS["changes_are_evicted"] = replaced(ChangeStack, "spill", evict)
FAULTS["a_segment_lacks_its_first"] = replaced(SpillFile, "read", half)
FAULTS["threads_are_not_merged"] = replaced(
    OpenTransaction,
    "rows",
    lambda self: (
        (RedoRowPlace(row.scn, row.thread, row.rba, number), row)
        for stack in self._stacks.values()
        for one in stack.changes()
        for number, row in enumerate(one.named_rows(), start=1)
    ),
)
