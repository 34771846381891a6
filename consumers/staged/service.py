"""What a service implements in a folder of its own, what takes files to it, and the sessions with it.

    a frame --Carrier--> files --Session.load--> a stage --Session.commit--> the table

A session is a connection, or what a service has in its place.  The room beside this file writes the texts; a
service's folder knows its driver, its types, its refusals and its checks.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

from wrackline.consumers.contract.direct import DirectChanges
from wrackline.consumers.contract.limits import find_breach
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.staged.dialect import StagedDialect
from wrackline.consumers.staged.merge import StageColumn, breach_error
from wrackline.consumers.staged.places import StagedPlace, StagedRelation
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.staged.state import StateMove
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.tables.table import TableId

Frame = TypeVar("Frame", contravariant=True)  # noqa: PLC0105 - read by callers, not only by mypy

LOAD_SHORT = define(
    "staged.load_short",
    Transient,
    "{carried} rows of a batch of {table} were written to files, and the target loaded {loaded}",
    hint="the batch is done again; if this keeps happening, something changes or removes the files meanwhile",
)
STATEMENT_TOO_LONG = define(
    "staged.statement_too_long",
    OperatorNeeded,
    "a commit for the table that {state} is about needs a statement of {size} bytes, and the target takes"
    " {most}",
    hint="the table has too many columns for one statement: leave some out: column.exclude.list; a table of"
    " rows needs about half as long a statement as a history",
)

UPKEEP_MS: Final = 86_400_000  # a day: each upkeep reads whole tables, and most services bill for that
_MOST_IDLE: Final = 8  # sessions kept; more than tables are merged at once
_IDLE_S: Final = 600.0  # how long; a service ends a session that nobody uses for hours


@dataclass(frozen=True, slots=True)
class StageTable:
    """A table that files are loaded into."""

    relation: StagedRelation
    columns: tuple[StageColumn, ...]

    def columns_text(self, dialect: StagedDialect) -> str:
        """Write its columns as CREATE TABLE has them."""
        return ", ".join(f"{one.name} {dialect.types[one.of]}" for one in self.columns)


@dataclass(frozen=True, slots=True)
class CarriedFiles:
    """Files that a service can load."""

    addresses: tuple[str, ...]
    rows: int


class Carrier(Protocol[Frame]):
    """Takes rows to where the service can load them, as files of primitives."""

    def carry(self, frame: Frame, plan: MergePlan, columns: Sequence[StageColumn]) -> CarriedFiles:
        """Write a frame; an empty one is no file."""
        ...

    def carry_rows(self, rows: Sequence[Sequence[object]], columns: Sequence[StageColumn]) -> CarriedFiles:
        """Write a few rows of our own."""
        ...

    def forget(self, files: CarriedFiles) -> None:
        """Remove files that are loaded; those that a crash leaves go with time."""
        ...


@runtime_checkable
class CarriesChanges(Protocol):
    """A carrier that also takes changes that the driver has in Arrow."""

    def carry_changes(
        self, changes: DirectChanges, plan: MergePlan, columns: Sequence[StageColumn]
    ) -> CarriedFiles | None:
        """Write them; None: only Spark knows what becomes of a value, or the service can't hold it."""
        ...


class StagedSession(Protocol):
    """One conversation, used by one thread at a time."""

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Ask."""
        ...

    def run(self, text: str) -> None:
        """Do one statement, which is committed by itself."""
        ...

    def commit(self, move: StateMove, steps: Sequence[str], name: str) -> bool:
        """Move the state and do the steps in one transaction.

        False: the state had another number, and nothing was changed.  The name is this commit's alone, so a
        service can be asked what became of it.
        """
        ...

    def load(self, stage: StageTable, files: CarriedFiles, name: str) -> int:
        """Load the files into a stage that is there, and return how many rows it has."""
        ...

    def close(self) -> None:
        """End it; nothing that was not committed is left."""
        ...


class StagedService(Protocol):
    """One open place."""

    @property
    def dialect(self) -> StagedDialect:
        """Its SQL."""
        ...

    def session(self) -> StagedSession:
        """Open a session."""
        ...

    def has_schema(self, session: StagedSession, name: str) -> bool:
        """Whether a schema is there: CREATE SCHEMA IF NOT EXISTS wants a right also where it is."""
        ...

    def state_row(self, session: StagedSession, table: StagedRelation) -> tuple[Any, ...] | None:
        """Read a table's state by the cheapest way there is; None: no table.  Empty: it has not one row."""
        ...

    def made(self, session: StagedSession, relation: StagedRelation) -> str | None:
        """Return what distinguishes a table or view from a later one of its name; None: it is not there."""
        ...

    def create(self, place: StagedPlace, shape: StagedShape) -> Sequence[str]:
        """Write the creation of the table; where it is there already, it changes nothing."""
        ...

    def create_stage(self, stage: StageTable) -> str:
        """Write the creation of a stage, which the service removes by itself where it can."""
        ...

    def old_tables(self, session: StagedSession, beginning: StagedRelation) -> Sequence[str]:
        """Return tables whose names begin so, and which are older than a day."""
        ...

    def refusal(self, error: Exception, doing: str, place: str) -> WracklineError | None:
        """Say what an error of the driver means, without its text; None: it is not the driver's."""
        ...

    def check(self, session: StagedSession, places: Sequence[StagedPlace]) -> Iterator[Finding]:
        """Find what is in the way; change nothing."""
        ...


