"""Topics folded into rows as a target folds them, and compared with the tables, column by column.

In: a world.  Out: what differs.  Columns are those of the schemas' identities, so a rename that lost its
column shows; a column that the log did not send keeps the value that it had; a TRUNCATE is a floor for all
partitions.  Nothing of the product decodes here.
"""

import io
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.request import urlopen

import fastavro
import orjson

from tests.chaos.evidence import Reader
from tests.chaos.world import World
from wrackline.control.local.stack.servers import Broker, Cluster, SchemaRegistry

Row = dict[int, object]  # by the column's number
_COMPARED = "'int4', 'int8', 'text', 'bpchar'"  # what both ways give as the same Python value
_COUNTER = "n"  # the column that only grows, for one key


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a table, in the order of its partition."""

    keyed: int  # the key's schema
    key: bytes | None
    op: str
    seq: str
    row: Row | None
    n: object


@dataclass(frozen=True)
class Folded:
    """What a topic says of its table."""

    rows: Mapping[bytes, Row]
    back: Sequence[str]  # keys that went back (INV-3)
    read: Mapping[bytes, int] = field(default_factory=dict)  # how often each key was read


class Topics(Protocol):
    """A run of which only the topics are looked at."""

    registry: SchemaRegistry

    @property
    def kafka(self) -> Broker | Cluster:
        """Where the topics are."""
        ...

    def topic(self, table: str) -> str:
        """One table's topic."""
        ...


class Fold:
    """Reads a registry's schemas, and folds topics."""

    def __init__(self, world: Topics) -> None:
        self._world = world
        self._schemas: dict[int, tuple[Any, Mapping[str, int]]] = {}
        self._keys: dict[int, Sequence[int]] = {}

    def folded(self, table: str) -> Folded:
        """Fold one table's topic."""
        events = self._events(table)
        floor = max((event.seq for event in events if event.op == "t"), default="")
        newest_schema = max((event.keyed for event in events if event.key is not None), default=0)
        newest: dict[bytes, Event] = {}
        read: dict[bytes, int] = {}
        back = []
        for event in events:
            key = event.key
            if key is None or self._key_columns(event.keyed) != self._key_columns(newest_schema):
                continue  # other key columns restart the table
            if event.op == "r":
                read[key] = read.get(key, 0) + 1
            held = newest.get(key)
            # a key of another schema is another message key, which may lie in another partition
            if held is not None and held.keyed == event.keyed and _goes_back(held, event):
                back.append(f"{table} {key.hex()}: {event.op} {event.n} after {held.op} {held.n}")
            if held is None or held.seq <= event.seq:
                newest[key] = _after(held, event)
        rows = {key: one.row for key, one in newest.items() if one.row is not None and one.seq >= floor}
        return Folded(rows, back, read)

    def _events(self, table: str) -> list[Event]:
        topic = self._world.topic(table)
        return [
            self._event(record.key, record.value)
            for record in Reader(self._world.kafka.bootstrap).read([topic])
            if record.value is not None
        ]

    def _event(self, key: bytes | None, raw: bytes) -> Event:
        parsed, columns = self._schema(int.from_bytes(raw[1:5], "big"))
        event: Any = fastavro.schemaless_reader(io.BytesIO(raw[5:]), parsed, None)
        keyed = 0 if key is None else int.from_bytes(key[1:5], "big")
        after, op = event["after"], event["op"]
        row: Row | None = None
        if after is not None:
            unsent = set(event["source"].get("unchanged") or ())
            row = {columns[name]: value for name, value in after.items() if name not in unsent}
        n = None if after is None else after.get(_COUNTER)
        return Event(keyed, None if key is None else key[5:], op, event["seq"], row, n)

    def _schema(self, number: int) -> tuple[Any, Mapping[str, int]]:
        if number not in self._schemas:
            schema = self._registered(number)
            fields = schema["fields"][0]["type"][1]["fields"]
            columns = {one["name"]: one["wrackline.column"] for one in fields}
            self._schemas[number] = fastavro.parse_schema(schema), columns
        return self._schemas[number]

    def _key_columns(self, number: int) -> Sequence[int]:
        if number not in self._keys:
            self._keys[number] = [one["wrackline.column"] for one in self._registered(number)["fields"]]
        return self._keys[number]

    def _registered(self, number: int) -> Any:
        with urlopen(f"{self._world.registry.url}/schemas/ids/{number}", timeout=30) as answer:  # noqa: S310 - our own stack's registry
            return orjson.loads(orjson.loads(answer.read())["schema"])


def _goes_back(held: Event, event: Event) -> bool:
    if event.op == held.op == "r" and event.seq == held.seq:  # two reads, at the same place
        return event.row != held.row
    if event.seq <= held.seq:
        return True
    return isinstance(held.n, int) and isinstance(event.n, int) and event.n < held.n


def _after(held: Event | None, event: Event) -> Event:
    """The row after an event: what it does not say stays."""
    known = event.n if event.n is not None else None if held is None else held.n
    row = event.row
    if row is not None and held is not None and held.row is not None and event.op == "u":
        row = {**held.row, **row}
    return Event(event.keyed, event.key, event.op, event.seq, row, known)


def there(world: World, table: str) -> list[Row]:
    """What the table holds; columns by their number, of types that compare."""
    columns = world.sql(
        "SELECT a.attnum::int, a.attname::text FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid"
        " WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped"
        f" AND t.typname IN ({_COMPARED}) ORDER BY a.attnum",
        table,
    )
    numbers = [int(str(number)) for number, _ in columns]
    names = ", ".join(f'"{name}"' for _, name in columns)
    return [dict(zip(numbers, row, strict=True)) for row in world.sql(f"SELECT {names} FROM {table}")]


def differing(world: World, tables: Iterable[str]) -> list[str]:
    """The tables that their topics do not equal; a key that went back is a fault at once."""
    fold = Fold(world)
    found = []
    for table in tables:
        rows = there(world, table)
        folded = fold.folded(table)
        assert not folded.back, folded.back[:5]
        numbers = rows[0].keys() if rows else ()
        told = [{number: row.get(number) for number in numbers} for row in folded.rows.values()]
        if sorted(map(repr, rows)) != sorted(map(repr, told)):
            found.append(table)
    return found


def equal(world: World, tables: Sequence[str], patience: float = 90.0) -> None:
    """Wait until every topic equals its table."""
    deadline = time.monotonic() + patience
    while found := differing(world, tables):
        assert time.monotonic() < deadline, f"{found}\n{world.started[-1].output}"
        assert world.alive(), world.started[-1].output
        time.sleep(0.3)
