"""The state of a request: one record per request, on a compacted topic.

    accepted -> running <-> paused -> succeeded | failed | cancelled

Comes in: what the snapshot machine does with a request.  Goes out: the request's receipt, and from two
receipts in a row the notifications that Debezium would have sent between them.  They are rendered, not
stored, so the two can't disagree.  Each contains the id of its own request, also when several are under way.
The key contains connector, server and database beside the id, because pipelines of one group, and databases
of one server, may use the same ids.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError

from wrackline.schemas.errors import Definite, WracklineError, define
from wrackline.schemas.events.control_events import NotificationEvent
from wrackline.schemas.kafka.offsets_records import canonical_json
from wrackline.schemas.kafka.signals import SnapshotKind
from wrackline.schemas.tables.table import SourcePartition

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
    "table {table} of request {id} is already finished",
    hint="look at it: wrackline snapshot status <pipeline.toml>",
)
BROKEN = define(
    "receipt.broken",
    Definite,
    "the receipt at offset {offset} of partition {partition} can't be read: {reason}",
    hint="if a newer version wrote it, run that version of wrackline; otherwise look at it: kcat -b"
    " <brokers> -C -t 'wrackline-<name>-requests' -p {partition} -o {offset} -c 1",
)


class RequestState(Enum):
    """The state of a request; each is saved."""

    ACCEPTED = "accepted"  # understood and queued
    RUNNING = "running"  # its first chunk was requested
    PAUSED = "paused"  # by request; its place is kept
    SUCCEEDED = "succeeded"  # every table was read to its end, or was empty
    FAILED = "failed"  # at least one table was abandoned; the others were read
    CANCELLED = "cancelled"  # stopped by request, or its task was deleted


MOVES: Mapping[RequestState, frozenset[RequestState]] = MappingProxyType(
    {
        RequestState.ACCEPTED: frozenset(
            {
                RequestState.RUNNING,
                RequestState.PAUSED,
                RequestState.SUCCEEDED,
                RequestState.FAILED,
                RequestState.CANCELLED,
            }  # nothing to read: succeeded
        ),
        RequestState.RUNNING: frozenset(
            {RequestState.PAUSED, RequestState.SUCCEEDED, RequestState.FAILED, RequestState.CANCELLED}
        ),
        RequestState.PAUSED: frozenset({RequestState.RUNNING, RequestState.FAILED, RequestState.CANCELLED}),
        RequestState.SUCCEEDED: frozenset(),
        RequestState.FAILED: frozenset(),
        RequestState.CANCELLED: frozenset(),
    }
)


class RequestKind(Enum):
    """What a request does."""

    READ = "read"
    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"


class ScanStatus(Enum):
    """How the reading of one table ended, in Debezium's words."""

    SUCCEEDED = "SUCCEEDED"
    EMPTY = "EMPTY"
    NO_PRIMARY_KEY = "NO_PRIMARY_KEY"
    SKIPPED = "SKIPPED"
    SQL_EXCEPTION = "SQL_EXCEPTION"
    UNKNOWN_SCHEMA = "UNKNOWN_SCHEMA"


@dataclass(frozen=True, slots=True)
class TableProgress:
    """One table of a request: its progress, and once it is over, how it ended."""

    name: str
    rows: int = 0
    last_key: str | None = None
    maximum_key: str | None = None
    scan: ScanStatus | None = None
    code: str | None = None  # of the error that ended it
    expected: int | None = None  # rows, as the database estimated at planning; None: unknown
    percent: int | None = None  # of the expected rows; 100 only once it was read to its end
    seconds_left: int | None = None  # at its recent pace; None: unknown


@dataclass(frozen=True, slots=True)
class Receipt:
    """One request in its current state."""

    id: str
    state: RequestState
    kind: SnapshotKind
    at_ms: int  # when it got this state
    what: RequestKind = RequestKind.READ
    tables: tuple[TableProgress, ...] = ()
    current: str | None = None
    code: str | None = None  # of the error or warning
    sentence: str | None = None

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

    @property
    def over(self) -> bool:
        """Whether the request has ended."""
        return not MOVES[self.state]


