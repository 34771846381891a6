"""Mined rows into steps: the output of LogMiner, in the words of `steps.py`.  Pure.

    MinedPiece: rows of all transactions   ->   TransactionBuffer   ->   Begin Rows Commit Progress
    the catalogue, at a DDL or behind a range                       ->   Appeared, Reshaped, ... in between

A transaction is announced with its first published change, so one without our rows costs a place and no step.
Ordinals count the rows of all tables that the filters select, before any filter of columns, and whether they
can be read: so the same event has the same seq after any restart.  Rows of a table that is gone have no name,
and may be anybody's: none is counted, or what others drop would change the numbers.

What is committed is handed out behind each range, because only then the catalogue is known that belongs to
the range's DDL.  It comes a batch at a time, so a transaction of any size costs bounded memory.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from wrackline.producers.contract.optional_parts import OpenTransactions
from wrackline.producers.contract.steps import (
    Batch,
    Begin,
    Commit,
    Fault,
    Found,
    Renamed,
    Reshaped,
    RowChange,
    Rows,
    Signal,
    UnfitRow,
)
from wrackline.producers.kit.step_log import StepLog
from wrackline.producers.sources.oracle.discover.facts import OracleLook
from wrackline.producers.sources.oracle.follow.ddl_statement import DdlDeed, deed_of
from wrackline.producers.sources.oracle.follow.table_tracker import OracleTableTracker, TableNews
from wrackline.producers.sources.oracle.mining.mined_piece import MinedPiece
from wrackline.producers.sources.oracle.mining.mined_row import DDL, UNSUPPORTED, MinedRow, TableKey
from wrackline.producers.sources.oracle.mining.position import (
    CommitPlace,
    MinedWindow,
    OraclePosition,
    RedoRowPlace,
    last_at,
)
from wrackline.producers.sources.oracle.outgoing_transaction import OutgoingTransaction
from wrackline.producers.sources.oracle.redo.kinds import UnknownColumnsError, UnknownRedoError
from wrackline.producers.sources.oracle.resolver import (
    OracleSignalReader,
    OracleTableReader,
    OracleTableResolver,
    is_unresolved,
)
from wrackline.producers.sources.oracle.rows.source_record import OracleSourceLabels
from wrackline.producers.sources.oracle.transactions.open_transaction import TableDoubt
from wrackline.producers.sources.oracle.transactions.transaction_buffer import (
    PIECE_BYTES,
    TransactionBuffer,
)
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.events.frame import no_row
from wrackline.schemas.tables.table import TableId

REDO_UNREAD = define(
    "oracle.redo_unread",
    OperatorNeeded,
    "a change of {table} at SCN {scn} can't be read from the log: {reason}",
    hint="what the table has now is read again: wrackline snapshot start <pipeline.toml> '{table}'",
)


def _tables(step: TableNews) -> tuple[TableId, ...]:
    match step:
        case Renamed(old, new):
            return old, new
        case Found(shape):
            return (shape.id,)
    return (step.table,)


@dataclass(frozen=True, slots=True)
class OracleStreamScope:
    """What of the log becomes steps."""

    reads: Callable[[TableId], bool]  # the names whose rows are needed
    most_bytes: int  # of a batch
    unpublished: Collection[str] = ()  # users of whose transactions nothing is handed out


class OracleDecoder:
    """Takes pieces one by one; `take` hands out their steps."""

    def __init__(
        self,
        start: OraclePosition,
        labels: OracleSourceLabels,
        tracker: OracleTableTracker,
        resolver: OracleTableResolver,
        buffer: Callable[[frozenset[int]], TransactionBuffer],
        scope: OracleStreamScope,
    ) -> None:
        """Take what makes the buffer, once the threads are known."""
        self._labels, self._tracker, self._resolver = labels, tracker, resolver
        self._make_buffer, self._scope = buffer, scope
        self._log = StepLog(start, tracker.tables.aside)
        self._buffer: TransactionBuffer | None = None
        self._known: dict[TableKey, bool] = {}  # whether rows of a name are needed
        self._look: OracleLook | None = None
        self._followed: OracleLook | None = None
        self._owners: dict[str, int] = {}  # whose rows are mined, and up to which SCN some may be missing
        self._late: set[str] = set()  # those whose tables wait
        self._ended = False  # whether a range has, and what it committed is being handed out
        self._question = False
        self.backlog: OpenTransactions | None = None  # behind the last range
        self._open: OutgoingTransaction | None = None
        self._rows: list[RowChange] = []  # since the last other step
        self._upto: tuple[RedoRowPlace | None, int] = None, 0  # the last of them, and how many rows had come
        self._size = 0

    @property
    def full(self) -> bool:
        """Whether a batch is complete."""
        return self._log.full

    def feed(self, piece: MinedPiece) -> None:
        """Take a piece; `advance` hands out what it has completed."""
        buffer = self._buffer
        if buffer is None:
            buffer = self._buffer = self._make_buffer(piece.threads)
        buffer.know(piece.threads)
        after = 0 if self._look is None else buffer.after
        self._owners = {owner: self._owners.get(owner, after) for owner in piece.owners}
        if self._look is None:
            self._look = piece.look
            self._tell_news()
        for row in piece.rows:
            if self._is_needed(row):
                buffer.take(row)
        self._question = self._question or piece.question
        if piece.upto is not None:
            buffer.end_range(piece.upto)
            self._look, self._ended = piece.look, True

    def advance(self) -> bool:
        """Hand out more of what is committed; False: there is no more before the next piece."""
        if self._buffer is None or not (self._ended or self._open):
            return False
        opened = self._open or self._next(self._buffer)
        if opened is None:
            self._end_range(self._buffer)
        elif (piece := next(opened.rest, None)) is None:
            self._commit(opened, self._buffer)
        else:
            for place, row in piece:
                self._row(opened, place, row)
        return True

    def say(self) -> None:
        """Report the log's place, even if nothing has happened."""
        if self._open is None and self._log.at.cut is None:
            self._flush()
            self._log.progress(self._log.at)

    def take(self) -> Batch | None:
        """Hand out the steps so far."""
        if (batch := self._log.take()) is None:
            self._flush()
            if self._log.steps:
                self._end_batch()
            batch = self._log.take()
        return batch

    def close(self) -> None:
        """Give files up."""
        self.backlog = None
        if self._buffer is not None:
            self._buffer.close()

    def _is_needed(self, row: MinedRow) -> bool:
        """Whether a row may be of a table that is read; one without a name is looked up behind the range."""
        if not row.table or row.operation == DDL or is_unresolved(row):
            return True
        key = row.of_table
        if (known := self._known.get(key)) is None:
            known = self._known[key] = self._scope.reads(self._resolver.id_of(row.owner, row.table))
        return known

    def _end_range(self, buffer: TransactionBuffer) -> None:
        """Report what the catalogue shows behind a range, and the place, once all that ended is out."""
        self._ended = False
        self.backlog = buffer.backlog
        self._doubt(buffer.doubts())
        if self._look is not None:  # the next range has the rows of the owners that it shows
            for facts in self._look.tables.values():
                self._owners.setdefault(facts.id.schema, buffer.after)
        self._tell_news()
        at, window = self._log.at, self._window(last_at(buffer.after))
        waits = at.cut is not None and at.place.scn > buffer.after
        here = at.mined(window) if waits else at.behind(window)
        if here > at or self._question:
            self._flush()
            self._log.progress(here)
        self._log.at, self._question = here, False

    def _next(self, buffer: TransactionBuffer) -> OutgoingTransaction | None:
        found = buffer.next_commit()
        if found is None:
            return None
        pieces = found.pieces(min(self._scope.most_bytes, PIECE_BYTES))
        hidden = found.username in self._scope.unpublished
        opened = self._open = OutgoingTransaction(found, pieces, found.skip, hidden=hidden)
        if not hidden:
            self._doubt(found.doubts)
        if found.skip:
            self._announce(opened)  # only its end may be left to publish
            self._pass(opened)
        return opened

    def _pass(self, opened: OutgoingTransaction) -> None:
        """Take what a resume needs of rows that are out.

        What a signal started is saved only at the end of its transaction.  Where events are numbered, those
        of before count too.
        """
        for ordinal, row in enumerate(opened.transaction.passed()):
            if row.operation == DDL:
                opened.altered = True
            elif not is_unresolved(row) and self._resolver.is_signal(row):
                self._change(opened, row)
            elif self._labels.counted:
                self._count(opened, row, ordinal)

    def _count(self, opened: OutgoingTransaction, row: MinedRow, ordinal: int) -> None:
        """Count the events of a row that is out; one that can't be read made none."""
        number = self._resolver.number_of(row)
        if number is None:
            return
        with suppress(ValueError, OperatorNeeded):
            reader = self._resolver.reader(number)
            if isinstance(reader, OracleTableReader):
                reader.announce(self._log)
                frame = opened.frame(self._labels, self._log.at.epoch, reader.table, row)
                reader.decoder.change(row.operation, row.redo.encode(), frame, ordinal, [])
                opened.total = frame.total

    def _announce(self, opened: OutgoingTransaction) -> None:
        if not opened.announced:
            opened.announced = True
            first = opened.transaction.skip
            self._log.steps.append(Begin(opened.name, opened.committed_ms, first))

    def _commit(self, opened: OutgoingTransaction, buffer: TransactionBuffer) -> None:
        self._flush()
        buffer.release(opened.transaction)
        self._open = None
        here = self._log.at.behind(self._window(opened.transaction.place))
        if opened.announced:
            self._log.at = here
            self._log.steps.append(Commit(opened.name, here, opened.committed_ms))
        else:
            self._log.progress(here)
        if opened.altered:
            self._tell_news(opened.deeds)

    def _row(self, opened: OutgoingTransaction, place: RedoRowPlace, row: MinedRow) -> None:
        nameless = row.operation != DDL and is_unresolved(row)
        number = self._resolver.number_of(row, self._look) if nameless else None
        opened.last = place
        if nameless and number is None:
            return
        opened.done += 1
        if row.operation == DDL:
            self._ddl(opened, row)
        elif opened.hidden:
            return
        elif number is None:
            self._change(opened, row)
        else:
            self._void(opened, number)

    def _change(self, opened: OutgoingTransaction, row: MinedRow) -> None:
        """Take a row of a table that has a name; one that can't be published ends only its own table."""
        number = self._resolver.number_of(row)
        if number is None:
            return
        try:
            reader = self._resolver.reader(number)
            if isinstance(reader, OracleSignalReader):
                self._signal(opened, reader, row)
            elif reader is not None:
                if not reader.announced:
                    self._flush()
                    self._announce(opened)
                    reader.announce(self._log)
                self._publish(opened, reader, row)
        except UnknownColumnsError:
            self._void(opened, number)
        except UnknownRedoError as error:
            table = self._resolver.name_of(number)
            self._give_up(number, REDO_UNREAD(table=table, scn=row.scn, reason=error))
        except OperatorNeeded as error:
            self._give_up(number, error)

    def _publish(self, opened: OutgoingTransaction, reader: OracleTableReader, row: MinedRow) -> None:
        """Take a row of a captured table."""
        if row.operation == UNSUPPORTED:
            raise REDO_UNREAD(table=reader.table, scn=row.scn, reason=row.info or "it is unsupported")
        frame = opened.frame(self._labels, self._log.at.epoch, reader.table, row)
        made: list[RowChange] = []
        size = reader.decoder.change(row.operation, row.redo.encode(), frame, opened.done - 1, made)
        opened.total = frame.total
        if not made and reader.decoder.misfit is None:
            return
        self._announce(opened)
        self._size += size
        if reader.decoder.misfit is not None:
            self._flush()
            here = self._inside(opened)
            self._log.steps += (UnfitRow(reader.ref, reader.decoder.misfit.misfit, here), Rows(made, here))
            self._log.at = here
        else:
            self._rows += made
            self._upto = opened.last, opened.done
        if self._size >= self._scope.most_bytes:
            self._flush()
            self._end_batch()

    def _signal(self, opened: OutgoingTransaction, reader: OracleSignalReader, row: MinedRow) -> None:
        self._flush()
        found = reader.signal(row)
        if found is not None:
            self._announce(opened)
            self._log.steps.append(Signal(*found, self._inside(opened)))

    def _ddl(self, opened: OutgoingTransaction, row: MinedRow) -> None:
        """Take a DDL: it is in force behind its commit, but a truncate has its own place."""
        opened.altered = True
        deed = deed_of(row.redo)
        number = self._resolver.number_of(row)
        if deed is not DdlDeed.EMPTIES:
            opened.deeds.append((deed, self._resolver.id_of(row.owner, row.table)))
        elif number is not None and not opened.hidden:
            try:
                self._truncate(opened, number, row)
            except OperatorNeeded as error:
                self._give_up(number, error)

    def _truncate(self, opened: OutgoingTransaction, number: int, row: MinedRow) -> None:
        reader = self._resolver.reader(number)
        if not isinstance(reader, OracleTableReader):
            return
        self._flush()
        self._announce(opened)
        if not reader.announced:
            reader.announce(self._log)
        frame = opened.frame(self._labels, self._log.at.epoch, reader.table, row)
        value = no_row(reader.value_id) + frame.tail("t", opened.done - 1)
        opened.total = frame.total
        self._log.truncate(reader.ref, value, self._inside(opened))
        self._size += len(value)

    def _void(self, opened: OutgoingTransaction, number: int) -> None:
        """Have a table read again, because a row is of another version of it than the catalogue."""
        table = self._resolver.name_of(number)
        if number not in opened.void and self._tracker.tables.captures(table):
            opened.void.add(number)
            self._flush()
            self._log.report(Reshaped(table, refresh=True, void=True))

    def _give_up(self, number: int, error: WracklineError) -> None:
        self._flush()
        table = self._resolver.give_up(number, error)
        if table is not None and self._tracker.tables.captures(table):
            self._log.report(Fault(table, error))

    def _doubt(self, doubts: Mapping[TableKey, TableDoubt]) -> None:
        """Report tables of which it is not known what was changed."""
        for (_, owner, name), (object_id, error) in doubts.items():
            number = self._resolver.number_named(owner, name, object_id)
            if number is not None:
                self._give_up(number, error)

    def _tell_news(self, deeds: Sequence[tuple[DdlDeed, TableId]] = ()) -> None:
        """Report what the catalogue shows, and what DDL did that it does not show."""
        news: list[TableNews] = []
        if self._look is not None and (self._look is not self._followed or self._late):
            shown = self._complete(self._look)
            self._followed = self._look
            news += self._tracker.look(self._resolver.follow(shown), shown.names)
        reported = {table for step in news for table in _tables(step)}
        for deed, table in deeds:
            news += self._tracker.done(deed, table, reported)
        if news:
            self._flush()
            self._log.report(*news)
            self._log.progress(self._log.at)

    def _complete(self, look: OracleLook) -> OracleLook:
        """Leave tables out of an owner whose first changes may not have been mined.

        Rows of an owner are mined once a look has shown a table of it, and as long as looks show one.  A
        transaction that was open then may have changed it before, so the table comes when all of these have
        ended.
        """
        assert self._buffer is not None  # noqa: S101 - it was made with the first piece, only for the type
        oldest = self._buffer.window.oldest
        owners = {facts.id.schema for facts in look.tables.values()}
        self._late = {owner for owner in owners if self._owners.get(owner, oldest) >= oldest}
        if not self._late:
            return look
        tables = {number: facts for number, facts in look.tables.items() if facts.id.schema not in self._late}
        return replace(look, tables=tables)

    def _window(self, done: CommitPlace) -> MinedWindow:
        """Return what a position keeps; what is behind a range is done, whether something ended there."""
        assert self._buffer is not None  # noqa: S101 - it was made with the first piece, only for the type
        window = self._buffer.window
        return window._replace(done=max(done, window.done, self._log.at.done))

    def _inside(self, opened: OutgoingTransaction) -> OraclePosition:
        """Return the place behind the row that came last."""
        return self._behind(opened, opened.last, opened.done)

    def _behind(self, opened: OutgoingTransaction, last: RedoRowPlace | None, rows: int) -> OraclePosition:
        at = self._log.at
        if last is None:
            return at  # behind the rows of before a resume
        return at.inside(opened.transaction.cut(last), rows, self._window(at.done))

    def _flush(self) -> None:
        """Close the stretch of rows before another step."""
        if self._rows and self._open is not None:
            last, rows = self._upto
            self._log.end_rows(self._rows, rows - 1, self._behind(self._open, last, rows))
            self._rows = []

    def _end_batch(self) -> None:
        self._log.end_batch(self._size)
        self._size = 0
