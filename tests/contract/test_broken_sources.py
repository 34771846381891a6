"""The source suite sees: each of these sources breaks one promise, and the named test fails for it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.contract.promises import broken, promises
from tests.fakes.database import Database, Entry, RowLogged, Transaction
from tests.fakes.place import Place
from tests.fakes.source import FakeReader, FakeSource, FenceMark
from tests.fakes.source_world import Clock, FakeSourceWorld
from tests.fakes.stream import FakeStream
from tests.fakes.whole import FakeWhole
from wrackline.producers.contract.row_chunks import Chunk, ChunkRequest, Mark, TailOf
from wrackline.producers.contract.source_plugin import Edge, MarkKind, Surroundings
from wrackline.producers.contract.steps import (
    Batch,
    Commit,
    Position,
    Progress,
    RowChange,
    Rows,
    Saved,
    Shape,
    Step,
    Truncate,
)
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema
from wrackline.testing.sources.source_suite import SourceSuite


class Waits(FakeStream):
    """Waits for a change instead of for the deadline."""

    def poll(self, deadline: float) -> Batch | None:
        batch = super().poll(deadline)
        clock = self._around.monotonic
        if batch is None and isinstance(clock, Clock):
            clock.time += 60
        return batch


class SleepsSoundly(FakeStream):
    """Wakes at the deadline, whatever calls it."""

    def poll(self, deadline: float) -> Batch | None:
        batch = super().poll(deadline)
        clock = self._around.monotonic
        if batch is None and isinstance(clock, Clock):
            clock.time = max(clock.time, deadline)
        return batch


class SaysNothingWhenQuiet(FakeStream):
    def poll(self, deadline: float) -> Batch | None:
        batch = super().poll(deadline)
        quiet = batch and all(isinstance(step, Progress) for step in batch.steps)
        return None if quiet else batch


class ConfirmsBackwards(FakeStream):
    def confirm(self, position: Position) -> None:
        assert isinstance(position, Place)
        self._database.told = position


class ConfirmsByItself(FakeStream):
    def poll(self, deadline: float) -> Batch | None:
        batch = super().poll(deadline)
        self._database.told = self._at
        return batch


class RepeatsCutTransaction(FakeStream):
    """Forgets how much of a transaction was published."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]  # what the source passes on
        self._at = replace(self._at, done=0)


