"""A signal that was understood into a request to the snapshot machine.  Pure.

    row of the signal table, message of the signal topic --> schemas/signals --> here --> Machine.request

Tables are named by patterns; what they mean is what the stream captures at this moment.  What can't be
carried out is refused whole, with its reason: half a request would look like a whole one.  One of kind
`blocking` is read beside the log like any other, so nobody waits for it; its rows say `snapshot` as
Debezium's do.
"""

from collections.abc import Collection, Sequence
from typing import TypeAlias

from wrackline.producers.chunks import Bound
from wrackline.producers.snapshot.requests import Pause, Refused, Request, Resume, Snapshot, Stop
from wrackline.schemas import conditions, patterns, signals
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.receipts import What
from wrackline.schemas.signals import SnapshotKind
from wrackline.schemas.table import TableId

_NAMED = 3  # of the names that nobody knows

REJECTED = define(
    "signal.rejected",
    OperatorNeeded,
    "signal {id} was not obeyed: {reason} [{code}]",
    hint="{mend}",
)
NO_TABLE = define(
    "signal.no_table",
    OperatorNeeded,
    "signal {id} is not obeyed, because {named} names no table that this pipeline captures",
    hint="see which it captures: wrackline snapshot status <pipeline.toml>; a table that was created or"
    " changed just now may be known some seconds later: ask again then, with a new id",
)

Understood: TypeAlias = Request | WracklineError | None


def asked(read: signals.Accepted | signals.Rejected, tables: Collection[TableId]) -> Understood:
    """Return what the machine is asked; an error to tell of, or None for what is no request."""
    if isinstance(read, signals.Rejected):
        reason = read.reason
        return REJECTED(
            id=read.id or "without an id", reason=reason.sentence, code=reason.code, mend=reason.hint
        )
    match read.signal:
        case signals.ExecuteSnapshot() as wanted:
            return _snapshot(wanted, tables)
        case signals.StopSnapshot() as wanted:
            meant = _meant(wanted.tables, tables)
            unknown = None if meant else _unknown(wanted, tables)  # what is known is stopped in any case
            return unknown or Stop(wanted.id, meant)
        case signals.PauseSnapshot(id=request):
            return Pause(request, tuple(tables))
        case signals.ResumeSnapshot(id=request):
            return Resume(request, tuple(tables))
        case _:
            return None  # marks are the machine's, and a log signal shows that signals arrive


def refusal(read: signals.Accepted | signals.Rejected, error: WracklineError) -> Refused | None:
    """Return what the receipt of a refused request says; None where it has no id."""
    if isinstance(read, signals.Rejected):
        return Refused(read.id, SnapshotKind.INCREMENTAL, What.READ, error) if read.id else None
    kind = getattr(read.signal, "kind", SnapshotKind.INCREMENTAL)
    what = What.STOP if isinstance(read.signal, signals.StopSnapshot) else What.READ
    return Refused(read.signal.id, kind, what, error)


def _snapshot(wanted: signals.ExecuteSnapshot, tables: Collection[TableId]) -> Snapshot | WracklineError:
    if not wanted.tables:
        return NO_TABLE(id=wanted.id, named="an empty list")
    if (unknown := _unknown(wanted, tables)) is not None:
        return unknown
    named = _meant(wanted.tables, tables)
    span = wanted.key_range
    return Snapshot(
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
    """Give each table the first condition that is for it; as text again, for it becomes saved state."""
    found: dict[TableId, str] = {}
    for one in wanted.conditions:
        for table in patterns.resolve(one.tables, named):
            found.setdefault(table, conditions.render(one.condition))
    return found


def _unknown(
    wanted: signals.ExecuteSnapshot | signals.StopSnapshot, tables: Collection[TableId]
) -> WracklineError | None:
    """Refuse a request of which some name or pattern means no table."""
    named = [pattern.text for pattern in wanted.tables if not patterns.resolve(pattern, tables)]
    if not named:
        return None
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return NO_TABLE(id=wanted.id, named=", ".join(named[:_NAMED]) + more)


def _meant(named: Collection[patterns.TablePattern], tables: Collection[TableId]) -> tuple[TableId, ...]:
    found = [table for pattern in named for table in patterns.resolve(pattern, tables)]
    return tuple(dict.fromkeys(found))


def _bound(key: tuple[signals.KeyValue, ...] | None) -> Bound | None:
    """Write a key's values as the server reads them."""
    if key is None:
        return None
    return tuple(("true" if part else "false") if isinstance(part, bool) else str(part) for part in key)
