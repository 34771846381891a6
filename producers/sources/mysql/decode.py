"""A binlog's events into steps: what comes out of the dump, as `changes.py` words it.  Pure.

    MySQL     GTID | BEGIN | map rows map rows | XID or COMMIT        GTID | a statement of the schema
    MariaDB   GTID |         map rows map rows | XID or COMMIT        GTID (standalone) | a statement

A transaction is announced with the first thing in it that goes out, so one that holds nothing of ours
costs a place in the log and no step.  Its end is an XID, a COMMIT, or where the server said that it ends:
MySQL tells a transaction's length, MariaDB that one event is all.
Ordinals count row changes as the server sent them, before any filter of ours: so the same event has the same
seq after any restart, whatever is captured.
"""

from collections import deque
from collections.abc import Iterable, Mapping

from wrackline.producers.changes import (
    Batch,
    Begin,
    Commit,
    Fault,
    Found,
    Progress,
    Renamed,
    Reshaped,
    RowChange,
    Rows,
    Shape,
    Signal,
    Step,
    Truncate,
    Vanished,
)
from wrackline.producers.sources.mysql import kinds, maps, table_map
from wrackline.producers.sources.mysql.cut_off import CutOff
from wrackline.producers.sources.mysql.dump_refusals import LOG_OUT_OF_ORDER
from wrackline.producers.sources.mysql.events import (
    HEADER,
    Committed,
    FormatDescription,
    Frames,
    GroupBegun,
    Header,
    Heartbeat,
    Query,
    Rotate,
    TransactionBegun,
    XaPrepared,
    header,
    small_event,
)
from wrackline.producers.sources.mysql.gtids import with_one
from wrackline.producers.sources.mysql.images import Images
from wrackline.producers.sources.mysql.maps import Announced, Announcement, Explained, Mapped, Maps, Writers
from wrackline.producers.sources.mysql.origin import Labels, no_row
from wrackline.producers.sources.mysql.place import Place
from wrackline.producers.sources.mysql.position import MySqlPosition, Names
from wrackline.producers.sources.mysql.prepared import Part, PartReading, Xa
from wrackline.producers.sources.mysql.queries import deeds_of, said
from wrackline.producers.sources.mysql.renaming import renamed, tables_of
from wrackline.producers.sources.mysql.roll import Picture, Roll, Told
from wrackline.producers.sources.mysql.rows import RowDecoder
from wrackline.producers.sources.mysql.scope import Reading
from wrackline.producers.sources.mysql.signal_rows import order_of, texts
from wrackline.producers.sources.mysql.statements import Control, Deed, Emptied, Word
from wrackline.producers.sources.mysql.transaction import Transaction, begun
from wrackline.producers.sources.mysql.unpacked import spans, unpacked
from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.seq import ordinal_digits
from wrackline.schemas.table import TableId

_AT_ONCE = 2000  # steps: whoever takes them has other things to do in between
_ARTIFICIAL = 0x20
_NO_TABLE = 0xFFFFFF  # an event without rows, which only ends a statement
_MAY_END = frozenset(
    {kinds.QUERY, kinds.EXECUTE_LOAD_QUERY, kinds.QUERY_COMPRESSED, kinds.TRANSACTION_PAYLOAD}
)
_INSERTS = frozenset({kinds.WRITE_ROWS_V1, kinds.WRITE_ROWS_V2})