@runtime_checkable
class ClosesService(Protocol):
    """A service that has something open beside its sessions."""

    def close(self) -> None:
        """End it; no session is used afterwards."""
        ...


@runtime_checkable
class KeepsColumns(Protocol):
    """A service that drops no column by which a table is cut, distributed or sorted."""

    def kept_columns(self, session: StagedSession, table: StagedRelation) -> Collection[str]:
        """Name the table's columns that can't be dropped."""
        ...


@runtime_checkable
class KeepsGrants(Protocol):
    """A service whose views are dropped and created again when their columns change."""

    def grants(self, session: StagedSession, view: StagedRelation) -> Sequence[str]:
        """Write what readers of a view may do, as statements for the next one of its name."""
        ...


def make_schemas(service: StagedService, session: StagedSession, names: Iterable[str]) -> None:
    """Make the schemas that are not there."""
    for name in dict.fromkeys(names):
        if not service.has_schema(session, name):
            session.run(f"CREATE SCHEMA IF NOT EXISTS {service.dialect.quoted(name)}")


def carry_frame(
    carrier: Carrier[Frame], frame: Frame, plan: MergePlan, columns: Sequence[StageColumn], view: str
) -> CarriedFiles:
    """Write the files, unless the service can't hold a value."""
    try:
        return carrier.carry(frame, plan, columns)
    except Exception as exc:
        found = find_breach(str(exc))
        if found is None:
            raise
    raise breach_error(*found, plan, columns, view)


def load_stage(
    service: StagedService, session: StagedSession, stage: StageTable, files: CarriedFiles, table: TableId
) -> None:
    """Make a stage and load files into it, all of their rows."""
    session.run(service.create_stage(stage))
    loaded = session.load(stage, files, stage.relation.name)
    if loaded != files.rows:
        raise LOAD_SHORT(carried=files.rows, table=table, loaded=loaded)


def check_length(texts: Iterable[str], most: int, state: str) -> None:
    """Refuse a statement that the service would refuse with an error that says less."""
    size = max(len(text.encode()) for text in texts)
    if size > most:
        raise STATEMENT_TOO_LONG(state=state, size=size, most=most)


def commit_over(
    send: Callable[[str], Any], move: StateMove, steps: Sequence[str], most: int, before: Sequence[str] = ()
) -> bool:
    """Move the state and do the steps in one transaction, or change nothing.

    `send` returns a cursor; no statement has more bytes than `most`.
    """
    check_length((move.text, *steps), most, move.state)
    for text in ("BEGIN", *before):
        send(text)
    if send(move.text).rowcount != 1:
        send("ROLLBACK")
        return False
    for text in (*steps, "COMMIT"):
        send(text)
    return True


class StagedSessions:
    """The open sessions: each has one user at a time, and is kept between two; safe for many threads."""

    def __init__(self, open_session: Callable[[], StagedSession]) -> None:
        self._open, self._lock = open_session, threading.Lock()
        self._idle: list[tuple[StagedSession, float]] = []  # the one that came back last is the last
        self._closed = False

    @contextmanager
    def lend(self) -> Iterator[StagedSession]:
        """Lend one; it is not used again after an error."""
        old = monotonic() - _IDLE_S
        with self._lock:
            ended = [one for one, since in self._idle if since < old]
            del self._idle[: len(ended)]
            session = self._idle.pop()[0] if self._idle else None
        for one in ended:
            one.close()
        session = session or self._open()
        try:
            yield session
        except BaseException:
            session.close()
            raise
        with self._lock:
            keeps = not self._closed and len(self._idle) < _MOST_IDLE
            if keeps:
                self._idle.append((session, monotonic()))
        if not keeps:
            session.close()

    def close(self) -> None:
        """End the idle ones; one in use ends when it comes back."""
        with self._lock:
            self._closed = True
            ended, self._idle = self._idle, []
        for session, _ in ended:
            session.close()
