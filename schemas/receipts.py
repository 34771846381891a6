"""What became of a request: one record per request, on a compacted topic.

    accepted -> running <-> paused -> succeeded | failed | cancelled

Comes in: what the snapshot machine does with a request.  Goes out: the request's receipt, and
from two receipts in a row the notifications that Debezium would have sent between them: they are
rendered, not kept beside, so the two can't disagree.  Each carries the id of its own request,
also when several are under way.  The key names connector, server and database beside the id, for pipelines
of one group, and databases of one server, may use the same ids.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError

from wrackline.schemas.control_events import Notification
from wrackline.schemas.errors import Definite, WracklineError, define
from wrackline.schemas.offsets import canonical
from wrackline.schemas.signals import SnapshotKind
from wrackline.schemas.table import SourcePartition

VERSION: Final = 1

ILLEGAL_MOVE = define(
    "receipt.illegal_move",
    Definite,
    "request {id} is {state} and can't become {wished}",
    hint="look at it: wrackline snapshot status <pipeline.toml>",
)
TABLE_FINISHED = define(
    "receipt.table_finished",
    Definite,
    "table {table} of request {id} was finished before",
    hint="look at it: wrackline snapshot status <pipeline.toml>",
)
BROKEN = define(
    "receipt.broken",
    Definite,
    "the receipt at offset {offset} of partition {partition} can't be read: {reason}",
    hint="a newer version needs the newer wrackline; look at it: kcat -C -p {partition} -o {offset} -c 1",
)


class State(Enum):
    """Where a request stands; each is saved."""

    ACCEPTED = "accepted"  # understood and queued
    RUNNING = "running"  # its first chunk was asked for
    PAUSED = "paused"  # by request; its place is kept
    SUCCEEDED = "succeeded"  # every table was read to its end, or was empty
    FAILED = "failed"  # at least one table was given up; the others were read
    CANCELLED = "cancelled"  # stopped by request, or its task was deleted


MOVES: Mapping[State, frozenset[State]] = MappingProxyType(
    {
        State.ACCEPTED: frozenset(
            {
                State.RUNNING,
                State.PAUSED,
                State.SUCCEEDED,
                State.FAILED,
                State.CANCELLED,
            }  # nothing to read: succeeded
        ),
        State.RUNNING: frozenset({State.PAUSED, State.SUCCEEDED, State.FAILED, State.CANCELLED}),
        State.PAUSED: frozenset({State.RUNNING, State.FAILED, State.CANCELLED}),
        State.SUCCEEDED: frozenset(),
        State.FAILED: frozenset(),
        State.CANCELLED: frozenset(),
    }
)


class What(Enum):
    """What a request asks for."""

    READ = "read"
    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"


class Scan(Enum):
    """How the reading of one table ended, in Debezium's words."""

    SUCCEEDED = "SUCCEEDED"
    EMPTY = "EMPTY"
    NO_PRIMARY_KEY = "NO_PRIMARY_KEY"
    SKIPPED = "SKIPPED"
    SQL_EXCEPTION = "SQL_EXCEPTION"
    UNKNOWN_SCHEMA = "UNKNOWN_SCHEMA"


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a request: how far it is, and once it is over, how it ended."""

    name: str
    rows: int = 0
    last_key: str | None = None
    maximum_key: str | None = None
    scan: Scan | None = None
    code: str | None = None  # of the error that ended it
    expected: int | None = None  # rows, as the database guessed when it was planned; None: nobody knows
    percent: int | None = None  # of these; 100 only once it was read to its end
    seconds_left: int | None = None  # at its pace of late; None: nobody knows


@dataclass(frozen=True, slots=True)
class Receipt:
    """One request as it stands now."""

    id: str
    state: State
    kind: SnapshotKind
    at_ms: int  # when it came to stand so
    what: What = What.READ
    tables: tuple[Table, ...] = ()
    current: str | None = None
    code: str | None = None  # of the error or warning
    sentence: str | None = None

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

    @property
    def over(self) -> bool:
        """Whether nothing more comes of the request."""
        return not MOVES[self.state]


class Key(NamedTuple):
    """Whose request it is."""

    connector: str
    server: str
    database: str
    id: str


@dataclass(frozen=True, slots=True)
class Kept:
    """What a topic of receipts adds up to: the requests under way, and the ids of those that are over."""

    under_way: Mapping[str, Receipt] = field(default_factory=dict)
    over: Sequence[str] = ()  # the newest of them, oldest first


MOST_OVER: Final = 1_000  # requests that are remembered after their end

_ADAPTER = TypeAdapter(Receipt)


def accept(
    request_id: str, kind: SnapshotKind, tables: tuple[str, ...], at_ms: int, what: What = What.READ
) -> Receipt:
    """The first receipt of a request, with the tables that it was resolved to."""
    return Receipt(request_id, State.ACCEPTED, kind, at_ms, what, tuple(map(Table, tables)))


def refuse(request_id: str, kind: SnapshotKind, what: What, error: WracklineError, at_ms: int) -> Receipt:
    """The only receipt of a request that can't be carried out."""
    return Receipt(request_id, State.FAILED, kind, at_ms, what, code=error.code, sentence=error.sentence)


