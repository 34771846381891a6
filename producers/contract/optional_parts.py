"""What a source and its streams may offer beside their contract; each part may be left out.

A caller that wants a part asks with `isinstance` whether it is there, and does without it if not.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from wrackline.producers.contract.row_chunks import Mark
from wrackline.producers.contract.steps import Position, Saved
from wrackline.producers.contract.uncaptured import UncapturedReason
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema


@dataclass(frozen=True, slots=True)
class LogState:
    """One source partition's log as its server shows it; None where the server does not say."""

    name: str  # what keeps the log for us, as "replication slot shop"
    held_by: str | None  # the reader of our log now
    end: int  # up to where the log was written, in bytes
    behind: int | None  # bytes that are not confirmed
    retained: int | None  # bytes that the server keeps for us
    spare: int | None  # bytes that may be written before what we need is lost; None: no limit
    status: str | None  # the server's own word for it
    drop: str | None = None  # the statement that gives up what is kept
    kept_s: int | None = None  # the server keeps its log for this many seconds; None: no limit by time
    expires_s: float | None = None  # seconds until what we need is that old; None: never, at present


@runtime_checkable
class Attended(Protocol):
    """What operators request from a source outside its task; a source may leave it out."""

    def log_state(self, partition: SourcePartition, confirmed: Position | None = None) -> LogState | None:
        """Look at the log without reading it; None when nothing is kept for us yet.

        `confirmed` is what Kafka has, as far as the caller knows: not every server can say it by itself.
        """
        ...

    def place(self, partition: SourcePartition, saved: Saved) -> str:
        """Write a saved position as this database's users would; a faulty position raises."""
        ...

    def resumable(self, partition: SourcePartition, saved: Saved) -> None:
        """Raise the error that a start at this position would end with; changes nothing."""
        ...

    def anew(self, partition: SourcePartition, saved: Saved | None, newest: Saved | None) -> Saved:
        """Return the position in an epoch after the epoch of `newest`; None means the log's beginning."""
        ...


@runtime_checkable
class LogEnding(Protocol):
    """A source that can say where its log ends now; it may be left out."""

    def log_end(self, partition: SourcePartition) -> Mark:
        """Mark the log's end: what any SELECT showed before the call ends there or earlier.

        Nothing is written, and the log comes to this mark soon, also if nothing else happens.
        """
        ...


@runtime_checkable
class LogSurvey(Protocol):
    """A source of several logs, one of whose answers is about all of them; it may be left out."""

    @property
    def survey_s(self) -> float | None:
        """Seconds from one such question to the next; None: now each log is asked about by itself."""
        ...

    def log_ends(self) -> Mapping[SourcePartition, Mark]:
        """Mark the end of each log, as `log_end` does."""
        ...

    def log_states(self) -> Mapping[SourcePartition, LogState | None]:
        """Look at each log, as `log_state` does."""
        ...


class LogRecount(NamedTuple):
    """What a source has counted again of a log, since its process started."""

    ranges: int
    ago_s: float | None  # since the last one; None: there was none


@runtime_checkable
class Recounting(Protocol):
    """A source that counts again what it has read of a log; it may be left out."""

    def recount(self, partition: SourcePartition) -> LogRecount | None:
        """Say what was counted; None where nothing is.  Any thread may ask, and nothing is waited for."""
        ...


@dataclass(frozen=True, slots=True)
class OpenTransactions:
    """What a source keeps of transactions whose end its log has not shown yet."""

    count: int
    oldest_ms: int | None  # when the oldest began; None: there is none, or it is not known
    file_bytes: int  # of their changes, what is in files because memory has no room for it


@runtime_checkable
class Buffering(Protocol):
    """A source whose log has changes before their commit, so that it keeps them; it may be left out."""

    def open_transactions(self, partition: SourcePartition) -> OpenTransactions | None:
        """Say what is kept; None while no log is open.  Any thread may ask, and nothing is waited for."""
        ...


@runtime_checkable
class Renewing(Protocol):
    """A source that can begin a new log if the old one is lost; it may be left out."""

    def lost(self, partition: SourcePartition, error: WracklineError) -> bool:
        """Whether this error says that the partition's log is lost."""
        ...

    def renewed(self, partition: SourcePartition, saved: Saved, error: WracklineError) -> Saved:
        """Return the position of the log from now on, in an epoch after the epoch of `saved`.

        What the server keeps for the lost log is given up, if a new log is not possible beside it.  Twice
        is harmless, because nobody knows the new position before the first Kafka transaction that holds it.
        """
        ...


