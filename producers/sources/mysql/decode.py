"""A binlog's events into steps: the output of the dump, in the words of `steps.py`.  Pure.

    MySQL     GTID | BEGIN | map rows map rows | XID or COMMIT        GTID | a statement of the schema
    MariaDB   GTID |         map rows map rows | XID or COMMIT        GTID (standalone) | a statement

A transaction is announced with its first published part, so a transaction without our rows costs a place in
the log and no step.  Its end is an XID, a COMMIT, or where the server said that it ends: MySQL gives a
transaction's length, MariaDB says that one event is all.
Ordinals count row changes as the server sent them, before any filter of ours: so the same event has the same
seq after any restart and with any filter.
"""

from collections.abc import Iterable

from wrackline.producers.contract.steps import (
    Batch,
    Begin,
    Commit,
    Fault,
    Found,
    Reshaped,
    RowChange,
    Signal,
)
from wrackline.producers.kit.step_log import AnnouncedShape, StepLog
from wrackline.producers.sources.mysql.ddl.column_renames import apply_renames, tables_of
from wrackline.producers.sources.mysql.ddl.ddl_effects import (
    ControlKind,
    DdlEffect,
    TableEmptied,
    TransactionControl,
)
from wrackline.producers.sources.mysql.events import event_kinds, table_map
from wrackline.producers.sources.mysql.events.events import (
    HEADER,
    FormatDescription,
    Frames,
    GtidEvent,
    Header,
    LogHeartbeatEvent,
    MariaDbGtidEvent,
    QueryEvent,
    RotateEvent,
    XaPrepareEvent,
    XidEvent,
    header,
    is_cut,
    small_event,
)
from wrackline.producers.sources.mysql.events.gtids import with_one
from wrackline.producers.sources.mysql.events.packed_events import EVENT_TOO_LARGE, plain_events
from wrackline.producers.sources.mysql.follow import signal_rows, table_map_cache
from wrackline.producers.sources.mysql.follow.query_events import add_statement_text, effects_of
from wrackline.producers.sources.mysql.follow.signal_events import read_signals
from wrackline.producers.sources.mysql.follow.table_map_cache import (
    MappedTable,
    MySqlRegisteredShape,
    MySqlSchemaLookup,
    TableMapCache,
)
from wrackline.producers.sources.mysql.follow.table_tracker import (
    MySqlCatalogueSnapshot,
    MySqlTableTracker,
    TableStep,
)
from wrackline.producers.sources.mysql.log.dump_refusals import LOG_OUT_OF_ORDER
from wrackline.producers.sources.mysql.log.log_cursor import LogCursor
from wrackline.producers.sources.mysql.log.position import ColumnNames, MySqlPosition
from wrackline.producers.sources.mysql.log.stream_options import MySqlStreamOptions
from wrackline.producers.sources.mysql.rows.images import Images
from wrackline.producers.sources.mysql.rows.oversized_row import OversizedRow
from wrackline.producers.sources.mysql.rows.rows import MySqlRowDecoder
from wrackline.producers.sources.mysql.rows.source_record import MySqlSourceLabels
from wrackline.producers.sources.mysql.transactions.discarded import DiscardedTransactions
from wrackline.producers.sources.mysql.transactions.transaction import (
    BEGINNING,
    Transaction,
    begin_transaction,
)
from wrackline.producers.sources.mysql.transactions.unfit_rows import split_at_unfit
from wrackline.producers.sources.mysql.transactions.xa_parts import XaPart, XaPartReader, XaTracker
from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.events.frame import no_row
from wrackline.schemas.tables.seq import ordinal_in
from wrackline.schemas.tables.table import TableId

_ARTIFICIAL = 0x20
_NO_TABLE = 0xFFFFFF  # an event without rows, which only ends a statement