class ReceiptKey(NamedTuple):
    """Where a request belongs."""

    connector: str
    server: str
    database: str
    id: str


@dataclass(frozen=True, slots=True)
class StoredReceipts:
    """The fold of a topic of receipts: the requests under way, and the ids of requests that are over."""

    under_way: Mapping[str, Receipt] = field(default_factory=dict)
    over: Sequence[str] = ()  # the newest of them, oldest first


MOST_OVER: Final = 1_000  # requests that are remembered after their end

_ADAPTER = TypeAdapter(Receipt)


def accept(
    request_id: str,
    kind: SnapshotKind,
    tables: tuple[str, ...],
    at_ms: int,
    what: RequestKind = RequestKind.READ,
) -> Receipt:
    """The first receipt of a request, with the tables that it was resolved to."""
    return Receipt(request_id, RequestState.ACCEPTED, kind, at_ms, what, tuple(map(TableProgress, tables)))


def refuse(
    request_id: str, kind: SnapshotKind, what: RequestKind, error: WracklineError, at_ms: int
) -> Receipt:
    """The only receipt of a request that can't be carried out."""
    return Receipt(
        request_id, RequestState.FAILED, kind, at_ms, what, code=error.code, sentence=error.sentence
    )


def join(receipt: Receipt, tables: tuple[str, ...], at_ms: int) -> Receipt:
    """The receipt of a request under way, with tables added; a table that was given up starts over."""
    left = (table for table in receipt.tables if table.scan is None or table.name not in tables)
    lines = {table.name: table for table in left}
    lines = {name: TableProgress(name) for name in tables} | lines
    return replace(receipt, tables=tuple(lines[name] for name in sorted(lines)), at_ms=at_ms)


def move(receipt: Receipt, state: RequestState, at_ms: int, error: WracklineError | None = None) -> Receipt:
    """The receipt in its next state; a move that the table above lacks raises and changes nothing."""
    if state not in MOVES[receipt.state]:
        raise ILLEGAL_MOVE(id=receipt.id, state=receipt.state.value, wished=state.value)
    code, sentence = (error.code, error.sentence) if error else (receipt.code, receipt.sentence)
    current = receipt.current if MOVES[state] else None
    tables = receipt.tables
    if state is not RequestState.RUNNING:
        tables = tuple(replace(table, seconds_left=None) for table in tables)
    return replace(
        receipt, state=state, at_ms=at_ms, code=code, sentence=sentence, current=current, tables=tables
    )


def progress(receipt: Receipt, table: TableProgress, at_ms: int) -> Receipt:
    """The receipt with the progress of one table, which is finished if it has a scan result."""
    lines = lines_of(receipt)
    return with_lines(advance(receipt, lines, table, at_ms), lines)


def lines_of(receipt: Receipt) -> dict[str, TableProgress]:
    """The tables of a receipt by name."""
    return {line.name: line for line in receipt.tables}


def advance(receipt: Receipt, lines: dict[str, TableProgress], table: TableProgress, at_ms: int) -> Receipt:
    """Put one table's progress into the lines; return the receipt without them: of many lines, one is new.

    A table is read while the request runs; it may be given up at any time before the end.
    """
    if receipt.over or (receipt.state is not RequestState.RUNNING and table.scan is None):
        raise ILLEGAL_MOVE(id=receipt.id, state=receipt.state.value, wished="further on")
    old = lines.get(table.name)
    if old is not None and old.scan is not None:
        raise TABLE_FINISHED(id=receipt.id, table=table.name)
    lines[table.name] = replace(table, percent=percent(table))
    return replace(receipt, current=None if table.scan else table.name, at_ms=at_ms)


def with_lines(receipt: Receipt, lines: Mapping[str, TableProgress]) -> Receipt:
    """The receipt with these tables."""
    return replace(receipt, tables=tuple(lines.values()))


def fold(found: Iterable[Receipt]) -> StoredReceipts:
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
    return StoredReceipts(under_way, tuple(over))


def remember(over: dict[str, None], request_id: str) -> None:
    """Add the id of a request that is over to the newest of them."""
    over.pop(request_id, None)
    over[request_id] = None
    if len(over) > MOST_OVER:
        del over[next(iter(over))]


