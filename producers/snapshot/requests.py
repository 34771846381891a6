"""What the machine is asked for, and what becomes of it, as data.

Comes in: a request that was parsed, allowed and resolved to tables by its caller.  Goes out: changes of
its receipt, for `schemas/receipts.py`; the moment of each is the caller's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from wrackline.producers.chunks import Bound
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.receipts import State, Table, What
from wrackline.schemas.signals import SnapshotKind
from wrackline.schemas.table import TableId


class Purpose(Enum):
    """Why rows are read."""

    INITIAL = "initial"  # the table was never read
    REQUESTED = "requested"  # somebody asked
    REFRESH = "refresh"  # stored values changed without row events; nobody can stop it


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Read tables, or a part of one: between two keys (both included), or these keys only."""

    id: str
    tables: tuple[TableId, ...]
    purpose: Purpose = Purpose.REQUESTED
    kind: SnapshotKind = SnapshotKind.INCREMENTAL
    conditions: Mapping[TableId, str] = field(default_factory=dict)  # in the grammar of schemas/conditions.py
    surrogate_key: str | None = None
    low: Bound | None = None
    high: Bound | None = None
    keys: tuple[Bound, ...] = ()
    anew: bool = False  # the log has a gap: what the copy has of these tables is void, and read whole


@dataclass(frozen=True, slots=True)
class Stop:
    """Read no more of these tables; none named means all.  What the worker itself needs goes on."""

    id: str
    tables: tuple[TableId, ...] = ()


@dataclass(frozen=True, slots=True)
class Pause:
    """Begin no further read of these tables; none named means all."""

    id: str
    tables: tuple[TableId, ...] = ()


@dataclass(frozen=True, slots=True)
class Resume:
    """Go on with these tables; none named means all."""

    id: str
    tables: tuple[TableId, ...] = ()


Request: TypeAlias = Snapshot | Stop | Pause | Resume


@dataclass(frozen=True, slots=True)
class Accepted:
    """A request has its first receipt."""

    id: str
    kind: SnapshotKind
    tables: tuple[TableId, ...]
    what: What = What.READ


@dataclass(frozen=True, slots=True)
class Joined:
    """A request under way has more tables."""

    id: str
    tables: tuple[TableId, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A request can't be carried out: its one receipt says so."""

    id: str
    kind: SnapshotKind
    what: What
    error: WracklineError


@dataclass(frozen=True, slots=True)
class Became:
    """A request stands elsewhere now."""

    id: str
    state: State
    error: WracklineError | None = None


@dataclass(frozen=True, slots=True)
class Further:
    """One table of a request is further on, or finished."""

    id: str
    table: Table


@dataclass(frozen=True, slots=True)
class HeldUp:
    """Nothing has come of a table's reads for a while; they are tried on, so no receipt moves."""

    error: WracklineError


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A table's rows are read no more until somebody asks again; its request may go on with others."""

    error: WracklineError


ReceiptChange: TypeAlias = Accepted | Joined | Refused | Became | Further | HeldUp | GivenUp
