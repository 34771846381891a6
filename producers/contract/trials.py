"""Trials: what a source does to prove that a pipeline would run, and leaves nothing behind.

    check     reads catalogues: what should work
    trial     does it once, as the pipeline does it: what works

In: settings that were found good.  Out: what was measured, or the error that a start would end with.  What a
killed trial leaves is gone with its session, or is removed by the next trial.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from wrackline.producers.contract.optional_parts import TableSize
from wrackline.schemas.redaction import Secret
from wrackline.schemas.tables.table import SourcePartition, TableId

Measures: TypeAlias = Mapping[str, int | float | str | None]


@dataclass(frozen=True, slots=True)
class Trial:
    """Something that is tried; `run` raises the error that it ends with."""

    id: str
    proves: str
    run: Callable[[], Measures]


@dataclass(frozen=True, slots=True)
class LogPace:
    """How fast a server writes its log, and how much of it stays for a reader that does not come."""

    bytes_per_s: float | None  # None: the server does not say
    over_s: float  # the time that this is the average of
    most_bytes: int | None = None  # of log that is kept; None: no limit
    most_s: int | None = None  # after which log is deleted; None: no limit
    raise_limit: str = ""  # what raises the limit; it may hold {gigabytes} or {seconds}


class SourceTrials(Protocol):
    """What one source partition can try."""

    def trials(self) -> Sequence[Trial]:
        """Return what is tried beside the reading of rows: log-in, log."""
        ...

    def clock_ms(self) -> int:
        """Return the server's wall clock."""
        ...

    def sizes(self) -> Mapping[TableId, TableSize]:
        """Return the size of each table that the catalogue shows to us, with one statement."""
        ...

    def log_pace(self) -> LogPace:
        """Return the pace of the log."""
        ...

    def mend(self, admin: Secret, statement: str) -> None:
        """Run a fix's statement as an administrator, whose URL this is; a lock is waited for shortly."""
        ...


@runtime_checkable
class Trying(Protocol):
    """A source that can be tried; it may be left out."""

    def trying(self, partition: SourcePartition) -> SourceTrials:
        """Return what can be tried; nothing is tried yet."""
        ...