def percent(table: TableProgress) -> int | None:
    """How much of a table is read; None if its size is unknown, or if it ended before its end."""
    if table.scan is not None:
        return 100 if table.scan in {ScanStatus.SUCCEEDED, ScanStatus.EMPTY} else None
    if table.expected is None:
        return None
    return min(99, 100 * table.rows // max(1, table.expected))


def key(connector: str, partition: SourcePartition, request_id: str) -> bytes:
    """The record key, in the form of the offsets topic's keys."""
    return canonical_json(
        [connector, {"server": partition.server, "database": partition.database, "request": request_id}]
    )


def parse_key(text: bytes | None) -> ReceiptKey | None:
    """Read a record key; None for a key that is not ours."""
    try:
        read = orjson.loads(text or b"")
    except orjson.JSONDecodeError:
        return None
    match read:
        case [str(connector), {"server": str(server), "database": str(database), "request": str(request)}]:
            return ReceiptKey(connector, server, database, request)
    return None


def fields(receipt: Receipt) -> dict[str, Any]:
    """The receipt as plain values, without what is not known."""
    plain: dict[str, Any] = _ADAPTER.dump_python(receipt, mode="json", exclude_none=True)
    return plain


def encode(receipt: Receipt) -> bytes:
    """The record's value: JSON with sorted keys and a version."""
    return canonical_json({"version": VERSION, **fields(receipt)})


def decode(value: bytes, *, partition: int, offset: int) -> Receipt:
    """Read a receipt; an error names the place of a bad one, never its content."""
    reason = "it is not a JSON object of version 1"
    try:
        read = orjson.loads(value)
        if isinstance(read, dict) and read.pop("version", None) == VERSION:
            return _ADAPTER.validate_json(orjson.dumps(read))
    except orjson.JSONDecodeError:
        pass  # answered below, without the decoder's error: it holds the text
    except ValidationError as exc:
        first = exc.errors(include_input=False, include_url=False, include_context=False)[0]
        reason = "it has an unknown field" if first["type"].startswith("unexpected") else first["msg"]
    raise BROKEN(partition=partition, offset=offset, reason=reason)


def notifications(before: Receipt | None, after: Receipt, connector: str) -> tuple[NotificationEvent, ...]:
    """What Debezium would have sent between two receipts of one request, in order.

    It reports only snapshots: a pause is reported by the snapshots that it held.
    """
    if after.what is not RequestKind.READ:
        return ()
    return tuple(
        NotificationEvent(
            id=after.id,
            aggregate_type=_AGGREGATES[after.kind],
            type=kind,
            additional_data=MappingProxyType({"connector_name": connector, **data}),
            timestamp=after.at_ms,
        )
        for kind, data in _notification(before, after)
    )


_AGGREGATES = {SnapshotKind.INCREMENTAL: "Incremental Snapshot", SnapshotKind.BLOCKING: "Initial Snapshot"}


def _notification(before: Receipt | None, after: Receipt) -> Iterator[tuple[str, dict[str, str]]]:
    was = before.state if before else None
    collections = {"data_collections": ",".join(table.name for table in after.tables)}
    started = was in {None, RequestState.ACCEPTED} and after.state in {
        RequestState.RUNNING,
        RequestState.SUCCEEDED,
    }
    if started:
        yield "STARTED", collections
    if after.state is RequestState.PAUSED and was is not RequestState.PAUSED:
        yield "PAUSED", collections
    if after.state is RequestState.RUNNING and was is RequestState.PAUSED:
        yield "RESUMED", collections
    yield from _table_notifications(before, after, collections)
    if was is not after.state:
        match after.state:
            case RequestState.SUCCEEDED:
                yield "COMPLETED", {}
            case RequestState.FAILED | RequestState.CANCELLED:
                yield "ABORTED", collections


def _table_notifications(
    before: Receipt | None, after: Receipt, collections: dict[str, str]
) -> Iterator[tuple[str, dict[str, str]]]:
    known = {table.name: table for table in before.tables} if before else {}
    for table in after.tables:
        old = known.get(table.name, TableProgress(table.name))
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
