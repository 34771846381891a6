"""The fake source's log stream: the fake database's log as steps, cut into batches by bytes."""

from collections.abc import Iterator
from typing import cast

from tests.fakes.database import Database, Entry, RowLogged, SignalLogged, Transaction, TruncateLogged
from tests.fakes.place import Place
from tests.fakes.wire import TableWriter
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import (
    Batch,
    Begin,
    Commit,
    Message,
    Position,
    Progress,
    RowChange,
    Rows,
    Shape,
    Signal,
    Step,
    Truncate,
    Unsent,
)
from wrackline.schemas.errors import Definite, Transient, define
from wrackline.schemas.events.frame import NO_COLUMNS, Frame, unchanged_columns
from wrackline.schemas.tables.table import TableId, TableSchema

IN_USE = define("test.fake_in_use", Transient, "the log of {database} is read by somebody else", hint="wait")
GONE = define("test.fake_log_gone", Definite, "the log of {database} begins later", hint="take a snapshot")


class FakeStream:
    """One partition's log."""

    def __init__(
        self, database: Database, tables: frozenset[TableId], start: Place, around: Surroundings
    ) -> None:
        if database.in_use:
            raise IN_USE(database=database.shape.id.database)
        database.in_use = True
        self._database, self._tables, self._around = database, tables, around
        self._at = start
        self._said: Place | None = None  # the place of the last step that named one
        self._shapes: dict[TableId, Shape] = {}
        self._writers: dict[int, TableWriter] = {}
        self._open = True

    def poll(self, deadline: float) -> Batch | None:
        del deadline  # what is logged is there at once, and what is not comes from no other thread
        steps: list[Step] = []
        size = 0
        for transaction in self._ahead():
            if size >= self._around.most_batch_bytes:
                break
            size += self._read(transaction, steps, self._around.most_batch_bytes - size)
        if not steps and self._said != self._at:
            steps.append(Progress(self._at))
        if not steps:
            return None
        self._said = self._at
        return Batch(tuple(steps), size)

    def wake(self) -> None:
        """The fake never waits."""

    def confirm(self, position: Position) -> None:
        told, place = self._database.told, cast("Place", position)
        if told is None or told < place:
            self._database.told = place

    def ask(self) -> None:
        """The fake says by itself where it stands."""

    def keep_alive(self) -> None:
        """The fake's server asks nothing."""

    def close(self) -> None:
        if self._open:
            self._open = False
            self._database.in_use = False

    def _ahead(self) -> Iterator[Transaction]:
        return (entry for entry in tuple(self._database.log) if entry.lsn >= self._at.lsn)

    def _read(self, transaction: Transaction, steps: list[Step], room: int) -> int:
        """Append a transaction's steps until the room is used; a later poll continues from there."""
        end = Place(self._at.epoch, transaction.end)
        if not transaction.entries:
            self._at = end
            steps.append(Progress(end))
            return 0
        first = self._at.done if self._at.lsn == transaction.lsn else 0
        if first == 0 or self._said is None:
            steps.append(Begin(transaction.name, transaction.committed_ms, first, transaction.published))
        size = 0
        for ordinal, entry in enumerate(transaction.entries):
            if ordinal < first:
                continue
            if size >= room:
                return size
            after = Place(self._at.epoch, transaction.lsn, ordinal + 1)
            size += self._read_entry(transaction, entry, after, steps)
            self._at = after
        self._at = end
        steps.append(Commit(transaction.name, end, transaction.committed_ms))
        return size

    def _read_entry(self, transaction: Transaction, entry: Entry, after: Place, steps: list[Step]) -> int:
        end = Place(after.epoch, transaction.end)
        match entry:
            case SignalLogged():
                steps.append(Signal(entry.id, entry.type, entry.data, end))
                return 0
            case RowLogged() if entry.shape.id in self._tables:
                ref = self._shape(entry.shape, steps)
                rows = self._rows(ref, transaction, entry, after)
                held = steps.pop() if steps and isinstance(steps[-1], Rows) else None
                earlier = held.rows if isinstance(held, Rows) else ()
                steps.append(Rows((*earlier, *rows), after))
                return sum(len(key or b"") + len(value) for _, _, key, value, _ in rows)
            case TruncateLogged() if entry.shape.id in self._tables:
                ref = self._shape(entry.shape, steps)
                value = self._writers[ref].head(None, None)
                value += self._frame(ref, transaction).tail("t", after.done - 1)
                steps.append(Truncate(ref, value, after))
                return len(value)
            case RowLogged() | TruncateLogged():
                return 0
            case said:
                steps.append(Message(said.prefix, said.content, after))
                return len(said.content)

    def _shape(self, table: TableSchema, steps: list[Step]) -> int:
        """Return the ref of a shape, announced when it is new."""
        known = self._shapes.get(table.id)
        if known is not None and known.table == table:
            return known.ref
        ref = len(self._writers)
        made = Shape(ref, table, None if known is None else known.table)
        self._shapes[table.id] = made
        self._writers[ref] = TableWriter(table, self._around.register(table))
        steps.append(made)
        return ref

    def _rows(
        self, ref: int, transaction: Transaction, entry: RowLogged, after: Place
    ) -> tuple[RowChange, ...]:
        """One change of the server: one row change, or two when the key changed."""
        writer, frame = self._writers[ref], self._frame(ref, transaction)
        ordinal = after.done - 1
        old = None if entry.before is None else writer.key(entry.before)
        new = None if entry.after is None else writer.key(entry.after)

        def changed(op: str, other: bytes | None = None) -> RowChange:
            identity = set(entry.shape.key)  # a delete names its row, as a log of default identity does
            before = entry.before if op == "d" else None
            if before is not None:
                before = {name: value if name in identity else None for name, value in before.items()}
            image = entry.after if op != "d" else None
            if image is not None:
                image = {name: None if name in entry.unsent else value for name, value in image.items()}
            unchanged = unchanged_columns(entry.unsent) if op != "d" else NO_COLUMNS
            value = writer.head(before, image) + frame.tail(op, ordinal, unchanged)
            partial = Unsent(entry.unsent, other) if entry.unsent else None
            return (ref, op, old if op == "d" else new, value, partial)

        if entry.before is None:
            return (changed("c"),)
        if entry.after is None:
            return (changed("d"),)
        if old == new:
            return (changed("u"),)
        return (changed("d", new), changed("c", old))

    def _frame(self, ref: int, transaction: Transaction) -> Frame:
        return self._writers[ref].frame(
            Place(self._at.epoch, transaction.lsn).prefix,
            happened_ms=transaction.committed_ms,
            ts_ms=self._around.now_ms(),
            transaction=transaction.published,
        )