class SkipsCutTransaction(FakeStream):
    """Takes a cut transaction for a complete one."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]  # what the source passes on
        if self._at.done:
            self._at = Place(self._at.epoch, self._at.lsn + 1)


class CountsEvents(FakeStream):
    """A seq from a counter that starts over with each process."""

    count = 0

    def _frame(self, ref: int, transaction: Transaction) -> Frame:
        self.count += 1
        prefix = Place(0, self.count).prefix
        return self._writers[ref].frame(prefix, happened_ms=0, ts_ms=0, transaction=transaction.name)


class ChangesKeysInPlace(FakeStream):
    """One update under the new key: the old key lives for ever."""

    def _rows(
        self, ref: int, transaction: Transaction, entry: RowLogged, after: Place
    ) -> tuple[RowChange, ...]:
        return super()._rows(ref, transaction, entry, after)[-1:]


class ForgetsWhatIsUnsent(FakeStream):
    """A null that looks like a value."""

    def _rows(
        self, ref: int, transaction: Transaction, entry: RowLogged, after: Place
    ) -> tuple[RowChange, ...]:
        blanked = {**entry.after, **dict.fromkeys(entry.unsent)} if entry.after else None
        return super()._rows(ref, transaction, replace(entry, after=blanked, unsent=()), after)


class NamesNoOtherKey(FakeStream):
    def _rows(
        self, ref: int, transaction: Transaction, entry: RowLogged, after: Place
    ) -> tuple[RowChange, ...]:
        rows = super()._rows(ref, transaction, entry, after)
        return tuple((*row[:4], row[4] and row[4]._replace(other_key=None)) for row in rows)


class ShapesComeLate(FakeStream):
    def _shape(self, table: TableSchema, steps: list[Step]) -> int:
        known = self._shapes.get(table.id)
        if known is None or known.table == table:
            return super()._shape(table, steps)
        ref = super()._shape(table, [])
        self._late = self._shapes[table.id]
        return ref

    def poll(self, deadline: float) -> Batch | None:
        batch = super().poll(deadline)
        late: Shape | None = self.__dict__.pop("_late", None)
        return Batch((*batch.steps, late), batch.size) if batch and late else batch


class KeepsFirstShape(FakeStream):
    """Never notices that a table was altered."""

    def _shape(self, table: TableSchema, steps: list[Step]) -> int:
        known = self._shapes.get(table.id)
        return super()._shape(known.table if known else table, steps)


class DropsTruncates(FakeStream):
    def poll(self, deadline: float) -> Batch | None:
        batch = super().poll(deadline)
        return batch and Batch(tuple(s for s in batch.steps if not isinstance(s, Truncate)), batch.size)


class KnowsNoLimit(FakeStream):
    def __init__(
        self, database: Database, tables: frozenset[TableId], start: Place, around: Surroundings
    ) -> None:
        super().__init__(database, tables, start, replace(around, most_batch_bytes=1 << 30))


class DropsEmptyTransactions(FakeStream):
    """What is not captured leaves no trace, and the position stands still."""

    def poll(self, deadline: float) -> Batch | None:
        batch = super().poll(deadline)
        if batch is None or any(isinstance(step, Rows) for step in batch.steps):
            return batch
        return None if len(self._database.log) > 1 else batch


class TurnsTransactionsRound(FakeStream):
    """Changes of a transaction come in another order than they were made."""

    def _read(self, transaction: Transaction, steps: list[Step], room: int) -> int:
        entries: tuple[Entry, ...] = transaction.entries[::-1]
        return super()._read(replace(transaction, entries=entries), steps, room)


class ChainsAnds(FakeReader):
    """Composite bounds column by column (DDD-3's predicate)."""

    @staticmethod
    def _within(
        key: tuple[object, ...], after: tuple[object, ...] | None, upto: tuple[object, ...] | None
    ) -> bool:
        low = after is None or (key != after and all(k >= a for k, a in zip(key, after, strict=True)))  # type: ignore[operator]
        return low and (upto is None or all(k <= u for k, u in zip(key, upto, strict=True)))  # type: ignore[operator]


class ReadsByWhatIsLeft(FakeReader):
    """A key's column that is gone orders nothing any more, and nobody hears of it."""

    def _select(self, request: ChunkRequest) -> list[dict[str, object]]:  # type: ignore[override]
        there = [name for name in request.key if name in self._database.shape.key]
        return [dict(row) for row in super()._select(replace(request, key=tuple(there)))]


class CursorRunsAhead(FakeReader):
    """Each slice claims the whole chunk."""

    def read(self, request: ChunkRequest) -> Chunk:
        chunk = super().read(request)
        last = chunk.slices[-1].upto if chunk.slices else ()
        return replace(chunk, slices=tuple(replace(part, upto=last) for part in chunk.slices))


class KeysOfItsOwn(FakeReader):
    """A second encoder: equal keys, other bytes."""

    def read(self, request: ChunkRequest) -> Chunk:
        chunk = super().read(request)

        def other(key: bytes | None) -> bytes:
            return (key or b"") + b"\x00"

        slices = tuple(
            replace(part, rows=tuple((other(key), head) for key, head in part.rows)) for part in chunk.slices
        )
        return replace(chunk, slices=slices)


class ReadsAnOldSnapshot(FakeReader):
    """One transaction for all chunks, opened with the reader."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]  # what the source passes on
        self._old = tuple(self._database.visible())

    def _select(self, request: ChunkRequest) -> list[dict[str, object]]:  # type: ignore[override]
        return [dict(row) for row in super()._select(request) if row in self._old]


class SeesNoGate(FakeReader):
    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]  # what the source passes on
        self.marks.unseen = self._nothing  # type: ignore[method-assign]

    def _nothing(self, streamed: Sequence[Commit]) -> Sequence[Commit]:
        del streamed
        return ()


class ClosesTooEarly(FakeReader):
    """A fence that lies where the log began."""

    fence = 0

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]  # what the source passes on
        self.marks.set = self._set  # type: ignore[method-assign]

    def _set(self, name: str, edge: Edge) -> Mark:
        del edge
        return FenceMark(name, self.fence)


class NeverCloses(ClosesTooEarly):
    """A fence that an idle log never reaches."""

    fence = 1 << 60


class ReleasedRowsWin(FakeReader):
    """Snapshot rows carry the class of log events."""

    def read(self, request: ChunkRequest) -> Chunk:
        chunk = super().read(request)

        def tail(released_at: Position, *, ts_ms: int, snapshot: str, chunk: str) -> bytes:
            made = true_tail(released_at, ts_ms=ts_ms, snapshot=snapshot, chunk=chunk)
            return made[:-10] + b"ff" + made[-8:]

        true_tail = chunk.tail
        return replace(chunk, tail=tail)


class VoidsWhatFollows(FakeReader):
    """A truncate of its own carries the class of log events."""

    def void(self, table: TableId) -> TailOf:
        true_void = super().void(table)

        def void(released_at: Position, *, ts_ms: int, snapshot: str, chunk: str) -> bytes:
            made = true_void(released_at, ts_ms=ts_ms, snapshot=snapshot, chunk=chunk)
            return made[:-10] + b"ff" + made[-8:]

        return void


class SeesLaterRows(FakeWhole):
    """Reads rows when they are asked for, not as of the place where the read began."""

    def __init__(self, database: Database, *given: Any) -> None:
        super().__init__(database, *given)
        self._database = database

    def next(self, request: ChunkRequest) -> Chunk:
        self._rows = tuple(self._database.logged())
        return super().next(request)


class NumbersEachPiece(FakeWhole):
    """Numbers the rows of each piece from 0."""

    def next(self, request: ChunkRequest) -> Chunk:
        chunk = super().next(request)
        assert chunk.piece is not None
        return replace(chunk, piece=replace(chunk.piece, before=0))


class WholeAsReleased(FakeWhole):
    """Rows carry the place where they are released."""

    def _as_of(self, op: str, head: bytes) -> TailOf:
        return self._tail(self._writer, op, head)


class ForgivesLostLog(FakeSource):
    """Starts where the log still is, and says nothing."""

    def stream(
        self,
        partition: SourcePartition,
        tables: Sequence[TableId],
        saved: Saved | None,
        aside: Collection[TableId] = (),
        fresh: Collection[TableId] = (),
    ) -> FakeStream:
        told = self._databases[partition].told
        if saved is not None and told is not None and Place.parse(saved) < told:
            saved = told.saved()
        return super().stream(partition, tables, saved, aside, fresh)


def source_with(
    *, stream: type[FakeStream] = FakeStream, reader: type[FakeReader] = FakeReader
) -> type[FakeSource]:
    """A source with one part exchanged."""
    return type("Broken", (FakeSource,), {"stream_of": stream, "reader_of": reader})


def whole(wrong: type[FakeWhole]) -> type[FakeSource]:
    """A source with other whole reads."""
    return source_with(reader=type("Broken", (FakeReader,), {"whole_of": wrong}))


class EndsTooEarly(FakeSource):
    """Names a place where only the first transactions end."""

    def log_end(self, partition: SourcePartition) -> Mark:
        del partition
        return FenceMark("end", 1)


class NeverEnds(FakeSource):
    """Names a place that a quiet log does not reach."""

    def log_end(self, partition: SourcePartition) -> Mark:
        return FenceMark("end", self._databases[partition].end + 1)


class EndsTooEarlyElsewhere(FakeSource):
    """Takes the end of its first database for that of each."""

    def log_ends(self) -> Mapping[SourcePartition, Mark]:
        first, *others = self._databases
        return {first: self.log_end(first), **dict.fromkeys(others, FenceMark("end", 1))}


BROKEN: list[tuple[type[FakeSource], str]] = [
    (source_with(stream=Waits), "test_a_past_deadline_does_not_wait"),
    (source_with(stream=SleepsSoundly), "test_a_stream_that_is_woken_does_not_wait"),
    (source_with(stream=Waits), "test_a_quiet_partition_does_not_hold_back_its_neighbour"),
    (source_with(stream=SaysNothingWhenQuiet), "test_a_quiet_log_reports_its_position"),
    (source_with(stream=ConfirmsBackwards), "test_confirm_never_moves_back"),
    (source_with(stream=ConfirmsByItself), "test_only_a_confirmed_position_is_reported_to_the_database"),
    (
        source_with(stream=RepeatsCutTransaction),
        "test_a_resume_anywhere_gives_the_rest_with_the_same_seq",
    ),
    (source_with(stream=SkipsCutTransaction), "test_a_resume_anywhere_gives_the_rest_with_the_same_seq"),
    (source_with(stream=SkipsCutTransaction), "test_a_resumed_transaction_says_where_it_continues"),
    (source_with(stream=CountsEvents), "test_a_resume_anywhere_gives_the_rest_with_the_same_seq"),
    (source_with(stream=ChangesKeysInPlace), "test_both_halves_of_a_key_change_stay_together"),
    (source_with(stream=ForgetsWhatIsUnsent), "test_unsent_columns_are_named"),
    (source_with(stream=NamesNoOtherKey), "test_a_partial_key_change_names_both_keys"),
    (source_with(stream=ShapesComeLate), "test_a_shape_comes_before_its_first_row"),
    (source_with(stream=KeepsFirstShape), "test_a_shape_comes_before_its_first_row"),
    (source_with(stream=DropsTruncates), "test_a_truncate_is_one_event_in_its_place"),
    (source_with(stream=KnowsNoLimit), "test_a_batch_ends_with_the_row_that_fills_it"),
    (source_with(stream=DropsEmptyTransactions), "test_what_is_not_captured_still_moves_the_position"),
    (source_with(stream=TurnsTransactionsRound), "test_changes_come_as_they_were_committed"),
    (source_with(stream=TurnsTransactionsRound), "test_the_log_gives_the_table_that_a_chunk_reads"),
    (source_with(stream=ForgetsWhatIsUnsent), "test_the_log_gives_the_table_that_a_chunk_reads"),
    (source_with(stream=DropsTruncates), "test_the_log_gives_the_table_that_a_chunk_reads"),
    (source_with(reader=ChainsAnds), "test_bounds_of_a_composite_key_are_lexicographic"),
    (source_with(reader=ChainsAnds), "test_chunks_meet_every_row_once_in_order"),
    (source_with(reader=ReadsByWhatIsLeft), "test_a_key_whose_column_is_gone_is_said_to_be"),
    (source_with(reader=CursorRunsAhead), "test_a_slice_ends_where_a_resume_begins"),
    (source_with(reader=KeysOfItsOwn), "test_a_row_is_the_same_by_log_and_by_chunk"),
    (source_with(reader=ReadsAnOldSnapshot), "test_a_chunk_sees_all_that_was_committed"),
    (source_with(reader=SeesNoGate), "test_the_gate_names_what_is_logged_and_not_visible"),
    (source_with(reader=ClosesTooEarly), "test_what_a_select_saw_is_in_the_log_before_its_mark"),
    (source_with(reader=NeverCloses), "test_a_mark_is_found_on_an_idle_database"),
    (source_with(reader=ReleasedRowsWin), "test_a_released_row_is_older_than_the_log_at_its_place"),
    (
        source_with(reader=VoidsWhatFollows),
        "test_a_truncate_that_is_not_the_logs_is_as_old_as_rows_that_are_read",
    ),
    (whole(SeesLaterRows), "test_a_whole_read_has_what_is_older_than_its_rows_and_nothing_else"),
    (whole(NumbersEachPiece), "test_pieces_meet_every_row_once_and_number_them"),
    (whole(WholeAsReleased), "test_a_whole_read_has_what_is_older_than_its_rows_and_nothing_else"),
    (EndsTooEarlyElsewhere, "test_one_answer_about_all_logs_is_right_for_each"),
    (EndsTooEarly, "test_what_a_select_saw_ends_before_the_logs_end_which_is_reached_in_quiet"),
    (NeverEnds, "test_what_a_select_saw_ends_before_the_logs_end_which_is_reached_in_quiet"),
    (ForgivesLostLog, "test_a_resume_before_what_was_confirmed_loses_nothing_in_silence"),
]


def world_of(source: type[FakeSource]) -> Callable[[], FakeSourceWorld]:
    return lambda: FakeSourceWorld(2, MarkKind.FENCE, source)


def test_the_true_fake_breaks_nothing() -> None:
    assert broken(SourceSuite, promises(SourceSuite), world_of(FakeSource)) == set()


@pytest.mark.parametrize(("source", "promise"), BROKEN)
def test_the_suite_catches(source: type[FakeSource], promise: str) -> None:
    assert broken(SourceSuite, [promise], world_of(source)) == {promise}
