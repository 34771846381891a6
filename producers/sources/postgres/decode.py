"""pgoutput's messages into steps: the output of the slot, in the words of `steps.py`.  Pure.

    XLogData: 'w' start end clock | B … R … I U D … C        25 bytes of header, then one message

The caller gives a relation's shape (keys, types, identities of columns) once for each relation message; a
row costs only one call of the compiled `PgRowRun` here, which knows what the row before it has found.
Ordinals count row changes as the server sent them, before any filter of ours: so the same event has the
same seq after any restart and with any filter.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from wrackline.producers.contract.steps import (
    Batch,
    Begin,
    Commit,
    Fault,
    Message,
    Signal,
    UnfitRow,
)
from wrackline.producers.kit.step_log import StepLog
from wrackline.producers.rows.unfit_values import MISFIT_BYTES, SettledRow
from wrackline.producers.sources.postgres.discover import ddl_messages, partitions
from wrackline.producers.sources.postgres.discover.facts import (
    PgCatalogueSnapshot,
    PgRegisteredShape,
    PgTableFacts,
)
from wrackline.producers.sources.postgres.follow.table_tracker import PgTableTracker
from wrackline.producers.sources.postgres.log.position import PgPosition
from wrackline.producers.sources.postgres.rows import messages
from wrackline.producers.sources.postgres.rows.messages import BeginMessage, Relation
from wrackline.producers.sources.postgres.rows.row_run import Get, PgRowRun, place_of
from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder, text_cells
from wrackline.producers.sources.postgres.rows.source_record import PgSourceLabels, streamed_record
from wrackline.schemas.errors import Definite, OperatorNeeded, WracklineError, define
from wrackline.schemas.events.frame import Frame, no_row
from wrackline.schemas.tables.seq import log_prefix
from wrackline.schemas.tables.table import TableId, TableSchema

HEADER = 25  # of XLogData, before the message

MESSAGE_UNKNOWN = define(
    "pg.message_unknown",
    Definite,
    "the log contains a message of the kind {letter}, which protocol version 1 does not have",
    hint="report it with the server's version: psql -c 'select version()'",
)


class PgSchemaLookup(Protocol):
    """Explains the relations that the log names."""

    def writers(self, relation: Relation, behind: int | None) -> PgRegisteredShape | None:
        """Return the shape and schema ids of a relation; None where it is not one of ours.

        `behind`: the relation that the log announced directly before.
        """
        ...

    def genuine(self, secret: bytes) -> bool:
        """Whether a DDL message with this secret is genuine."""
        ...

    def revision(self, facts: PgTableFacts) -> tuple[PgTableFacts, TableSchema | None]:
        """Return what the log carries of the table of a DDL message, and the shape that is published."""
        ...


class PgDecoder:
    """Takes messages one by one; `take` hands out their steps."""

    def __init__(
        self,
        start: PgPosition,
        labels: PgSourceLabels,
        roll: PgTableTracker,
        explained: PgSchemaLookup,
        signal_table: TableId | None = None,
    ) -> None:
        self._labels = labels
        self._roll, self._explained, self._signal_table = roll, explained, signal_table
        self._log = StepLog(start, roll.tables.aside)
        self._skip_of = start if start.done else None  # some of its changes are already published
        self._stretch = PgRowRun()  # the rows since the last other step
        self.size = 0  # bytes of keys and values that no batch has yet
        self._decoders: dict[int, PgRowDecoder | None] = {}  # by relation; None: not captured, or at fault
        self._tables: dict[int, TableId] = {}  # by relation
        self._signals: dict[int, int] = {}  # relation of the signal table -> its columns
        self._frames: dict[TableId, Frame] = {}  # of the open transaction, which may send a relation again
        self._total = 0  # events of the open transaction, as its END counts them
        self._open: BeginMessage | None = None
        self._message_count = 0  # messages of the open transaction
        self._heard = bool(start.done)  # whether a keepalive has shown where the log is
        self._skip = 0
        self._behind: int | None = None  # the relation that was announced last
        self._beside: tuple[int | None, Relation] | None = None  # it, and its predecessor, until the next row
        self._sources: dict[int, TableSchema] = {}  # by relation: all columns, under their names in the log

    @property
    def full(self) -> bool:
        """Whether there are more steps than `take` hands out at once."""
        return self._log.full

    def pass_rows(self, get: Get, most: int, room: int) -> tuple[int, int, bytes]:
        """Take the rows that come next, within these limits: bytes of messages, and of their events.

        Return the bytes that were read, and the next other message with its size; without one, its size is
        what `get` said, or above 0 at a limit.
        """
        stretch = self._stretch
        try:
            size, other = stretch.pass_rows(get, most, room)
        except (OperatorNeeded, SettledRow) as exc:
            self._fault(stretch.relation, exc)
            size, other = 1, b""
        self.size += stretch.made
        return stretch.read, size, other

    def feed(self, data: bytes, at: int = HEADER) -> None:
        """Take one message, which begins at this place."""
        try:
            made = self._stretch.take(data, at)
        except (OperatorNeeded, SettledRow) as exc:
            self._fault(self._stretch.relation, exc)
            return
        if made:
            self.size += made
            return
        letter = data[at]
        if letter in b"IUD":
            self._row(data, at)
            return
        self._flush()
        at += 1
        match letter:
            case 66:  # B
                self._begin(messages.begin(data, at))
            case 67:  # C
                self._commit(messages.commit(data, at))
            case 82:  # R
                found = messages.relation(data, at)
                self._relation(found)
                self._beside, self._behind = (self._behind, found), found.oid
            case 84:  # T
                self._behind = self._beside = None  # it announces roots without a partition behind them
                self._truncate(messages.truncate(data, at).oids, place_of(data, at - 1))
            case 77:  # M
                self._message(messages.message(data, at))
            case 89 | 79:  # Y, O: a type's name and a transaction's origin are not needed
                pass
            case _:
                raise MESSAGE_UNKNOWN(letter=chr(letter))

    def progress(self, lsn: int) -> None:
        """Take a keepalive: everything that ended at or before this place was sent before it.

        The first one counts also where the log has not moved: a pipeline that begins saves its place.
        """
        if self._open is not None:
            return
        if lsn > self._log.at.lsn:
            self._flush()
            self._log.progress(self._place(lsn, 0, lsn))
        elif not self._heard and lsn == self._log.at.lsn:
            self._log.progress(self._log.at)
        self._heard = self._heard or lsn >= self._log.at.lsn

    def passed(self, lsn: int) -> bool:
        """Whether the log was taken up to here, and no transaction is open."""
        return self._open is None and self._log.at.lsn >= lsn

    def look(self, picture: PgCatalogueSnapshot) -> None:
        """Take a picture of the catalogue that the log has passed."""
        news = self._roll.picture(picture)
        if news:
            self._log.report(*news)
            self._log.progress(self._log.at)

    def leave_out(self, unfit: Mapping[TableId, WracklineError]) -> None:
        """Hand out nothing of these tables, and report this before anything else."""
        for table, error in unfit.items():
            self._log.report(Fault(table, error))
        if unfit and not self._log.at.done:
            self._log.progress(self._log.at)

    def take(self) -> Batch | None:
        """Hand out the steps so far; a picture of many tables makes more steps than one batch holds."""
        self._flush()
        if self._log.steps:
            self._log.end_batch(self.size)
            self.size = 0
        return self._log.take()

    def _row(self, data: bytes, at: int) -> None:
        """Take a row that begins a stretch, or that needs bookkeeping."""
        relation = int.from_bytes(data[at + 1 : at + 5], "big")
        ordinal = self._next_ordinal()
        self._check_partition(relation)
        decoder = self._decoders.get(relation)
        if decoder is None:
            if relation in self._signals:
                self._signal(data, at, relation)
            return
        counted = self._labels.counted
        out = ordinal + self._message_count < self._skip
        if out and not counted:
            return
        table = self._tables[relation]
        frame = self._frames.get(table) or self._frame(table)
        frame.place = place_of(data, at)
        frame.total = self._total
        if not counted:
            self._stretch.aim(relation, decoder, frame)
        try:
            size = decoder.decode(data, at, frame, ordinal, [] if out else self._stretch.rows)
        except OperatorNeeded as exc:
            self._fault(relation, exc)
            return
        except SettledRow as settled:
            size = 0
            if not out:
                self._fault(relation, settled)
        self._total = frame.total
        self.size += 0 if out else size

    def _check_partition(self, relation: int) -> None:
        """Check that old rows of a partition suffice; it was announced behind the relation of its rows."""
        beside, self._beside = self._beside, None
        if beside is None or beside[0] != relation or self._decoders.get(relation) is None:
            return
        try:
            partitions.check_logged(self._sources[relation], beside[1])
        except OperatorNeeded as exc:
            self._fault(relation, exc)

    @property
    def _done(self) -> int:
        """How many changes and messages of the open transaction have come: it can be cut after each."""
        return self._stretch.ordinal + self._message_count

    def _next_ordinal(self) -> int:
        self._stretch.ordinal += 1
        return self._stretch.ordinal - 1

    def _flush(self) -> None:
        """Close the stretch of rows before another step."""
        rows = self._stretch.end()
        if rows and self._open is not None:
            self._log.end_rows(rows, self._stretch.ordinal - 1, self._inside(self._open))

    def _inside(self, begun: BeginMessage) -> PgPosition:
        """Return the place in the open transaction behind all that has come of it."""
        return self._place(begun.lsn, self._done, self._log.at.resume)

    def _place(self, lsn: int, done: int, resume: int) -> PgPosition:
        at = self._log.at
        return PgPosition(at.epoch, lsn, done, resume, at.history, at.committed)

    def _begin(self, begun: BeginMessage) -> None:
        self._open = begun
        self._stretch.ordinal = self._message_count = self._total = 0
        self._skip = 0
        if self._skip_of is not None and begun.lsn >= self._skip_of.lsn:
            self._skip = self._skip_of.done if begun.lsn == self._skip_of.lsn else 0
            self._skip_of = None
        self._frames.clear()
        name = _transaction_name(begun)
        self._log.steps.append(Begin(str(begun.xid), begun.committed_ms, self._skip, name))

    def _commit(self, done: messages.CommitMessage) -> None:
        xid = str(self._open.xid) if self._open is not None else ""
        self._open = None
        self._log.at = replace(self._place(done.end, 0, done.end), committed=done.end)
        self._log.steps.append(Commit(xid, self._log.at, done.committed_ms))

    def _relation(self, found: Relation) -> None:
        table = TableId(self._labels.database, found.schema, found.name)
        self._decoders[found.oid] = None
        if table == self._signal_table:
            self._signals[found.oid] = len(found.columns)
            return
        writers, error = None, None
        if self._roll.tables.captures(table):
            try:
                writers = self._explained.writers(found, self._behind)
            except OperatorNeeded as exc:  # a transient error is not a table's fault: it ends the stream
                error = exc
        shape = None if writers is None else writers.shape.table
        captured = writers is not None or error is not None
        self._log.report(*self._roll.named(found.oid, table, captured=captured, shape=shape))
        if error is not None:
            self._log.report(Fault(table, error))
        elif writers is not None:
            self._captured(found.oid, table, writers)

    def _captured(self, oid: int, table: TableId, writers: PgRegisteredShape) -> None:
        """Hand out the rows of this relation from here on, in this shape."""
        shape, facts = writers.shape.table, writers.facts
        filled = frozenset[int]() if facts is None else facts.filled
        ref = self._log.announce(table, shape, writers.value_id, filled).ref
        if facts is not None:
            self._log.report(*self._roll.logged(facts, shape))
        self._decoders[oid] = PgRowDecoder(
            ref,
            writers.shape,
            writers.key_id,
            writers.value_id,
            self._labels.placeholder,
            changed_only=self._labels.changed_only,
        )
        self._tables[oid] = table
        self._sources[oid] = writers.shape.source

    def _ddl(self, content: bytes) -> None:
        secret, said = ddl_messages.split_secret(content)
        if not said or not self._explained.genuine(secret):  # an empty one only keeps others in order
            return
        facts = ddl_messages.read_ddl(said, self._labels.database)
        if facts is None:
            self._roll.reports.add()  # so that the next look is no rest: see follow/sight.py
            self._roll.reports.wake()
            return
        news = self._roll.altered(*self._explained.revision(facts))
        if self._done >= self._skip:
            self._log.report(*news)

    def _frame(self, table: TableId) -> Frame:
        """Make the part that the events of the open transaction and this table have in common."""
        begun = self._open
        if begun is None:
            raise MESSAGE_UNKNOWN(letter="row outside a transaction")
        source = streamed_record(
            self._labels,
            table,
            ts_us=begun.committed_us,
            xid=begun.xid,
            committed=self._log.at.committed,
        )
        transaction = _transaction_name(begun) if self._labels.counted else None
        prefix = log_prefix(self._log.at.epoch, begun.lsn.to_bytes(8, "big"))
        made = Frame(
            source,
            prefix,
            ts_ms=begun.committed_ms,
            transaction=transaction,
            skipped=self._labels.skipped,
        )
        self._frames[table] = made
        return made

    def _fault(self, relation: int, error: WracklineError | SettledRow) -> None:
        """Give up the table of a row that can't be published, or report a row that does not fit.

        The rows before it end before it: a task that resumes there must reach it again (INV-4).
        """
        self._stretch.ordinal -= 1
        self._flush()
        self._stretch.ordinal += 1
        table = self._tables[relation]
        if isinstance(error, SettledRow):
            self._settled(self._log.shapes[table].ref, error)
        else:
            self._decoders[relation] = None
            self._log.report(Fault(table, error))

    def _settled(self, ref: int, settled: SettledRow) -> None:
        if self._open is None:
            raise MESSAGE_UNKNOWN(letter="row outside a transaction")
        at = self._inside(self._open)
        self._log.steps.append(UnfitRow(ref, settled.misfit, at))
        self._log.end_rows(settled.events, self._stretch.ordinal - 1, at)
        self.size += MISFIT_BYTES + sum(
            len(key or b"") + len(value) for _, _, key, value, _ in settled.events
        )

    def _truncate(self, relations: tuple[int, ...], place: int) -> None:
        for relation in relations:
            ordinal = self._next_ordinal()
            if self._decoders.get(relation) is None or self._open is None:
                continue
            table = self._tables[relation]
            shape = self._log.shapes[table]
            frame = self._frames.get(table) or self._frame(table)
            frame.place, frame.total = place, self._total
            value = no_row(shape.value_id) + frame.tail("t", ordinal)
            self._total = frame.total
            if ordinal + self._message_count < self._skip:
                continue
            self._log.truncate(shape.ref, value, self._inside(self._open))
            self.size += len(value)

    def _message(self, said: messages.LogicalMessage) -> None:
        """Pass a message on once; outside a transaction, its LSN is the end of its record.

        The next record may begin there, and it may be a commit: the place is not one byte further, because
        then the server would not send that transaction again.
        """
        if said.prefix == ddl_messages.PREFIX and said.transactional:
            self._ddl(said.content)
        if not said.transactional:
            if said.lsn <= self._log.at.lsn:
                return
            self._log.at = self._place(said.lsn, 0, said.lsn)
        elif self._open is not None:
            self._message_count += 1
            if self._done <= self._skip:
                return
            self._log.at = self._inside(self._open)
        if said.prefix == ddl_messages.PREFIX:
            return
        self.size += len(said.content)
        self._log.steps.append(Message(said.prefix, said.content, self._log.at))

    def _signal(self, data: bytes, at: int, relation: int) -> None:
        """Read a row that was inserted into the signal table: id, type, data, in this order.

        Also a row before a resume: what it started is saved only at the end of its transaction.
        """
        if data[at] != ord("I") or self._open is None:
            return
        self._flush()
        cells = text_cells(data, at + 6, self._signals[relation])
        if len(cells) < 3:
            return
        texts = [(cell or b"").decode() for cell in cells[:3]]
        self._log.steps.append(Signal(texts[0], texts[1], texts[2], self._inside(self._open)))


def _transaction_name(begun: BeginMessage) -> str:
    """Name a transaction as Debezium does: ids are used again, and a place in the log is not."""
    return f"{begun.xid}:{begun.lsn}"