def join(receipt: Receipt, tables: tuple[str, ...], at_ms: int) -> Receipt:
    """The receipt of a request under way, to which tables were added; one that was given up begins anew."""
    left = (table for table in receipt.tables if table.scan is None or table.name not in tables)
    lines = {table.name: table for table in left}
    lines = {name: Table(name) for name in tables} | lines
    return replace(receipt, tables=tuple(lines[name] for name in sorted(lines)), at_ms=at_ms)


def move(receipt: Receipt, state: State, at_ms: int, error: WracklineError | None = None) -> Receipt:
    """The receipt in its next state; a move that the table above lacks raises and changes nothing."""
    if state not in MOVES[receipt.state]:
        raise ILLEGAL_MOVE(id=receipt.id, state=receipt.state.value, wished=state.value)
    code, sentence = (error.code, error.sentence) if error else (receipt.code, receipt.sentence)
    current = receipt.current if MOVES[state] else None
    tables = receipt.tables
    if state is not State.RUNNING:
        tables = tuple(replace(table, seconds_left=None) for table in tables)
    return replace(
        receipt, state=state, at_ms=at_ms, code=code, sentence=sentence, current=current, tables=tables
    )


def progress(receipt: Receipt, table: Table, at_ms: int) -> Receipt:
    """The receipt with one table further on, or finished if it carries a scan result."""
    lines = lines_of(receipt)
    return with_lines(advance(receipt, lines, table, at_ms), lines)


def lines_of(receipt: Receipt) -> dict[str, Table]:
    """The tables of a receipt by name."""
    return {line.name: line for line in receipt.tables}


def advance(receipt: Receipt, lines: dict[str, Table], table: Table, at_ms: int) -> Receipt:
    """Put one table further on among the lines, and return the receipt without them: of many, one is new.

    A table is read while the request runs; it may be given up at any time before the end.
    """
    if receipt.over or (receipt.state is not State.RUNNING and table.scan is None):
        raise ILLEGAL_MOVE(id=receipt.id, state=receipt.state.value, wished="further on")
    old = lines.get(table.name)
    if old is not None and old.scan is not None:
        raise TABLE_FINISHED(id=receipt.id, table=table.name)
    lines[table.name] = replace(table, percent=percent(table))
    return replace(receipt, current=None if table.scan else table.name, at_ms=at_ms)


def with_lines(receipt: Receipt, lines: Mapping[str, Table]) -> Receipt:
    """The receipt with these tables."""
    return replace(receipt, tables=tuple(lines.values()))


def fold(found: Iterable[Receipt]) -> Kept:
    """Fold receipts in the order in which they were written."""
    under_way: dict[str, Receipt] = {}
    over: dict[str, None] = {}
    for receipt in found:
        under_way.pop(receipt.id, None)
        if receipt.over:
            remember(over, receipt.id)
        else:
            over.pop(receipt.id, None)
            under_way[receipt.id] = receipt
    return Kept(under_way, tuple(over))


def remember(over: dict[str, None], request_id: str) -> None:
    """Add the id of a request that is over to the newest of them."""
    over.pop(request_id, None)
    over[request_id] = None
    if len(over) > MOST_OVER:
        del over[next(iter(over))]