class MySqlDecoder:
    """Takes events one by one; `take` hands out their steps."""

    def __init__(
        self,
        start: MySqlPosition,
        labels: MySqlSourceLabels,
        roll: MySqlTableTracker,
        explained: MySqlSchemaLookup,
        reading: MySqlStreamOptions,
        cut_off: DiscardedTransactions,
    ) -> None:
        self._labels, self._roll, self._explained, self._reading = labels, roll, explained, reading
        self._log, self._cut_off = StepLog(start, roll.tables.aside), cut_off
        self._place = LogCursor(start, reading.server)
        self._xa = XaTracker(self._place, reading)
        self._frames = Frames()
        self._maps = TableMapCache(self._mapped)
        self.open: Transaction | None = None  # it has begun and not ended
        self._rows: list[RowChange] = []  # since the last other step
        self._size = self._ended = 0  # bytes of rows since the last batch ended, and in all batches before
        self._has_place = False  # whether a place was reported since the log was opened
        self._event_at = 0  # where the current event begins

    @property
    def full(self) -> bool:
        """Whether a batch is complete."""
        return self._log.full

    @property
    def wanted(self) -> XaPart | None:
        """What must be fed before the log continues: a part from a dump of its own, from its beginning."""
        return None if self._xa.part is None else self._xa.part.part

    @property
    def names(self) -> ColumnNames:
        """The columns that were renamed, as far as the log has come; any thread may ask."""
        return self._place.names

    def passed(self, picture: MySqlCatalogueSnapshot) -> bool:
        """Whether the log has passed all that a picture shows, and no transaction is open."""
        return self.open is None and (self._place.number, self._place.offset) >= picture.upto

    def look(self, picture: MySqlCatalogueSnapshot) -> None:
        """Take a picture of the catalogue that the log has passed."""
        news = list(self._roll.picture(picture))
        if news:
            self._flush()
            self._tell(news)
            self._log.progress(self._log.at)

    def feed(self, data: bytes, at: int, end: int) -> None:
        """Take one event with its checksum; it is from the log, or from the part that is `wanted`."""
        if self._xa.part is not None:
            self._reads_part(self._xa.part, data, at, end)
            return
        end = self._frames.body_end(data, at, end)
        low = int.from_bytes(data[at + 13 : at + 17], "little")
        artificial = data[at + 17] & _ARTIFICIAL or not low
        if not artificial:
            self._place.passed(low)
            self._event_at = self._place.offset - int.from_bytes(data[at + 9 : at + 13], "little")
        self._event(data, at, end)
        if data[at + 4] in event_kinds.MAY_END:
            self._ends_here()
        if self.open is None and not artificial and data[at + 4] != event_kinds.ROTATE:
            self._progress()

    def say(self) -> None:
        """Report the log's place, even if nothing has happened."""
        if self.open is None and not self._log.at.done:
            self._has_place = True
            self._log.progress(self._log.at)

    def take(self) -> Batch | None:
        """Hand out the steps so far."""
        if (batch := self._log.take()) is not None:
            return batch
        self._flush()
        if self._log.steps:
            self._end_batch()
        return self._log.take()

    def _event(self, data: bytes, at: int, end: int) -> None:
        kind = data[at + 4]
        if kind in event_kinds.ROWS:
            self._row_event(data, at, end, kind)
        elif kind == event_kinds.TABLE_MAP:
            if self.open is None or not self.open.silent:
                self._maps.take(data[at + HEADER : end])
        elif kind in event_kinds.PACKED:
            self._all(plain_events(data, at, end, self._reading.most_event_bytes), header(data, at))
        else:
            self._small(data, at, end)

    def _all(self, events: Iterable[tuple[bytes, int, int]], packed: Header) -> None:
        """Take the events in a packed event, as long as their captured part fits into our limit."""
        most = max(self._reading.most_event_bytes, self._reading.most_batch_bytes)
        before = self._ended + self._size
        for event in events:
            if self._ended + self._size - before > most:
                raise EVENT_TOO_LARGE(kind=packed.kind, position=packed.next, most=most)
            self._event(*event)

    def _small(self, data: bytes, at: int, end: int) -> None:
        match small_event(data, at, end):
            case QueryEvent() as query:
                self._query(query)
            case XidEvent():
                self._commit()
            case GtidEvent() | MariaDbGtidEvent() as begins:
                self._begin(begins, header(data, at))
            case XaPrepareEvent(one_phase, xid):
                if self._xa.prepared(xid, self._in(), one_phase=one_phase):
                    self._commit()
            case LogHeartbeatEvent(file, offset):
                self._heartbeat(file, offset)
            case RotateEvent(file, offset):
                self._place.moved(file, offset)
            case FormatDescription(begun=when, created=started):
                if started and self.open is not None:
                    self._cut_off.met(self.open)
                    self.open = None
                self._place.begun(when)

    def _heartbeat(self, file: str, offset: int) -> None:
        """Note that the log was sent up to here; what the server left out before is not ours."""
        if self.open is None and file == self._place.history.file:
            self._place.offset = max(self._place.offset, offset)
            self._progress()
            if not self._has_place:
                self.say()

    def _progress(self) -> None:
        """Note that all that ended at or before this place was handed out."""
        if self._place.is_behind(self._log.at):
            self._flush()
            self._has_place = True
            self._log.progress(self._place.here())

    def _inside(self, done: int) -> MySqlPosition:
        """Return the place in the open transaction behind `done` of its changes."""
        return self._in().start.behind(done)

    def _in(self) -> Transaction:
        if self.open is None:
            raise self._out_of_order("no transaction has begun")
        return self.open

    def _out_of_order(self, reason: str) -> WracklineError:
        return LOG_OUT_OF_ORDER(file=self._place.history.file, offset=self._place.offset, reason=reason)

    def _begin(self, event: GtidEvent | MariaDbGtidEvent, head: Header) -> None:
        if self.open is not None:
            raise self._out_of_order(f"transaction {self.open.id} has not ended")
        self._maps.tidy()
        start, out = self._place.entered(event.gtid, head.size)
        self.open = opened = begin_transaction(event, head, start, self._place.history.file)
        opened.lost = self._cut_off.has(opened)
        if out:  # only its end may be left to publish
            opened.skip = out
            self._announce()

    def _announce(self) -> Transaction:
        """Hand out the transaction's beginning, before its first step."""
        opened = self._in()
        if not opened.announced:
            opened.announced = True
            self._log.steps.append(Begin(opened.id, opened.committed_ms, opened.skip))
        return opened

    def _commit(self) -> None:
        opened = self._in()
        self._flush()
        self.open = None
        self._place.gtids = with_one(self._place.gtids, opened.gtid)
        if opened.announced:
            self._log.at = self._place.here()
            self._log.steps.append(Commit(opened.id, self._log.at, opened.committed_ms))
        else:
            self._progress()

    def _reads_part(self, part: XaPartReader, data: bytes, at: int, end: int) -> None:
        """Take an event of the extra dump, whose rows belong to the open transaction."""
        self._event_at = self._in().start.offset  # in the file that `source` names
        self._all(part.take(data, at, end), header(data, at))
        if part.ended:
            self._xa.read()
            self._commit()

    def _query(self, query: QueryEvent) -> None:
        opened = self._in()
        opened.thread = query.thread if self._xa.part is None else opened.thread
        done = () if opened.void or opened.lost else effects_of(query, self._reading)
        match done:
            case (TransactionControl() as control,):
                self._control(control, opened)
            case (_, *_):
                self._deeds(done, query)

    def _ends_here(self) -> None:
        """End a transaction that is one statement, because only its place shows its end."""
        opened = self.open
        if opened is not None and self._xa.part is None and opened.ends_at(self._place.offset):
            self._commit()

    def _control(self, control: TransactionControl, opened: Transaction) -> None:
        match control.word:
            case ControlKind.COMMIT:
                self._commit()
            case ControlKind.SAVEPOINT | ControlKind.ROLLBACK_TO:
                self._flush()
                self._cut_off.savepoint(opened, control, self._log.steps)
            case ControlKind.ROLLBACK:
                self._flush()
                self._cut_off.rolled_back(opened, BEGINNING, self._log.steps)
                self._commit()
            case ControlKind.XA_START:
                opened.prepared = True
            case ControlKind.XA_COMMIT | ControlKind.XA_ROLLBACK:
                if self._xa.completed(control):
                    self._commit()

    def _deeds(self, done: tuple[DdlEffect, ...], query: QueryEvent) -> None:
        """Take a statement's effects on tables, at its place."""
        self._flush()
        self._maps.forget()
        for deed in done:
            for table in tables_of(deed):
                self._explained.altered(table)
        self._place.names = apply_renames(self._place.names, done)
        news = list(self._roll.done(done, query.database))
        if self._in().done >= self._in().skip:
            self._tell(add_statement_text(news, query))

    def _tell(self, news: Iterable[TableStep | Found]) -> None:
        """Hand out the news of tables; it comes before the steps that it explains."""
        for step in news:
            if isinstance(step, TableEmptied):
                self._truncate(step.table)
            else:
                self._log.report(step)

    def _truncate(self, table: TableId) -> None:
        """Hand out the `t` event; where the table's shape is unknown, request its rows again."""
        opened = self._announce()
        try:
            known = self._log.shapes.get(table)
            if known is None and (writers := self._explained.described(table, self._place.names_in(table))):
                known = self._shape(table, writers)
        except OperatorNeeded as exc:
            self._log.report(Fault(table, exc))
            return
        if known is None:
            self._log.report(Reshaped(table, refresh=True))
            return
        frame = opened.frame(self._labels, table, self._event_at)
        value = no_row(known.value_id) + frame.tail("t", opened.done)
        opened.done, opened.total = opened.done + 1, frame.total
        self._log.truncate(known.ref, value, self._inside(opened.done))
        self._size += len(value)

    def _mapped(self, raw: bytes) -> MappedTable:
        """Say what a new table map means."""
        table = table_map_cache.name_of(raw)
        signals = table == self._reading.signal_table
        if not signals and not self._roll.tables.captures(table):
            return table_map_cache.counted_table(raw, table, mariadb=self._reading.mariadb)
        try:
            told = table_map.parse(raw, mariadb=self._reading.mariadb, charsets=self._reading.collations)
            if signals:
                writers, ref = self._explained.signals(told), 0
            else:
                if (written := self._explained.writers(told, self._place.names_in(table))) is None:
                    return table_map_cache.counted_table(raw, table, mariadb=self._reading.mariadb)
                writers = written
                ref = self._shape(table, writers).ref
            decoder = self._explained.decoder(ref, told, writers)
        except OperatorNeeded as exc:
            self._flush()
            if signals:
                self._explained.signals_unread(table, exc)
            else:
                self._log.report(Fault(table, exc))
            return table_map_cache.counted_table(raw, table, mariadb=self._reading.mariadb, again=signals)
        order = signal_rows.signal_columns(writers.shape.table) if signals else None
        return MappedTable(raw, table, Images(told.columns), decoder, order)

    def _shape(self, table: TableId, writers: MySqlRegisteredShape) -> AnnouncedShape:
        """Announce a table's shape if it is not the last announced shape."""
        known, shape = self._log.shapes.get(table), writers.shape.table
        if known is None or known.shape != shape:
            self._flush()
            self._announce()
            self._tell(self._roll.met(table, shape))
        return self._log.announce(table, shape, writers.value_id)

    def _row_event(self, data: bytes, at: int, end: int, kind: int) -> None:
        number = int.from_bytes(data[at + HEADER : at + HEADER + 6], "little")
        mapped, opened = self._maps.of(number), self._in()
        if opened.silent:
            return
        if mapped is None:
            if number == _NO_TABLE:
                return
            raise self._out_of_order("nobody has said whose rows they are")
        at += HEADER
        if back := self._cut_off.back(opened):
            self._flush()  # or a place behind these rows would say that they are published
        if back or mapped.decoder is None:
            opened.done += mapped.count(data, at, end, kind)
        elif mapped.signals is not None:
            self._signals(mapped, data, at, end, kind)
        elif is_cut(data, at - HEADER, end):
            cut = OversizedRow(mapped.table, self._reading.most_event_bytes)
            self._changes(mapped.table, cut, data, at, end, kind)
        else:
            self._changes(mapped.table, mapped.decoder, data, at, end, kind)

    def _changes(
        self,
        table: TableId,
        decoder: MySqlRowDecoder | OversizedRow,
        data: bytes,
        at: int,
        end: int,
        kind: int,
    ) -> None:
        """Take the rows of a captured table; a row that can't be published ends only its own table."""
        opened = self._announce()
        first, skip = opened.done, max(opened.skip - opened.done, 0)
        made: list[RowChange] = []
        frame = opened.frame(self._labels, table, self._event_at)
        error: OperatorNeeded | None = None
        try:
            size = decoder.decode(data, at, end, kind, frame, first, skip, made)
            opened.total = frame.total
        except OperatorNeeded as exc:
            error = exc
        opened.handled_end = opened.done = first + (decoder.rows or 1)  # as `MappedTable.count` counts
        if error is None and isinstance(decoder, MySqlRowDecoder) and decoder.misfits:
            self._put_settled(decoder, made, size, first)
        elif error is not None:
            self._flush(first)  # a task that resumes there reaches this event again (INV-4)
            self._maps.give_up(table)
            self._log.report(Fault(table, error))
        elif made:
            self._put(made, size)

    def _put_settled(self, decoder: MySqlRowDecoder, made: list[RowChange], size: int, first: int) -> None:
        """Take an event's changes, and report its rows that do not fit."""
        self._flush(first)
        steps, at, self._rows = split_at_unfit(decoder, made, lambda rows: self._inside(first + rows))
        self._log.at = at
        self._log.steps += steps
        self._size += size
        if self._size >= self._reading.most_batch_bytes:
            self._flush()
            self._end_batch()

    def _put(self, made: list[RowChange], size: int) -> None:
        """Take an event's changes; a batch ends behind the change that fills it, not inside a key change."""
        most = self._reading.most_batch_bytes
        if self._size + size < most:
            self._rows += made
            self._size += size
            return
        changed_key = any(change[1] == "c" for change in made)
        for change in made:
            self._rows.append(change)
            self._size += len(change[2] or b"") + len(change[3])
            if changed_key and change[1] == "d":
                continue
            if self._size >= most:
                done = ordinal_in(change[3]) + 1
                self._flush(done)
                self._end_batch(done)

    def _flush(self, done: int | None = None) -> None:
        """Close the stretch of rows before another step; behind `done` changes, or all that have come."""
        if self._rows:
            done = self._in().done if done is None else done
            self._log.end_rows(self._rows, done - 1, self._inside(done))
            self._rows = []

    def _end_batch(self, done: int | None = None) -> None:
        if (opened := self.open) is not None:
            opened.handed = opened.handled_end if done is None else done
        self._log.end_batch(self._size)
        self._ended += self._size
        self._size = 0

    def _signals(self, mapped: MappedTable, data: bytes, at: int, end: int, kind: int) -> None:
        """Read rows that were inserted into the signal table.

        Also rows before a resume: what they started is saved only at the end of their transaction.
        """
        opened = self._announce()
        self._flush()
        first = opened.done
        opened.handled_end = opened.done = first + mapped.count(data, at, end, kind)
        frame, most = opened.frame(self._labels, mapped.table, self._event_at), self._reading.most_event_bytes
        rows = read_signals(mapped, data, at, end, frame, self._explained, most)
        self._log.steps += (Signal(*row, self._inside(nth)) for nth, row in enumerate(rows, start=first + 1))