class Decoder:
    """Takes events one by one; `take` hands out what they have become."""

    def __init__(
        self,
        start: MySqlPosition,
        labels: Labels,
        roll: Roll,
        explained: Explained,
        reading: Reading,
        cut_off: CutOff,
    ) -> None:
        self._labels, self._roll, self._explained, self._reading = labels, roll, explained, reading
        self._at, self._cut_off = start, cut_off
        self._place = Place(start, reading.server)
        self._xa = Xa(self._place, reading)
        self._frames = Frames()
        self._maps = Maps(self._mapped)
        self._announced = Announced()
        self.open: Transaction | None = None  # has begun and not ended
        self._steps: list[Step] = []
        self._rows: list[RowChange] = []  # since the last other step
        self._ready: deque[Batch] = deque()
        self._size = 0
        self._said = False  # where the log stands, since it was opened

    @property
    def full(self) -> bool:
        """Whether a batch is complete."""
        return bool(self._ready) or len(self._steps) > _AT_ONCE

    @property
    def position(self) -> MySqlPosition:
        """The place up to which everything was handed out or is in `take`."""
        return self._at

    @property
    def wanted(self) -> Part | None:
        """What has to be fed before the log goes on: of a dump of its own, from its beginning."""
        return None if self._xa.part is None else self._xa.part.part

    @property
    def names(self) -> Names:
        """The columns that were renamed, as far as the log has come; any thread may ask."""
        return self._place.names

    def passed(self, picture: Picture) -> bool:
        """Whether all of the log that a picture shows was told, and no transaction is open."""
        return self.open is None and (self._place.number, self._place.offset) >= picture.upto

    def look(self, picture: Picture) -> None:
        """Take a picture of the catalogue that the log has passed."""
        news = list(self._roll.picture(picture))
        if news:
            self._flush()
            self._tell(news)
            self._steps.append(Progress(self._at))  # so that they are published though nothing follows

    def feed(self, data: bytes, at: int, end: int) -> None:
        """Take one event, which lies there with its checksum; of the log, or of what is wanted."""
        if self._xa.part is not None:
            self._reads_part(self._xa.part, data, at, end)
            return
        end = self._frames.body_end(data, at, end)
        low = int.from_bytes(data[at + 13 : at + 17], "little")
        artificial = data[at + 17] & _ARTIFICIAL or not low
        if not artificial:
            self._place.passed(low)
        self._event(data, at, end)
        if data[at + 4] in _MAY_END:
            self._ends_here()
        if self.open is None and not artificial and data[at + 4] != kinds.ROTATE:
            self._progress()

    def say(self) -> None:
        """Say where the log stands, though nothing has happened."""
        if self.open is None and not self._at.done:
            self._said = True
            self._steps.append(Progress(self._at))

    def take(self) -> Batch | None:
        """Hand out the steps so far."""
        if self._ready:
            return self._ready.popleft()
        self._flush()
        if not self._steps:
            return None
        self._end_batch()
        return self._ready.popleft()

    def _event(self, data: bytes, at: int, end: int) -> None:
        kind = data[at + 4]
        if kind in kinds.ROWS:
            self._row_event(data, at, end, kind)
        elif kind == kinds.TABLE_MAP:
            if self.open is None or not self.open.silent:
                self._maps.take(data[at + HEADER : end])
        elif kind in kinds.PACKED:
            plain = unpacked(data, at, end, self._reading.most_event_bytes)
            for begin, behind in spans(plain):
                self._event(plain, begin, behind)
        else:
            self._small(data, at, end)

    def _small(self, data: bytes, at: int, end: int) -> None:
        match small_event(data, at, end):
            case Query() as query:
                self._query(query)
            case Committed():
                self._commit()
            case TransactionBegun() | GroupBegun() as begins:
                self._begin(begins, header(data, at))
            case XaPrepared(one_phase, xid):
                if self._xa.prepared(xid, self._in(), one_phase=one_phase):
                    self._commit()
            case Heartbeat(file, offset):
                self._heartbeat(file, offset)
            case Rotate(file, offset):
                self._place.moved(file, offset)
            case FormatDescription(begun=when, created=started):
                if started and self.open is not None:
                    self._cut_off.met(self.open)
                    self.open = None
                self._place.begun(when)
            case _:
                pass

    def _heartbeat(self, file: str, offset: int) -> None:
        """The log was sent up to here; what the server left out on the way is none of ours."""
        if self.open is None and file == self._place.history.file:
            self._place.offset = max(self._place.offset, offset)
            self._progress()
            if not self._said:
                self.say()

    def _progress(self) -> None:
        """All that ended at or before this place was handed out."""
        if self._place.is_behind(self._at):
            self._flush()
            self._at, self._said = self._place.here(), True
            if self._steps and isinstance(self._steps[-1], Progress):
                self._steps.pop()
            self._steps.append(Progress(self._at))

    def _inside(self, done: int) -> MySqlPosition:
        """Return the place in the open transaction behind so many of its changes."""
        return self._in().start.behind(done)

    def _in(self) -> Transaction:
        if self.open is None:
            raise self._out_of_order("no transaction has begun")
        return self.open

    def _out_of_order(self, reason: str) -> WracklineError:
        return LOG_OUT_OF_ORDER(file=self._place.history.file, offset=self._place.offset, reason=reason)

    def _begin(self, event: TransactionBegun | GroupBegun, head: Header) -> None:
        if self.open is not None:
            raise self._out_of_order(f"transaction {self.open.id} has not ended")
        self._maps.tidy()
        start, out = self._place.entered(event.gtid, head.size)
        self.open = opened = begun(event, head, start, self._place.history.file)
        opened.lost = self._cut_off.has(opened)
        if out:  # its end may be all that is left to tell
            opened.skip = out
            self._announce()

    def _announce(self) -> Transaction:
        """Hand out the transaction's beginning, before the first thing in it."""
        opened = self._in()
        if not opened.announced:
            opened.announced = True
            self._steps.append(Begin(opened.id, opened.committed_ms, opened.skip))
        return opened

    def _commit(self) -> None:
        opened = self._in()
        self._flush()
        self.open = None
        self._place.gtids = with_one(self._place.gtids, opened.gtid)
        if opened.announced:
            self._at = self._place.here()
            self._steps.append(Commit(opened.id, self._at, opened.committed_ms))
        else:
            self._progress()

    def _reads_part(self, part: PartReading, data: bytes, at: int, end: int) -> None:
        """Take an event of the dump whose rows are the open transaction's."""
        for event in part.take(data, at, end):
            self._event(*event)
        if part.ended:
            self._xa.read()
            self._commit()

    def _query(self, query: Query) -> None:
        opened = self._in()
        opened.thread = query.thread if self._xa.part is None else opened.thread
        done = () if opened.void or opened.lost else deeds_of(query, self._reading)
        match done:
            case (Control() as control,):
                self._control(control, opened)
            case ():
                pass
            case _:
                self._deeds(done, query)

    def _ends_here(self) -> None:
        """End a transaction behind the statement that is all of it, as only its place says."""
        opened = self.open
        if opened is not None and self._xa.part is None and opened.ends_at(self._place.offset):
            self._commit()

    def _control(self, control: Control, opened: Transaction) -> None:
        match control.word:
            case Word.COMMIT:
                self._commit()
            case Word.SAVEPOINT | Word.ROLLBACK_TO:
                self._flush()
                self._cut_off.savepoint(opened, control, self._steps)
            case Word.ROLLBACK:
                self._flush()
                self._cut_off.rolled_back(opened, 0, self._steps)
                self._commit()
            case Word.XA_START:
                opened.prepared = True
            case Word.XA_COMMIT | Word.XA_ROLLBACK:
                if self._xa.completed(control):
                    self._commit()
            case _:
                pass

    def _deeds(self, done: tuple[Deed, ...], query: Query) -> None:
        """Take what a statement does to tables, at its place."""
        self._flush()
        self._maps.forget()
        for deed in done:
            for table in tables_of(deed):
                self._explained.altered(table)
        self._place.names = renamed(self._place.names, done)
        news = list(self._roll.done(done, query.database))
        if self._in().done >= self._in().skip:
            self._tell(said(news, query))

    def _tell(self, news: Iterable[Told | Found]) -> None:
        """Hand out what became of tables; it stands before what it explains."""
        for step in news:
            match step:
                case Emptied(table):
                    self._truncate(table)
                case Vanished(table) | Renamed(table):
                    self._announced.forget(table)  # whoever has this name next is another table
                    self._steps.append(step)
                case _:
                    self._steps.append(step)

    def _truncate(self, table: TableId) -> None:
        """Hand out the `t` event; where nobody knows what the table was, have its rows read again."""
        opened = self._announce()
        try:
            known = self._announced.known(table) or self._shape_now(table)
        except OperatorNeeded as exc:
            self._give_up(table, exc)
            return
        if known is None:
            self._steps.append(Reshaped(table, refresh=True))
            return
        ordinal, order = opened.done, opened.order(table, 1)
        opened.done += 1
        value = no_row(known.value_id) + opened.frame(self._labels, table).tail("t", ordinal, order)
        self._at = self._inside(opened.done)
        self._steps.append(Truncate(known.ref, value, self._at))
        self._size += len(value)

    def _shape_now(self, table: TableId) -> Announcement | None:
        """Announce a table as it is now; nothing where it is not there any more."""
        writers = self._explained.described(table, self._first_names(table))
        return None if writers is None else self._shape(table, writers)

    def _mapped(self, raw: bytes) -> Mapped:
        """Say what a table map means that was not met before."""
        table = maps.name_of(raw)
        signals = table == self._reading.signal_table
        if not signals and not self._roll.captures(table):
            return maps.counted(raw, table, mariadb=self._reading.mariadb)
        try:
            told = table_map.parse(raw, mariadb=self._reading.mariadb, said=self._reading.collations)
            explained = self._explained
            if signals:
                writers, ref = explained.signals(told), 0
            else:
                written = explained.writers(told, self._first_names(table))
                if written is None:
                    return maps.counted(raw, table, mariadb=self._reading.mariadb)
                writers = written
                ref = self._shape(table, writers).ref
            decoder = explained.decoder(ref, told, writers)
        except OperatorNeeded as exc:
            self._flush()
            self._give_up(table, exc)
            return maps.counted(raw, table, mariadb=self._reading.mariadb)
        order = order_of(writers.shape.table) if signals else None
        return Mapped(raw, table, Images(told.columns), decoder, order)

    def _first_names(self, table: TableId) -> Mapping[str, str]:
        return self._place.names.get(str(table), {})

    def _shape(self, table: TableId, writers: Writers) -> Announcement:
        """Announce a table's shape where it is not the last one told."""
        known = self._announced.known(table)
        shape = writers.shape.table
        if known is not None and known.shape == shape:
            return known
        self._flush()
        self._announce()
        self._tell(self._roll.met(table, shape))
        made = self._announced.add(table, writers)
        self._steps.append(Shape(made.ref, shape, known.shape if known else None))
        return made

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
            self._flush()  # or a place behind these rows would say that they are out
        if back or mapped.decoder is None:
            opened.passes(mapped.table, mapped.count(data, at, end, kind))
        elif mapped.signals is not None:
            self._signals(mapped, data, at, end, kind)
        else:
            self._changes(mapped.table, mapped.decoder, data, at, end, kind)

    def _changes(
        self, table: TableId, decoder: RowDecoder, data: bytes, at: int, end: int, kind: int
    ) -> None:
        """Take the rows of a captured table; one that can't be told ends its table's, not its neighbours'."""
        opened = self._announce()
        first, skip = opened.done, max(opened.skip - opened.done, 0)
        made: list[RowChange] = []
        frame = opened.frame(self._labels, table)
        error: OperatorNeeded | None = None
        try:
            size = decoder.decode(data, at, end, kind, frame, first, opened.order(table, 0), skip, made)
        except OperatorNeeded as exc:
            error = exc
        count = decoder.rows
        opened.passes(table, count)
        opened.told = opened.done
        if error is not None:
            self._flush(first)  # who resumes there comes to this event again (INV-4)
            self._maps.give_up(table)
            self._give_up(table, error)
        elif made:
            self._put(made, size, first + min(skip, count))

    def _put(self, made: list[RowChange], size: int, done: int) -> None:
        """Take an event's changes behind `done` others of the transaction; a batch ends where it is full.

        Both halves of a changed key are one change, and stay together.
        """
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
            done += 1
            if self._size >= most:
                self._flush(done)
                self._end_batch(done)

    def _flush(self, done: int | None = None) -> None:
        """Close the stretch of rows before another step; behind `done` changes, or all that have come."""
        if self._rows:
            opened = self._in()
            done = opened.done if done is None else done
            ordinal_digits(done - 1)  # an ordinal that has no room in seq would start again at 0
            self._at = self._inside(done)
            self._steps.append(Rows(self._rows, self._at))
            self._rows = []

    def _end_batch(self, done: int | None = None) -> None:
        if (opened := self.open) is not None:
            opened.handed = opened.told if done is None else done
        self._ready.append(Batch(tuple(self._steps), self._size))
        self._steps, self._size = [], 0

    def _signals(self, mapped: Mapped, data: bytes, at: int, end: int, kind: int) -> None:
        """Read rows that were inserted into the signal table.

        Also those before a resume: what they began is saved at their transaction's end, so not yet.
        """
        opened = self._announce()
        self._flush()
        first = opened.done
        opened.told = opened.done = first + mapped.count(data, at, end, kind)
        if mapped.decoder is None or mapped.signals is None or kind not in _INSERTS:
            return
        made: list[RowChange] = []
        mapped.decoder.decode(
            data, at, end, kind, opened.frame(self._labels, mapped.table), first, 0, 0, made
        )
        for nth, change in enumerate(made, start=first + 1):
            signal, type_, said = texts(change[3], mapped.signals)
            self._steps.append(Signal(signal, type_, said, self._inside(nth)))

    def _give_up(self, table: TableId, error: WracklineError) -> None:
        """Hand out no changes of a table from here on; the others go on."""
        self._roll.aside.add(table)
        self._steps.append(Fault(table, error))
