"""A small database with a log, for the histories: rows, writers, and what the log shows of them.

Every write counts one version up, so that a key that goes back is seen at once.  `big` may be left out of
the log when it did not change.
"""

from dataclasses import dataclass, field, replace
from random import Random

from tests.fakes.place import Place
from wrackline.producers.contract.row_chunks import Bound
from wrackline.producers.contract.steps import Commit, Message, Passing, Progress, Rows, Unsent
from wrackline.producers.rows.python_rows import RowEncoder
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

INT, TEXT = ColumnType(Kind.INT32, "integer"), ColumnType(Kind.STRING, "text")
TABLE = TableSchema(
    TableId("d", "public", "t"),
    (Column("id", 1, INT, nullable=False), Column("v", 2, INT), Column("big", 3, TEXT)),
    ("id",),
    KeyKind.PRIMARY,
)
ENCODER = RowEncoder(TABLE, 1, 2)
SHAPES = [
    replace(
        TABLE,
        columns=(*TABLE.columns[:2], replace(TABLE.columns[2], type=ColumnType(Kind.STRING, f"text{n}"))),
    )
    for n in range(9)
]  # a column's type changes, and with it every row's value
TAIL = b"-tail-00000000"

Row = tuple[int, int, str | None]  # id, version, big (None in an event: not sent)
Event = tuple[str, int, int, str | None]  # op, id, version, big


def key_of(number: int) -> bytes:
    made = ENCODER.key((number, None, None))
    assert made is not None
    return made


KEYS = {key_of(number): number for number in range(16)}


def bound_of(_: TableSchema, key: bytes) -> Bound | None:
    return (str(KEYS[key]),)


@dataclass(frozen=True)
class Fence:
    name: str
    at: int

    def passed(self, step: Passing) -> bool:
        outside = isinstance(step, Commit | Progress)
        return outside and isinstance(step.position, Place) and step.position.lsn >= self.at


@dataclass(frozen=True)
class Said:
    name: str

    def passed(self, step: Passing) -> bool:
        return isinstance(step, Message) and step.content == self.name.encode()


@dataclass
class Logged:
    """A transaction: its events, and the table as it is after it."""

    events: list[Event]
    said: str | None = None
    hidden: bool = False
    shape: int = 0


@dataclass
class Database:
    """Rows, and a log in commit order; a SELECT sees the transactions that are not hidden."""

    chance: Random
    rows: dict[int, Row] = field(default_factory=dict)
    log: list[Logged] = field(default_factory=list)
    version: int = 0
    keys: int = 8
    shape: int = 0

    def write(self) -> None:
        """One transaction of a few changes; it may stay hidden for a while."""
        if self.chance.random() < 0.3:
            self._show()
        hidden = [event for one in self.log if one.hidden for event in one.events]
        touched = {number for event in hidden for number in keys_in(event)}
        events: list[Event] = []
        if not hidden and self.chance.random() < 0.05:
            self._alter()
            return
        for _ in range(self.chance.choice([1, 1, 2, 4])):
            number = self.chance.randrange(self.keys)
            if number not in touched:  # a row is locked until its writer can be seen
                events += self._change(number, touched)
        if events:
            self.log.append(Logged(events, hidden=self.chance.random() < 0.3, shape=self.shape))

    def _alter(self) -> None:
        """Truncate the table, or rewrite it without a row event."""
        self.version += 1
        how = "t" if self.chance.random() < 0.5 or self.shape == 8 else "x"
        self.shape += how == "x"
        self.log.append(Logged([(how, 0, self.version, None)], shape=self.shape))
        apply(self.rows, self.log[-1].events[0])

    def _change(self, number: int, locked: set[int]) -> list[Event]:
        self.version += 1
        version, how = self.version, self.chance.random()
        old = self.rows.get(number)
        if old is None:
            self.rows[number] = (number, version, f"b{version}")
            return [("c", number, version, f"b{version}")]
        if how < 0.25:
            del self.rows[number]
            return [("d", number, version, None)]
        if how < 0.6:
            self.rows[number] = (number, version, old[2])
            return [("u", number, version, None)]
        other = self.chance.randrange(self.keys)
        if how < 0.85 and other not in self.rows and other not in locked:
            del self.rows[number]
            big = None if self.chance.random() < 0.8 else f"b{version}"
            self.rows[other] = (other, version, big or old[2])
            return [("m", number * 100 + other, version, big)]
        self.rows[number] = (number, version, f"b{version}")
        return [("u", number, version, f"b{version}")]

    def _show(self) -> None:
        hidden = [one for one in self.log if one.hidden]
        if hidden:
            self.chance.choice(hidden).hidden = False

    def say(self, content: str) -> None:
        self.log.append(Logged([], content))

    def select(self) -> dict[int, Row]:
        """The table as a statement sees it now."""
        rows: dict[int, Row] = {}
        for one in self.log:
            if not one.hidden:
                for event in one.events:
                    apply(rows, event)
        return rows


def keys_in(event: Event) -> tuple[int, ...]:
    op, number, _, _ = event
    return {"m": divmod(number, 100), "t": tuple(range(8))}.get(op, (number,))


def apply(rows: dict[int, Row], event: Event) -> None:
    op, number, version, big = event
    if op == "t":
        rows.clear()
    elif op == "x":
        rows.update({key: (key, row[1], f"{row[2]}x") for key, row in rows.items()})
    elif op == "d":
        rows.pop(number, None)
    elif op == "m":
        old, new = divmod(number, 100)
        before = rows.pop(old, None)
        rows[new] = (new, version, big or (before and before[2]) or None)
    else:
        kept = rows.get(number)
        rows[number] = (number, version, big or (kept and kept[2]) or None)


def row_changes(ref: int, event: Event) -> Rows:
    """The row changes that the log shows of an event."""
    op, number, version, big = event
    unsent = ("big",) if big is None else ()

    def value(key: int) -> bytes:
        return ENCODER.head(None, (key, version, big)) + TAIL

    if op == "m":
        old, new = divmod(number, 100)
        gone = Unsent(unsent, key_of(new)) if unsent else None
        came = Unsent(unsent, key_of(old)) if unsent else None
        return Rows(
            [(ref, "d", key_of(old), value(old), gone), (ref, "c", key_of(new), value(new), came)],
            Place(0, 0),
        )
    partial = Unsent(unsent) if unsent and op == "u" else None
    return Rows([(ref, op, key_of(number), value(number), partial)], Place(0, 0))
