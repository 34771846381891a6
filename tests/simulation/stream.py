"""The model's log as steps, from any place in it, cut into batches anywhere.

After a resume every shape is announced again, and a transaction that was cut continues where it was cut.
That a table was altered is said where it stands in the log; a log may be late with the shape itself,
which then comes with the first row that needs it, as pgoutput does it.  A table with a row that can't be
decoded is left out from there on, and perhaps reported as gone.  What the topic's reader will see of an
event (its seq) is made here, from the place alone.
"""

from tests.fakes.place import Place
from tests.fakes.source import PREFIX
from tests.simulation.chance import Chance
from tests.simulation.database import Altered, Database, Emptied, Logged, Signalled, Spoiled, Spoke, Wrote
from tests.simulation.shapes import Shape
from wrackline.producers.contract.steps import (
    Begin,
    Commit,
    Fault,
    Found,
    Message,
    Progress,
    Reshaped,
    RowChange,
    Rows,
    Signal,
    Step,
    Truncate,
    Unsent,
    Vanished,
)
from wrackline.producers.contract.steps import Shape as ShapeStep
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.table import TableId

UNREADABLE = define("test.simulated_row", OperatorNeeded, "a row can't be told", hint="correct it")


class Stream:
    """One opening of the log."""

    def __init__(self, database: Database, start: Place, *, late: bool) -> None:
        self._database, self._late = database, late
        self.at = start
        self._inside = False
        self._refs: dict[int, tuple[int, Shape]] = {}  # by table: what was announced
        self._made = 0
        self._entry = self._ordinal = 0  # where in the open transaction
        self.aside: set[TableId] = set()  # tables that are left out
        self._found = False  # whether it was said what is there

    @property
    def behind(self) -> bool:
        """Whether something was logged that was not handed out."""
        return self._inside or self.at.lsn < self._database.end

    def poll(self, chance: Chance, most: int) -> list[Step]:
        """The next steps; where the log is quiet, its place."""
        steps: list[Step] = []
        room = chance.below(most) + 1
        while self.behind and room > 0:
            room -= self._transaction(self._database.log[self.at.lsn - 1], steps, chance, room)
        if not self.behind:
            if not steps:
                steps.append(Progress(self.at))
            if not self._found:
                self._found = True
                shapes = [table.shape for table in self._database.tables]
                shapes = [shape for shape in shapes if shape.schema.id not in self.aside]
                steps += [Found(shape.schema, shape.filled) for shape in shapes]
        return steps

    def _transaction(self, logged: Logged, steps: list[Step], chance: Chance, room: int) -> int:
        """Append what there is room for; the next call gets the rest."""
        lsn, end = self.at.lsn, Place(self.at.epoch, self.at.lsn + 1)
        if self.aside and not self._inside and chance.happens(0.2):
            steps += [Vanished(table) for table in sorted(self.aside)]
        if not logged.entries:
            steps.append(Progress(end))
            self.at = end
            return 1
        if not self._inside:
            if isinstance(logged.entries[0], Spoke) and logged.entries[0].alone:
                steps.append(Message(PREFIX, logged.entries[0].content, end))
                self.at = end
                return 1
            self._inside, self._entry, self._ordinal = True, 0, 0
            steps.append(Begin(logged.name, lsn, self.at.done))
        used = 1
        while self._entry < len(logged.entries):
            if used >= room:
                return used
            used += self._next(logged, steps, chance, end)
        self._inside = False
        self.at = end
        steps.append(Commit(logged.name, end, lsn))
        return used + 1

    def _next(self, logged: Logged, steps: list[Step], chance: Chance, end: Place) -> int:
        """One entry, or rows that stand together."""
        entry = logged.entries[self._entry]
        self._entry += 1
        skip = self._ordinal < self.at.done  # published before a resume
        if isinstance(entry, Wrote):
            self._ordinal += 1
            if skip or entry.shape.schema.id in self.aside:
                return 0
            rows = list(self._rows(entry, steps))
            while chance.happens(0.5) and self._entry < len(logged.entries):
                more = logged.entries[self._entry]
                if not isinstance(more, Wrote) or more.shape is not entry.shape:
                    break
                self._entry += 1
                self._ordinal += 1
                rows += self._rows(more, steps)
            self.at = Place(end.epoch, end.lsn - 1, self._ordinal)
            steps.append(Rows(rows, self.at))
        elif isinstance(entry, Emptied):
            self._ordinal += 1
            if not skip and entry.shape.schema.id not in self.aside:
                ref = self._ref(entry.shape, steps)
                self.at = Place(end.epoch, end.lsn - 1, self._ordinal)
                value = entry.shape.head(None, None) + _tail(
                    "t", end.lsn - 1, self._ordinal - 1, entry.version, None
                )
                steps.append(Truncate(ref, value, self.at))
        elif isinstance(entry, Spoiled | Altered):
            self._table(entry, steps, chance)
        elif isinstance(entry, Signalled):
            steps.append(Signal(entry.id, entry.type, entry.data, end))
        else:
            steps.append(Message(PREFIX, entry.content, end))
        return 1

    def _table(self, entry: Spoiled | Altered, steps: list[Step], chance: Chance) -> None:
        """What befell a table as a whole."""
        shape, table = entry.shape, entry.shape.schema.id
        if table in self.aside:
            return
        if isinstance(entry, Spoiled):
            self.aside.add(table)
            self._refs.pop(shape.table, None)
            steps.append(Fault(table, UNREADABLE()))
            return
        told = shape if chance.happens(0.7) else None
        now = (None, frozenset[int]()) if told is None else (told.schema, told.filled)
        steps.append(Reshaped(table, shape.rewrites, *now))
        if not self._late:
            self._ref(shape, steps)

    def _rows(self, wrote: Wrote, steps: list[Step]) -> list[RowChange]:
        ref, version = self._ref(wrote.shape, steps), wrote.touched[0][2]
        return [
            (ref, op, key, head + _tail(op, self.at.lsn, self._ordinal - 1, version, partial), partial)
            for op, key, head, partial in wrote.parts
        ]

    def _ref(self, shape: Shape, steps: list[Step]) -> int:
        """A shape's ref in this opening, announced when it is new."""
        known = self._refs.get(shape.table)
        if known is not None and known[1] is shape:
            return known[0]
        self._made += 1
        self._refs[shape.table] = (self._made, shape)
        before = None if known is None else known[1].schema
        steps.append(ShapeStep(self._made, shape.schema, before, shape.filled))
        return self._made


def _tail(op: str, lsn: int, ordinal: int, version: int, partial: Unsent | None) -> bytes:
    """A log event's second half: operation, seq, the write's version, and what was not sent."""
    unsent = b"~" + ",".join(partial.columns).encode() if partial else b""
    return b"%b%08xff%08x:%d%b" % (op.encode(), lsn, ordinal, version, unsent)


def void_tail(released: Place) -> bytes:
    """The second half of a `t` event that is not the log's."""
    return b"t%08x00%08x" % (released.lsn, 0)


def read_tail(released: Place) -> bytes:
    """The second half of a snapshot row's value."""
    return b"r%08x00%08x" % (released.lsn, 0)