def percent(table: Table) -> int | None:
    """How much of a table is read; None where nobody knows how much there is, or it ended before its end."""
    if table.scan is not None:
        return 100 if table.scan in {Scan.SUCCEEDED, Scan.EMPTY} else None
    if table.expected is None:
        return None
    return min(99, 100 * table.rows // max(1, table.expected))


def key(connector: str, partition: SourcePartition, request_id: str) -> bytes:
    """The record key, shaped as those of the offsets topic."""
    return canonical(
        [connector, {"server": partition.server, "database": partition.database, "request": request_id}]
    )


def parse_key(text: bytes | None) -> Key | None:
    """Read a record key; None for one that is none of ours."""
    try:
        read = orjson.loads(text or b"")
    except orjson.JSONDecodeError:
        return None
    match read:
        case [str(connector), {"server": str(server), "database": str(database), "request": str(request)}]:
            return Key(connector, server, database, request)
    return None


def fields(receipt: Receipt) -> dict[str, Any]:
    """The receipt as plain values, without what is not known."""
    plain: dict[str, Any] = _ADAPTER.dump_python(receipt, mode="json", exclude_none=True)
    return plain


def encode(receipt: Receipt) -> bytes:
    """The record's value: JSON with sorted keys and a version."""
    return canonical({"version": VERSION, **fields(receipt)})


def decode(value: bytes, *, partition: int, offset: int) -> Receipt:
    """Read a receipt; what can't be read is named by its place, never by its content."""
    reason = "it is not a JSON object of version 1"
    try:
        read = orjson.loads(value)
        if isinstance(read, dict) and read.pop("version", None) == VERSION:
            return _ADAPTER.validate_json(orjson.dumps(read))
    except orjson.JSONDecodeError:
        pass  # answered below, without the decoder's error: it holds the text
    except ValidationError as exc:
        first = exc.errors(include_input=False, include_url=False, include_context=False)[0]
        reason = "a field is not known" if first["type"].startswith("unexpected") else first["msg"]
    raise BROKEN(partition=partition, offset=offset, reason=reason)


def notifications(before: Receipt | None, after: Receipt, connector: str) -> tuple[Notification, ...]:
    """What Debezium would have said between two receipts of one request, in order.

    It speaks of snapshots alone: a pause is told by the snapshots that it held.
    """
    if after.what is not What.READ:
        return ()
    return tuple(
        Notification(
            id=after.id,
            aggregate_type=_AGGREGATES[after.kind],
            type=kind,
            additional_data=MappingProxyType({"connector_name": connector, **data}),
            timestamp=after.at_ms,
        )
        for kind, data in _said(before, after)
    )


_AGGREGATES = {SnapshotKind.INCREMENTAL: "Incremental Snapshot", SnapshotKind.BLOCKING: "Initial Snapshot"}


def _said(before: Receipt | None, after: Receipt) -> Iterator[tuple[str, dict[str, str]]]:
    was = before.state if before else None
    collections = {"data_collections": ",".join(table.name for table in after.tables)}
    started = was in {None, State.ACCEPTED} and after.state in {State.RUNNING, State.SUCCEEDED}
    if started:
        yield "STARTED", collections
    if after.state is State.PAUSED and was is not State.PAUSED:
        yield "PAUSED", collections
    if after.state is State.RUNNING and was is State.PAUSED:
        yield "RESUMED", collections
    yield from _said_of_tables(before, after, collections)
    if was is not after.state:
        match after.state:
            case State.SUCCEEDED:
                yield "COMPLETED", {}
            case State.FAILED | State.CANCELLED:
                yield "ABORTED", collections


def _said_of_tables(
    before: Receipt | None, after: Receipt, collections: dict[str, str]
) -> Iterator[tuple[str, dict[str, str]]]:
    known = {table.name: table for table in before.tables} if before else {}
    for table in after.tables:
        old = known.get(table.name, Table(table.name))
        if table.scan and not old.scan:
            yield (
                "TABLE_SCAN_COMPLETED",
                {
                    **collections,
                    "scanned_collection": table.name,
                    "total_rows_scanned": str(table.rows),
                    "status": table.scan.value,
                },
            )
        elif (table.rows, table.last_key, table.maximum_key) != (old.rows, old.last_key, old.maximum_key):
            yield (
                "IN_PROGRESS",
                {
                    **collections,
                    "current_collection_in_progress": table.name,
                    "maximum_key": table.maximum_key or "<null>",
                    "last_processed_key": table.last_key or "<null>",
                },
            )
