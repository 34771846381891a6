"""The records of the offsets topic: bytes to frozen values and back.

    key                                                   value
    ["<connector>",{"database":…,"server":…}]             where to resume, and the transaction it came with
    ["<connector>",{"database":…,"server":…,"table":…}]   one table's snapshot state
    "<task>#begin"                                        transaction n of a generation has begun
    "<connector>#deal"                                    which deal of the databases this partition is of

Keys and values are JSON with sorted keys, so that equal records are equal bytes and compaction works.  A
position and a snapshot state belong to the source and the machine; here they are opaque canonical JSON.  A
null value removes a record.  The functions of `MIGRATIONS` upgrade older versions of a value; a newer one is
refused.  The module `offset_replay` folds the records into what a task starts from.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple, NewType, TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError

from wrackline.schemas.errors import Definite, WracklineError, define
from wrackline.schemas.tables.table import SourcePartition, TableId

VERSION: Final = 1
OUTSIDE_ANY_TRANSACTION: Final = 0  # n of a record that the coordinator moved or an operator edited

_BEGIN = "#begin"
_DEAL = "#deal"

Json = NewType("Json", bytes)  # canonical: made by `canonical`
T = TypeVar("T")

BROKEN = define(
    "offsets.broken",
    Definite,
    "the offsets record at {place} can't be read: {reason}",
    hint="look at it: kcat -b <brokers> -C -t '{topic}' -p {partition} -o {offset} -c 1; "
    "then start over: wrackline offsets reset <pipeline.toml>",
)
STATE_BROKEN = define(
    "offsets.state_broken",
    Definite,
    "the state of {whose} in the offsets topic can't be read: {field} is not in the form that a worker"
    " writes",
    hint="look at it: wrackline offsets show <pipeline.toml>; "
    "then start over: wrackline offsets reset <pipeline.toml>",
)
UNKNOWN_VERSION = define(
    "offsets.unknown_version",
    Definite,
    "the offsets record at {place} has version {version}; this program reads up to {newest}",
    hint="run the newer version that wrote it",
)


class RecordPlace(NamedTuple):
    """Where a record lies; errors name it instead of its content."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}]@{self.offset}"


class PositionKey(NamedTuple):
    """Whose position; without a database it is an older single-partition key, read but never written."""

    connector: str
    server: str
    database: str | None


class TableKey(NamedTuple):
    """Whose snapshot state; its rows come in the partition, which may be one of many databases."""

    connector: str
    partition: SourcePartition
    table: TableId


class BeginKey(NamedTuple):
    """Whose transaction."""

    task: str


class DealKey(NamedTuple):
    """Whose databases were dealt."""

    connector: str


Key = PositionKey | TableKey | BeginKey | DealKey


@dataclass(frozen=True, slots=True)
class Offset:
    """Where to resume, written as the last record of transaction `n`.

    `previous` is the position before it, `events` and `checksum` are what the transaction held:
    a reader of the topic can prove that none is missing or torn.  `cut` is set only if the position lies
    inside a source transaction: what was published of it, so that its END can count all of it.
    """

    generation: int
    n: int
    position: Json
    previous: Json | None
    events: int
    checksum: int
    snapshot: Json | None = None
    cut: Json | None = None


@dataclass(frozen=True, slots=True)
class SavedTableState:
    """One table's snapshot state, written only when it changed."""

    generation: int
    snapshot: Json


@dataclass(frozen=True, slots=True)
class BeginRecord:
    """The first record of transaction `n`; an end with the same numbers follows, or it was torn.

    With n = OUTSIDE_ANY_TRANSACTION an owner claims its generation, and no end need follow.
    """

    generation: int
    n: int


@dataclass(frozen=True, slots=True)
class DealRecord:
    """The deal that the partition's last claim belongs to; not `open`: its owner has not claimed it yet."""

    generation: int
    number: int
    digest: str
    open: bool


