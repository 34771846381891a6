"""What became of a request: one record per request, on a compacted topic.

    accepted -> running <-> paused -> succeeded | failed | cancelled

Comes in: what the snapshot machine does with a request.  Goes out: the request's receipt, and
from two receipts in a row the notifications that Debezium would have sent between them: they are
rendered, not kept beside, so the two can't disagree.  Each carries the id of its own request,
also when several are under way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError

from wrackline.schemas.control_events import Notification
from wrackline.schemas.errors import Definite, WracklineError, define
from wrackline.schemas.signals import SnapshotKind

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


@dataclass(frozen=True, slots=True)
class Receipt:
    """One request as it stands now."""

    id: str
    state: State
    kind: SnapshotKind
    at_ms: int  # when it came to stand so
    tables: tuple[Table, ...] = ()
    current: str | None = None
    code: str | None = None  # of the error or warning
    sentence: str | None = None

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")


_ADAPTER = TypeAdapter(Receipt)


def accept(request_id: str, kind: SnapshotKind, tables: tuple[str, ...], at_ms: int) -> Receipt:
    """The first receipt of a request, with the tables that it was resolved to."""
    return Receipt(request_id, State.ACCEPTED, kind, at_ms, tuple(map(Table, tables)))


def move(receipt: Receipt, state: State, at_ms: int, error: WracklineError | None = None) -> Receipt:
    """The receipt in its next state; a move that the table above lacks raises and changes nothing."""
    if state not in MOVES[receipt.state]:
        raise ILLEGAL_MOVE(id=receipt.id, state=receipt.state.value, wished=state.value)
    code, sentence = (error.code, error.sentence) if error else (receipt.code, receipt.sentence)
    current = receipt.current if MOVES[state] else None
    return replace(receipt, state=state, at_ms=at_ms, code=code, sentence=sentence, current=current)


def progress(receipt: Receipt, table: Table, at_ms: int) -> Receipt:
    """The receipt with one table further on, or finished if it carries a scan result."""
    if receipt.state is not State.RUNNING:
        raise ILLEGAL_MOVE(id=receipt.id, state=receipt.state.value, wished="further on")
    if any(old.name == table.name and old.scan is not None for old in receipt.tables):
        raise TABLE_FINISHED(id=receipt.id, table=table.name)
    tables = tuple(table if old.name == table.name else old for old in receipt.tables)
    if table not in tables:
        tables = (*tables, table)
    return replace(receipt, tables=tables, current=None if table.scan else table.name, at_ms=at_ms)


def key(receipt: Receipt) -> bytes:
    """The record key: the request's id as JSON."""
    return orjson.dumps(receipt.id)


def encode(receipt: Receipt) -> bytes:
    """The record's value: JSON with sorted keys and a version."""
    fields: dict[str, Any] = {"version": VERSION, **_ADAPTER.dump_python(receipt, mode="json")}
    return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)


def decode(value: bytes, *, partition: int, offset: int) -> Receipt:
    """Read a receipt; what can't be read is named by its place, never by its content."""
    reason = "it is not a JSON object of version 1"
    try:
        fields = orjson.loads(value)
        if isinstance(fields, dict) and fields.pop("version", None) == VERSION:
            return _ADAPTER.validate_json(orjson.dumps(fields))
    except orjson.JSONDecodeError:
        pass  # answered below, without the decoder's error: it holds the text
    except ValidationError as exc:
        first = exc.errors(include_input=False, include_url=False, include_context=False)[0]
        reason = "a field is not known" if first["type"].startswith("unexpected") else first["msg"]
    raise BROKEN(partition=partition, offset=offset, reason=reason)


def notifications(before: Receipt | None, after: Receipt, connector: str) -> tuple[Notification, ...]:
    """What Debezium would have said between two receipts of one request, in order."""
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
        elif table != old:
            yield (
                "IN_PROGRESS",
                {
                    **collections,
                    "current_collection_in_progress": table.name,
                    "maximum_key": table.maximum_key or "<null>",
                    "last_processed_key": table.last_key or "<null>",
                },
            )
