"""pgoutput's messages into steps: what comes out of the slot, as `changes.py` words it.  Pure.

    XLogData: 'w' start end clock | B … R … I U D … C        25 bytes of header, then one message

A relation's shape (keys, types, identities of columns) is asked of the caller once a relation
message; all that a row costs here is one call of the compiled `Stretch`, which knows what the row before
it has found.
Ordinals count row changes as the server sent them, before any filter of ours: so the same event
has the same seq after any restart, whatever is captured.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from wrackline.producers.changes import (
    Batch,
    Begin,
    Commit,
    Fault,
    Message,
    Progress,
    Renamed,
    Rows,
    Shape,
    Signal,
    Step,
    Truncate,
    Vanished,
)
from wrackline.producers.sources.postgres import ddl, messages
from wrackline.producers.sources.postgres.facts import Picture, TableFacts
from wrackline.producers.sources.postgres.messages import BeginMessage, Relation
from wrackline.producers.sources.postgres.origin import Labels, no_row, source_record
from wrackline.producers.sources.postgres.position import PgPosition, lsn_text
from wrackline.producers.sources.postgres.roll import Roll
from wrackline.producers.sources.postgres.rows import RowDecoder, text_cells
from wrackline.producers.sources.postgres.stretch import Stretch
from wrackline.schemas.errors import Definite, OperatorNeeded, WracklineError, define
from wrackline.schemas.frame import Frame
from wrackline.schemas.projection import Projection
from wrackline.schemas.seq import log_prefix, ordinal_digits
from wrackline.schemas.table import TableId, TableSchema

HEADER = 25  # of XLogData, before the message
_AT_ONCE = 2000  # steps: whoever takes them has other things to do in between

MESSAGE_UNKNOWN = define(
    "pg.message_unknown",
    Definite,
    "the log sent a message of the kind {letter}, which protocol version 1 does not have",
    hint="report it with the server's version: psql -c 'select version()'",
)


class Writers(NamedTuple):
    """What a captured relation is written with: its shape and the registered ids of its schemas."""

    shape: Projection
    key_id: int
    value_id: int
    facts: TableFacts | None = None  # what the catalogue says beyond the shape; None: nothing was asked


class Shapes(Protocol):
    """Explains what the log names."""

    def writers(self, relation: Relation, behind: int | None) -> Writers | None:
        """Return what a relation is written with; None where it is none of ours.

        `behind`: the relation that the log announced directly before.
        """
        ...

    def told(self, facts: TableFacts) -> tuple[TableFacts, TableSchema | None] | None:
        """Return what the log carries of a table that a DDL message shows, and what goes out of it.

        None where the message is not to be believed.
        """
        ...


class Decoder:
    """Takes messages one by one; `take` hands out what they have become."""

    def __init__(
        self,
        start: PgPosition,
        labels: Labels,
        roll: Roll,
        explained: Shapes,
        signal_table: TableId | None = None,
    ) -> None:
        self._labels = labels
        self._roll, self._explained, self._signal_table = roll, explained, signal_table
        self._at = start
        self._skip_of = start if start.done else None  # changes of this transaction are out already
        self._steps: list[Step] = []
        self._stretch = Stretch()  # the rows since the last other step
        self.size = 0
        self._shapes: dict[TableId, tuple[TableSchema, int]] = {}
        self._decoders: dict[int, RowDecoder | None] = {}  # by relation; None: not captured, or at fault
        self._heads: dict[int, tuple[TableId, bytes]] = {}  # by relation: the table, and its `t` event's head
        self._signals: dict[int, int] = {}  # relation of the signal table -> its columns
        self._frames: dict[int, Frame] = {}  # of the open transaction, by relation
        self._orders: dict[int, int] = {}
        self._open: BeginMessage | None = None
        self._said = 0  # messages of the open transaction
        self._skip = 0
        self._refs = 0
        self._behind: int | None = None  # the relation that was announced last

    @property
    def full(self) -> bool:
        """Whether there are more steps than `take` hands out at once."""
        return len(self._steps) > _AT_ONCE

    @property
    def position(self) -> PgPosition:
        """The place up to which everything was handed out or is in `take`."""
        return self._at

    def feed(self, data: bytes, at: int = HEADER) -> None:
        """Take one message, which begins at this place."""
        try:
            made = self._stretch.take(data, at)
        except OperatorNeeded as exc:
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
                self._behind = found.oid
            case 84:  # T
                self._behind = None  # it announces roots without a partition behind them
                self._truncate(messages.truncate(data, at).oids)
            case 77:  # M
                self._message(messages.message(data, at))
            case 89 | 79:  # Y, O: a type's name and a transaction's origin say nothing that is needed
                pass
            case _:
                raise MESSAGE_UNKNOWN(letter=chr(letter))

    def progress(self, lsn: int) -> None:
        """Take a keepalive: all that ended at or before this place was sent before it."""
        if self._open is None and lsn > self._at.lsn:
            self._flush()
            self._at = self._place(lsn, 0, lsn)
            if self._steps and isinstance(self._steps[-1], Progress):
                self._steps.pop()
            self._steps.append(Progress(self._at))

    def passed(self, lsn: int) -> bool:
        """Whether all of the log up to here was told, and no transaction is open."""
        return self._open is None and self._at.lsn >= lsn

    def look(self, picture: Picture) -> None:
        """Take a picture of the catalogue that the log has passed."""
        news = self._roll.picture(picture)
        if news:
            self._tell(news)
            self._steps.append(Progress(self._at))  # so that they are published though nothing follows

    def leave_out(self, unfit: Mapping[TableId, WracklineError]) -> None:
        """Hand out nothing of these tables, and say so before anything else."""
        for table, error in unfit.items():
            self._give_up(table, error)
        if unfit and not self._at.done:
            self._steps.append(Progress(self._at))  # so that it is published though nothing follows

    def take(self) -> Batch | None:
        """Hand out the steps so far; a picture of many tables gives more than are taken in at once."""
        self._flush()
        if not self._steps:
            return None
        batch = Batch(tuple(self._steps[:_AT_ONCE]), self.size)
        del self._steps[:_AT_ONCE]
        if not self._steps:
            self.size = 0  # until then it bounds what is left, too
        return batch

    def _row(self, data: bytes, at: int) -> None:
        """Take a row that begins a stretch, or one that needs books."""
        relation = int.from_bytes(data[at + 1 : at + 5], "big")
        ordinal = self._next_ordinal()
        decoder = self._decoders.get(relation)
        if decoder is None:
            if relation in self._signals:
                self._signal(data, at, relation)
            return
        order = self._order(relation)
        if ordinal + self._said < self._skip:
            return
        frame = self._frames.get(relation) or self._frame(relation)
        if not self._labels.counted:
            self._stretch.aim(relation, decoder, frame)
        try:
            self.size += decoder.decode(data, at, frame, ordinal, order, self._stretch.rows)
        except OperatorNeeded as exc:
            self._fault(relation, exc)

    @property
    def _done(self) -> int:
        """How much of the open transaction has come: changes and messages, for it can be cut after each."""
        return self._stretch.ordinal + self._said

    def _next_ordinal(self) -> int:
        self._stretch.ordinal += 1
        return self._stretch.ordinal - 1

    def _order(self, relation: int) -> int:
        """Count the transaction's changes of one table, also those that are out already."""
        if not self._labels.counted:
            return 0
        order = self._orders.get(relation, 0)
        self._orders[relation] = order + 1
        return order

    def _flush(self) -> None:
        """Close the stretch of rows before another step."""
        rows = self._stretch.end()
        if rows and self._open is not None:
            ordinal_digits(
                self._stretch.ordinal - 1
            )  # an ordinal that has no room in seq would start again at 0
            self._at = self._place(self._open.lsn, self._done, self._at.resume)
            self._steps.append(Rows(rows, self._at))

    def _place(self, lsn: int, done: int, resume: int) -> PgPosition:
        return PgPosition(self._at.epoch, lsn, done, resume, self._at.history)

    def _begin(self, begun: BeginMessage) -> None:
        self._open = begun
        self._stretch.ordinal = self._said = 0
        self._skip = 0
        if self._skip_of is not None and begun.lsn >= self._skip_of.lsn:
            self._skip = self._skip_of.done if begun.lsn == self._skip_of.lsn else 0
            self._skip_of = None
        self._frames.clear()
        self._orders.clear()
        self._steps.append(Begin(str(begun.xid), begun.committed_ms, self._skip, _published(begun)))

    def _commit(self, done: messages.CommitMessage) -> None:
        xid = str(self._open.xid) if self._open is not None else ""
        self._open = None
        self._at = self._place(done.end, 0, done.end)
        self._steps.append(Commit(xid, self._at, done.committed_ms))

    def _relation(self, found: Relation) -> None:
        table = TableId(self._labels.database, found.schema, found.name)
        self._decoders[found.oid] = None
        self._frames.pop(found.oid, None)
        if table == self._signal_table:
            self._signals[found.oid] = len(found.columns)
            return
        writers, error = None, None
        if self._roll.captures(table):
            try:
                writers = self._explained.writers(found, self._behind)
            except OperatorNeeded as exc:  # what mends itself is no table's fault: it ends the stream
                error = exc
        shape = None if writers is None else writers.shape.table
        captured = writers is not None or error is not None
        self._tell(self._roll.named(found.oid, table, captured=captured, shape=shape))
        if error is not None:
            self._give_up(table, error)
        elif writers is not None:
            self._captured(found.oid, table, writers)

    def _captured(self, oid: int, table: TableId, writers: Writers) -> None:
        """From here on rows of this relation are handed out, in this shape."""
        shape, facts = writers.shape.table, writers.facts
        known = self._shapes.get(table)
        if known is None or known[0] != shape:
            self._refs += 1
            filled = frozenset[int]() if facts is None else facts.filled
            self._steps.append(Shape(self._refs, shape, known[0] if known else None, filled))
            self._shapes[table] = shape, self._refs
        if facts is not None:
            self._tell(self._roll.logged(facts, shape))
        ref = self._shapes[table][1]
        self._decoders[oid] = RowDecoder(
            ref, writers.shape, writers.key_id, writers.value_id, self._labels.placeholder
        )
        self._heads[oid] = table, no_row(writers.value_id)

    def _tell(self, news: Sequence[Step]) -> None:
        """Hand out what became of tables; it stands before what it explains."""
        for step in news:
            match step:
                case Fault(table, error):
                    self._give_up(table, error)
                case Vanished(table) | Renamed(table):
                    self._shapes.pop(table, None)  # whoever has this name next is another table
                    self._steps.append(step)
                case _:
                    self._steps.append(step)

    def _ddl(self, content: bytes) -> None:
        if not content:  # a message that only keeps others in order
            return
        facts = ddl.told(content, self._labels.database)
        if facts is None:
            self._roll.stir()
            return
        told = self._explained.told(facts)
        if told is None:
            return
        news = self._roll.altered(*told)
        if self._done >= self._skip:
            self._tell(news)

    def _frame(self, relation: int) -> Frame:
        """Write what the events of the open transaction and this table have in common."""
        begun = self._open
        if begun is None:
            raise MESSAGE_UNKNOWN(letter="row outside a transaction")
        source = source_record(
            self._labels,
            self._heads[relation][0],
            ts_ms=begun.committed_ms,
            ts_us=begun.committed_us,
            lsn=begun.lsn,
            xid=begun.xid,
        )
        transaction = _published(begun) if self._labels.counted else None
        prefix = log_prefix(self._at.epoch, begun.lsn.to_bytes(8, "big"))
        made = Frame(source, prefix, ts_ms=begun.committed_ms, transaction=transaction)
        self._frames[relation] = made
        return made

    def _fault(self, relation: int, error: WracklineError) -> None:
        """Give up the table of a row that can't be told.

        The rows before it end before it: who resumes there must come to it again (INV-4).
        """
        self._stretch.ordinal -= 1
        self._flush()
        self._stretch.ordinal += 1
        self._decoders[relation] = None
        self._give_up(self._heads[relation][0], error)

    def _give_up(self, table: TableId, error: WracklineError) -> None:
        """Hand out no changes of a table from here on; the others go on."""
        self._roll.aside.add(table)  # a new relation message does not bring back what was missed
        self._steps.append(Fault(table, error))

    def _truncate(self, relations: tuple[int, ...]) -> None:
        for relation in relations:
            ordinal = self._next_ordinal()
            if self._decoders.get(relation) is None or self._open is None:
                continue
            order = self._order(relation)
            if ordinal + self._said < self._skip:
                continue
            table, head = self._heads[relation]
            frame = self._frames.get(relation) or self._frame(relation)
            value = head + frame.tail("t", ordinal, order)
            self._at = self._place(self._open.lsn, self._done, self._at.resume)
            self._steps.append(Truncate(self._shapes[table][1], value, self._at))
            self.size += len(value)

    def _message(self, said: messages.LogicalMessage) -> None:
        """Hand a message out once; one that stands alone is behind us one byte after its start.

        Its end is not told.  The server sends again what begins at the place where it is asked to
        go on, and nothing else begins or ends within the first bytes of a record.
        """
        if said.prefix == ddl.PREFIX and said.transactional:
            self._ddl(said.content)
        if not said.transactional:
            if said.lsn < self._at.lsn:
                return
            self._at = self._place(said.lsn + 1, 0, said.lsn + 1)
        elif self._open is not None:
            self._said += 1
            if self._done <= self._skip:
                return
            self._at = self._place(self._open.lsn, self._done, self._at.resume)
        if said.prefix == ddl.PREFIX:
            return
        self.size += len(said.content)
        self._steps.append(Message(said.prefix, said.content, self._at))

    def _signal(self, data: bytes, at: int, relation: int) -> None:
        """Read a row that was inserted into the signal table: id, type, data, in this order.

        Also one before a resume: what it began is saved at its transaction's end, so not yet.
        """
        if data[at] != ord("I") or self._open is None:
            return
        self._flush()
        cells = text_cells(data, at + 6, self._signals[relation])
        if len(cells) < 3:
            return
        texts = [(cell or b"").decode() for cell in cells[:3]]
        place = self._place(self._open.lsn, self._done, self._at.resume)
        self._steps.append(Signal(texts[0], texts[1], texts[2], place))


def _published(begun: BeginMessage) -> str:
    """Name a transaction as Debezium does: ids come round again, and a place in the log does not."""
    return f"{begun.xid}:{lsn_text(begun.lsn)}"
