"""Turns a signal that was understood into a request to the snapshot machine.  Pure.

    row of the signal table, message of the signal topic --> schemas/signals --> here --> Machine.request

Tables are named by patterns; a pattern means the tables that the stream captures at this moment.  A request
that can't be carried out is refused whole, with its reason: half a request would look like a whole one.  A
request of kind `blocking` is read beside the log like any other, so nobody waits for it; its rows have the
same `snapshot` value as Debezium's.
"""

from collections.abc import Collection, Sequence
from typing import TypeAlias

from wrackline.producers.contract.row_chunks import Bound
from wrackline.producers.contract.snapshot_requests import (
    PauseRequest,
    Request,
    RequestRefused,
    ResumeRequest,
    SnapshotRequest,
    StopRequest,
)
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.kafka import signals
from wrackline.schemas.kafka.receipts import RequestKind
from wrackline.schemas.kafka.signals import SnapshotKind
from wrackline.schemas.language import conditions, patterns
from wrackline.schemas.tables.table import TableId

_NAMED = 3  # how many unknown names are listed

REJECTED = define(
    "signal.rejected",
    OperatorNeeded,
    "signal {id} was not carried out: {reason} [{code}]",
    hint="{fix}",
)
NO_TABLE = define(
    "signal.no_table",
    OperatorNeeded,
    "signal {id} was not carried out, because {named} matches no table that this pipeline captures",
    hint="list the captured tables: wrackline snapshot status <pipeline.toml>; a table that was just"
    " created or changed may be known only some seconds later: then send the signal again, with a new id",
)

Understood: TypeAlias = Request | WracklineError | None


def understand_signal(
    read: signals.AcceptedSignal | signals.RejectedSignal, tables: Collection[TableId]
) -> Understood:
    """Return the request to the machine; an error to report, or None for what is not a request."""
    if isinstance(read, signals.RejectedSignal):
        reason = read.reason
        return REJECTED(
            id=read.id or "without an id", reason=reason.sentence, code=reason.code, fix=reason.hint
        )
    match read.signal:
        case signals.ExecuteSnapshot() as wanted:
            return _snapshot(wanted, tables)
        case signals.StopSnapshot() as wanted:
            meant = _matching_tables(wanted.tables, tables)
            unknown = None if meant else _unknown(wanted, tables)  # known tables are stopped in any case
            return unknown or StopRequest(wanted.id, meant)
        case signals.PauseSnapshot(id=request):
            return PauseRequest(request, tuple(tables))
        case signals.ResumeSnapshot(id=request):
            return ResumeRequest(request, tuple(tables))
        case _:
            return None  # marks belong to the machine, and a log signal shows that signals arrive


def refusal(
    read: signals.AcceptedSignal | signals.RejectedSignal, error: WracklineError
) -> RequestRefused | None:
    """Return what the receipt of a refused request says; None where it has no id."""
    if isinstance(read, signals.RejectedSignal):
        return RequestRefused(read.id, SnapshotKind.INCREMENTAL, RequestKind.READ, error) if read.id else None
    kind = getattr(read.signal, "kind", SnapshotKind.INCREMENTAL)
    what = RequestKind.STOP if isinstance(read.signal, signals.StopSnapshot) else RequestKind.READ
    return RequestRefused(read.signal.id, kind, what, error)


def _snapshot(
    wanted: signals.ExecuteSnapshot, tables: Collection[TableId]
) -> SnapshotRequest | WracklineError:
    if not wanted.tables:
        return NO_TABLE(id=wanted.id, named="an empty list")
    if (unknown := _unknown(wanted, tables)) is not None:
        return unknown
    named = _matching_tables(wanted.tables, tables)
    span = wanted.key_range
    return SnapshotRequest(
        wanted.id,
        named,
        kind=wanted.kind,
        conditions=_conditions(wanted, named),
        surrogate_key=wanted.surrogate_key,
        low=None if span is None else _bound(span.low),
        high=None if span is None else _bound(span.high),
        keys=tuple(bound for key in wanted.keys if (bound := _bound(key)) is not None),
    )


def _conditions(wanted: signals.ExecuteSnapshot, named: Sequence[TableId]) -> dict[TableId, str]:
    """Give each table the first condition that names it; as text, because it becomes saved state."""
    found: dict[TableId, str] = {}
    for one in wanted.conditions:
        for table in patterns.resolve(one.tables, named):
            found.setdefault(table, conditions.render(one.condition))
    return found


def _unknown(
    wanted: signals.ExecuteSnapshot | signals.StopSnapshot, tables: Collection[TableId]
) -> WracklineError | None:
    """Refuse a request if one of its names or patterns matches no table."""
    named = [pattern.text for pattern in wanted.tables if not patterns.resolve(pattern, tables)]
    if not named:
        return None
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return NO_TABLE(id=wanted.id, named=", ".join(named[:_NAMED]) + more)


def _matching_tables(
    named: Collection[patterns.TablePattern], tables: Collection[TableId]
) -> tuple[TableId, ...]:
    found = [table for pattern in named for table in patterns.resolve(pattern, tables)]
    return tuple(dict.fromkeys(found))


def _bound(key: tuple[signals.KeyValue, ...] | None) -> Bound | None:
    """Write a key's values as the server reads them."""
    if key is None:
        return None
    return tuple(("true" if part else "false") if isinstance(part, bool) else str(part) for part in key)