@runtime_checkable
class Surveying(Protocol):
    """A source that can describe many tables at once; it may be left out."""

    def described(
        self, partition: SourcePartition, tables: Collection[TableId]
    ) -> Mapping[TableId, TableSchema | WracklineError]:
        """Return the shape of each table now, or why it can't be described."""
        ...

    def left_out(self, partition: SourcePartition) -> Mapping[TableId, UncapturedReason]:
        """Return why each table that is known and not captured is left out."""
        ...


class TableSize(NamedTuple):
    """How large a table is, by the server's own estimates; None where it has none."""

    rows: int | None
    bytes: int | None


@runtime_checkable
class Sizing(Protocol):
    """A source whose catalogue knows how large tables are; it may be left out."""

    def sizes(self, partition: SourcePartition) -> Mapping[TableId, TableSize]:
        """Return the estimate of each table; no table is read, and none is waited for."""
        ...


@runtime_checkable
class Proving(Protocol):
    """A source that knows whether an index keeps a key unique; it may be left out."""

    def unproven(
        self, partition: SourcePartition, tables: Collection[TableId]
    ) -> Mapping[TableId, Sequence[str]]:
        """Return the keys, by message.key.columns, that no unique index proves."""
        ...


@runtime_checkable
class Absence(Protocol):
    """A source that can tell a table that was dropped from one that is hidden; it may be left out."""

    def absent(self, partition: SourcePartition, tables: Collection[TableId]) -> Collection[TableId]:
        """Return those that the filters capture, and of whose name there is nothing."""
        ...


@runtime_checkable
class Beating(Protocol):
    """A source that can write something small into its log by itself; it may be left out."""

    def beat(self, partition: SourcePartition) -> None:
        """Write it, on a connection of its own; its result passes the stream, but not as a row."""
        ...


@dataclass(frozen=True, slots=True)
class ServerObject:
    """An object on a source's server that belongs to a pipeline."""

    name: str  # as "replication slot shop"
    drop: str  # the statement that removes it by hand
    bytes: int | None = None  # how much the server keeps because of it
    held_by: str | None = None  # its user now
    left: str | None = None  # why it is not known to be this pipeline's own; None: it is


@runtime_checkable
class Removable(Protocol):
    """A source that creates something on its server, and can remove it; it may be left out."""

    def kept(self, partition: SourcePartition, saved: Saved | None) -> Sequence[ServerObject]:
        """Return what is there, in the order of removal: first what makes the server keep more.

        `saved` is the pipeline's position, the only sign that it has read from there.  Changes nothing.
        """
        ...

    def remove(self, partition: SourcePartition, saved: Saved | None) -> None:
        """Remove what is the pipeline's own; twice is harmless.

        An error if an object is in use; then nothing behind it in the order is removed.
        """
        ...


@runtime_checkable
class Claimed(Protocol):
    """A source whose server keeps the log under a name that any pipeline can use; it may be left out."""

    def refuse_anothers(self, partition: SourcePartition, saved: Saved | None) -> None:
        """Raise if the log of that name is known to be another pipeline's, and `saved` is not in it."""
        ...


@runtime_checkable
class NoServerPosition(Protocol):
    """A source whose server keeps nothing for a reader, so nothing there shows a reader; may be left out."""

    def log_reader(self, partition: SourcePartition) -> str | None:
        """Return the reader of the pipeline's log now, None: nobody; an error if the server does not say."""
        ...


class StreamWait(NamedTuple):
    """What ends the wait of a stream: one of these descriptors can be read, or the seconds have passed."""

    files: Sequence[int]
    seconds: float  # since its last poll


@runtime_checkable
class SharedWait(Protocol):
    """A stream that can be waited for together with others, in one wait; it may be left out."""

    def begin_wait(self) -> StreamWait:
        """Return what ends the wait that begins now; a poll that does not wait follows it."""
        ...

    def end_wait(self, files: Collection[int]) -> None:
        """Take which of its descriptors can be read."""
        ...
