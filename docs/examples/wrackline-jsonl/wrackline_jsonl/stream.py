"""The journal as a log: lines become steps, and a batch ends where it has enough bytes.

All state comes from the place where the stream begins, so the same steps follow whenever it begins there.  It
keeps that place, and the shapes that were announced since it was opened.
"""

from collections.abc import Callable, Mapping
from threading import Event
from typing import Any

from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import (
    Appeared,
    Batch,
    Begin,
    Commit,
    Fault,
    Position,
    Progress,
    RowChange,
    Rows,
    Shape,
    Step,
    Truncate,
)
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import TableId
from wrackline_jsonl.events import TableEvents
from wrackline_jsonl.journal import SHORTER, Journal, Line, Place

LOOK_S = 0.1  # between two looks at a quiet journal


class JournalStream:
    """One journal from a place on."""

    def __init__(
        self,
        journal: Journal,
        start: Place,
        captured: Callable[[TableId], bool],
        known: frozenset[TableId],
        server: str,
        around: Surroundings,
    ) -> None:
        """Begin at `start`; `captured` decides about tables, `known` are those that need no report."""
        if start.at > journal.end():
            raise SHORTER(path=journal.path, at=start.at)
        self._journal, self._at, self._around, self._server = journal, start, around, server
        self._captured, self._known, self._faulty = captured, set(known), set[TableId]()
        self._tables = journal.tables(before=start)
        self._events: dict[int, TableEvents] = {}
        self._shapes: dict[TableId, Shape] = {}
        self._reported: Place | None = None
        self._woken = Event()

    def poll(self, deadline: float) -> Batch | None:
        """Return what is there, or wait."""
        while True:
            steps: list[Step] = []
            size = 0
            for line in self._journal.lines(self._at.at):
                if size >= self._around.most_batch_bytes:
                    break
                size += self._read(line, steps, self._around.most_batch_bytes - size)
            if not steps and self._reported != self._at:
                steps.append(Progress(self._at))
            left = deadline - self._around.monotonic()
            if steps:
                self._reported = self._at
                return Batch(tuple(steps), size)
            if left <= 0 or self._woken.wait(min(left, LOOK_S)):
                self._woken.clear()
                return None

    def wake(self) -> None:
        """Make poll return."""
        self._woken.set()

    def confirm(self, position: Position) -> None:
        """Nothing to do: nobody shortens a journal."""

    def keep_alive(self) -> None:
        """Nothing to do: a file asks nothing."""

    def ask(self) -> None:
        """Report the place again."""
        self._reported = None

    def close(self) -> None:
        """Nothing is open between two polls."""

    def _read(self, line: Line, steps: list[Step], room: int) -> int:
        first = self._at.done if self._at.at == line.at else 0
        if first == 0 or self._reported is None:
            steps.append(Begin(line.name, line.committed_ms, first))
        size = 0
        for number, change in enumerate(line.changes[first:], start=first):
            if size >= room:
                return size
            after = Place(line.at, number + 1)
            self._tables.follow(change)
            size += self._change(line, change, after, steps)
            self._at = after
        self._at = Place(line.end)
        steps.append(Commit(line.name, self._at, line.committed_ms))
        return size

    def _change(self, line: Line, change: Mapping[str, Any], after: Place, steps: list[Step]) -> int:
        table = self._tables.shapes[change["table"]]
        if table.id in self._faulty or not self._captured(table.id):
            return 0
        if "columns" in change:
            if table.id not in self._known:
                self._known.add(table.id)
                steps.append(Appeared(table.id, complete=True, shape=table))
            return 0
        try:
            ref = self._shape(table.id, steps)
            return self._event(ref, line, change, after, steps)
        except WracklineError as error:  # of this table alone
            self._faulty.add(table.id)
            steps.append(Fault(table.id, error))
            return 0

    def _shape(self, table: TableId, steps: list[Step]) -> int:
        now, known = self._tables.shapes[table.name], self._shapes.get(table)
        if known is not None and known.table == now:
            return known.ref
        ref = len(self._events)
        self._events[ref] = TableEvents(self._server, now, self._around.register(now))
        self._shapes[table] = Shape(ref, now, None if known is None else known.table)
        steps.append(self._shapes[table])
        return ref

    def _event(self, ref: int, line: Line, change: Mapping[str, Any], after: Place, steps: list[Step]) -> int:
        events, ordinal = self._events[ref], after.done - 1
        frame = events.logged(line, self._around.now_ms())
        if change["op"] == "t":
            value = events.head(None, None) + frame.tail("t", ordinal)
            steps.append(Truncate(ref, value, after))
            return len(value)
        before, now = change.get("before"), change.get("after")
        old, new = (None if row is None else events.key(row) for row in (before, now))
        rows: list[RowChange] = []
        if before is not None and old != new:  # a changed key is a delete and a create
            rows.append((ref, "d", old, events.head(before, None) + frame.tail("d", ordinal), None))
        if now is not None:
            op = "u" if before is not None and old == new else "c"
            rows.append((ref, op, new, events.head(None, now) + frame.tail(op, ordinal), None))
        earlier = steps.pop() if steps and isinstance(steps[-1], Rows) else None
        steps.append(Rows([*(earlier.rows if isinstance(earlier, Rows) else ()), *rows], after))
        return sum(len(key or b"") + len(value) for _, _, key, value, _ in rows)