Value = Offset | SavedTableState | BeginRecord | DealRecord


@dataclass(frozen=True, slots=True)
class OffsetsRecord:
    """One record with its place; a value of None removes what the key had before."""

    place: RecordPlace
    key: Key
    value: Value | None


def canonical_json(value: object) -> Json:
    """JSON with sorted keys and no spaces, the same bytes for equal values."""
    return Json(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


def read_as(form: TypeAdapter[T], kept: Json, whose: object) -> T:
    """Read what a record carries for its owner; one of another form is refused by field, never by content.

    The form is an object that passes over fields it does not know, so that no name in the error is foreign.
    """
    try:
        return form.validate_json(kept, strict=True)
    except ValidationError as exc:
        where = exc.errors(include_input=False, include_url=False, include_context=False)[0]["loc"]
    # raised outside the except clause: the validation error holds the content, and so would the chain
    raise STATE_BROKEN(whose=whose, field=where[0] if where else "it")


def position_key(connector: str, partition: SourcePartition) -> bytes:
    """The key of a source partition's position."""
    return canonical_json([connector, {"server": partition.server, "database": partition.database}])


def table_key(connector: str, partition: SourcePartition, table: TableId) -> bytes:
    """The key of a table's snapshot state; its name is a list, because any part of it may contain dots.

    The list begins with the table's database if the partition has another name.
    """
    names = [table.schema, table.name] if table.database == partition.database else list(table)
    return canonical_json([connector, {**partition._asdict(), "table": names}])


def key_bytes(key: PositionKey | TableKey) -> bytes:
    """The bytes of a position's or a table's key, as they were read."""
    if isinstance(key, TableKey):
        return table_key(*key)
    if key.database is None:
        return canonical_json([key.connector, {"server": key.server}])
    return position_key(key.connector, SourcePartition(key.server, key.database))


def partition_of(key: bytes | None) -> SourcePartition | None:
    """Return whose position, or whose table's state, has this key; None where no database is named."""
    try:
        read = _parse_key(RecordPlace("", 0, 0), key)
    except WracklineError:
        return None
    match read:
        case PositionKey(_, server, str(database)):
            return SourcePartition(server, database)
        case TableKey(_, partition, _):
            return partition
    return None


def begin_key(task: str) -> bytes:
    """The key under which a task announces its transactions."""
    return canonical_json(task + _BEGIN)


def deal_key(connector: str) -> bytes:
    """The key of a partition's deal."""
    return canonical_json(connector + _DEAL)


def encode(value: Value) -> bytes:
    """The value's bytes in the newest version."""
    match value:
        case Offset():
            fields: dict[str, object] = {
                "n": value.n,
                "position": orjson.Fragment(value.position),
                "previous": None if value.previous is None else orjson.Fragment(value.previous),
                "events": value.events,
                "checksum": value.checksum,
                "snapshot": None if value.snapshot is None else orjson.Fragment(value.snapshot),
            }
            if value.cut is not None:
                fields["cut"] = orjson.Fragment(value.cut)
        case SavedTableState():
            fields = {"snapshot": orjson.Fragment(value.snapshot)}
        case BeginRecord():
            fields = {"n": value.n}
        case DealRecord():
            fields = {"deal": value.number, "of": value.digest, "open": value.open}
    return canonical_json({"version": VERSION, "generation": value.generation, **fields})


def parse(place: RecordPlace, key: bytes | None, value: bytes | None) -> OffsetsRecord:
    """Read one record; whatever it is not made of is refused by place and field, never by content."""
    parsed = _parse_key(place, key)
    if value is None:
        return OffsetsRecord(place, parsed, None)
    fields = _migrated(place, _json(place, value, "value"))
    generation = _count(place, fields, "generation")
    match parsed:
        case BeginKey():
            record: Value = BeginRecord(generation, _count(place, fields, "n"))
        case DealKey():
            record = _deal(place, generation, fields)
        case TableKey():
            record = SavedTableState(generation, canonical_json(_object(place, fields, "snapshot")))
        case PositionKey():
            record = _offset(place, generation, fields)
    if fields:
        raise _broken(place, f"{len(fields)} unknown fields")
    return OffsetsRecord(place, parsed, record)


# From each older version, the function that raises a value of it by one.  Version 1 is the first.
MIGRATIONS: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = MappingProxyType({})


def _migrated(place: RecordPlace, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _broken(place, "its value is not an object")
    version = _count(place, value, "version")
    while version in MIGRATIONS:
        value = MIGRATIONS[version](value)
        version += 1
    if version != VERSION:
        raise UNKNOWN_VERSION(place=place, version=version, newest=VERSION)
    return value


def _offset(place: RecordPlace, generation: int, fields: dict[str, Any]) -> Offset:
    previous = fields.pop("previous", None)
    snapshot = fields.pop("snapshot", None)
    cut = fields.pop("cut", None)
    for name, value in (("previous", previous), ("snapshot", snapshot), ("cut", cut)):
        if value is not None and not isinstance(value, dict):
            raise _broken(place, f"{name} is not an object")
    return Offset(
        generation,
        _count(place, fields, "n"),
        canonical_json(_object(place, fields, "position")),
        None if previous is None else canonical_json(previous),
        _count(place, fields, "events"),
        _count(place, fields, "checksum"),
        None if snapshot is None else canonical_json(snapshot),
        None if cut is None else canonical_json(cut),
    )


def _deal(place: RecordPlace, generation: int, fields: dict[str, Any]) -> DealRecord:
    digest, opened = fields.pop("of", None), fields.pop("open", None)
    if not isinstance(digest, str) or not isinstance(opened, bool):
        raise _broken(place, "of or open is not in its form")
    return DealRecord(generation, _count(place, fields, "deal"), digest, opened)


def _parse_key(place: RecordPlace, key: bytes | None) -> Key:
    match _json(place, key or b"", "key"):
        case str(text) if text.endswith(_BEGIN) and text != _BEGIN:
            return BeginKey(text.removesuffix(_BEGIN))
        case str(text) if text.endswith(_DEAL) and text != _DEAL:
            return DealKey(text.removesuffix(_DEAL))
        case [str(connector), {"server": str(server), **rest}]:
            match rest:
                case {} if not rest:
                    return PositionKey(connector, server, None)
                case {"database": str(database)} if len(rest) == 1:
                    return PositionKey(connector, server, database)
                case {"database": str(of), "table": [*names]} if len(rest) == 2:
                    if (table := _table(of, names)) is not None:
                        return TableKey(connector, SourcePartition(server, of), table)
    raise _broken(place, "its key was not written by Wrackline")


def _table(partition: str, names: list[object]) -> TableId | None:
    match names:
        case [str(schema), str(name)]:
            return TableId(partition, schema, name)
        case [str(database), str(schema), str(name)] if database != partition:
            return TableId(database, schema, name)
    return None


def _json(place: RecordPlace, text: bytes, what: str) -> Any:  # noqa: ANN401 - JSON, checked by the callers
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        # the decoder's message and its `doc` hold the text: neither may reach a log
        reason = f"its {what} is not JSON"
    raise _broken(place, reason)


def _count(place: RecordPlace, fields: dict[str, Any], name: str) -> int:
    value = fields.pop(name, None)
    if type(value) is not int or value < 0:
        raise _broken(place, f"{name} is not a whole number of 0 or more")
    return value


def _object(place: RecordPlace, fields: dict[str, Any], name: str) -> dict[str, Any]:
    value = fields.pop(name, None)
    if not isinstance(value, dict):
        raise _broken(place, f"{name} is not an object")
    return value


def _broken(place: RecordPlace, reason: str) -> WracklineError:
    return BROKEN(
        place=place, reason=reason, topic=place.topic, partition=place.partition, offset=place.offset
    )
