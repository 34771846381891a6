"""Requests to the machine, and what becomes of them, as data.

Comes in: a request that its caller has parsed, allowed and resolved to tables.  Goes out: changes of
its receipt, for `schemas/kafka/receipts.py`; the caller adds the moment of each.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from wrackline.producers.contract.row_chunks import Bound
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.receipts import RequestKind, RequestState, TableProgress
from wrackline.schemas.kafka.signals import SnapshotKind
from wrackline.schemas.tables.table import TableId


class Purpose(Enum):
    """Why rows are read."""

    INITIAL = "initial"  # the table was never read
    REQUESTED = "requested"  # an operator requested it
    REFRESH = "refresh"  # stored values changed without row events; nobody can stop it


@dataclass(frozen=True, slots=True)
class SnapshotRequest:
    """Read tables, or a part of one: between two keys (both included), or only these keys."""

    id: str
    tables: tuple[TableId, ...]
    purpose: Purpose = Purpose.REQUESTED
    kind: SnapshotKind = SnapshotKind.INCREMENTAL
    conditions: Mapping[TableId, str] = field(
        default_factory=dict
    )  # in the grammar of schemas/language/conditions.py
    surrogate_key: str | None = None
    low: Bound | None = None
    high: Bound | None = None
    keys: tuple[Bound, ...] = ()
    anew: bool = False  # the log has a gap: what the copy has of these tables is void, so all is read


@dataclass(frozen=True, slots=True)
class StopRequest:
    """Read no more of these tables; no names mean all.  What the worker itself needs continues."""

    id: str
    tables: tuple[TableId, ...] = ()


@dataclass(frozen=True, slots=True)
class PauseRequest:
    """Begin no further read of these tables; no names mean all."""

    id: str
    tables: tuple[TableId, ...] = ()


@dataclass(frozen=True, slots=True)
class ResumeRequest:
    """Continue with these tables; no names mean all."""

    id: str
    tables: tuple[TableId, ...] = ()


Request: TypeAlias = SnapshotRequest | StopRequest | PauseRequest | ResumeRequest


@dataclass(frozen=True, slots=True)
class RequestAccepted:
    """A request has its first receipt."""

    id: str
    kind: SnapshotKind
    tables: tuple[TableId, ...]
    what: RequestKind = RequestKind.READ


@dataclass(frozen=True, slots=True)
class RequestJoined:
    """A request under way has more tables."""

    id: str
    tables: tuple[TableId, ...]


@dataclass(frozen=True, slots=True)
class RequestRefused:
    """A request can't be carried out: its one receipt says so."""

    id: str
    kind: SnapshotKind
    what: RequestKind
    error: WracklineError


@dataclass(frozen=True, slots=True)
class RequestMoved:
    """A request has another state now."""

    id: str
    state: RequestState
    error: WracklineError | None = None


@dataclass(frozen=True, slots=True)
class TableAdvanced:
    """One table of a request has advanced, or is finished."""

    id: str
    table: TableProgress


@dataclass(frozen=True, slots=True)
class TableHeldUp:
    """A table's reads have failed for a while; they are tried again, so no receipt changes."""

    error: WracklineError


@dataclass(frozen=True, slots=True)
class TableGivenUp:
    """A table's rows are not read until the next request; its request may continue with other tables."""

    error: WracklineError


ReceiptChange: TypeAlias = (
    RequestAccepted
    | RequestJoined
    | RequestRefused
    | RequestMoved
    | TableAdvanced
    | TableHeldUp
    | TableGivenUp
)
