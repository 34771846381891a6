"""Trials: what a source does to prove that a pipeline would run, and leaves nothing behind.

    check     reads catalogues: what should work
    trial     does it once, as the pipeline does it: what works

In: settings that were found good.  Out: what was measured, or the error that a start would end with.  What a
killed trial leaves is gone with its session, or is removed by a trial that comes an hour later or more.

Two trials at once share nothing: what each makes has a stamp in its name, its moment and a part by chance.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, runtime_checkable

from wrackline.schemas.redaction import Secret
from wrackline.schemas.tables.table import SourcePartition

Measures: TypeAlias = Mapping[str, int | float | str | None]

LEFT_S: Final = 3600  # after which no trial runs any more, so what it has made is left
URL_UNREADABLE: Final = (  # said of an administrator's: Python's own words contain its password
    "it can't be read as a URL, or its port is not a number; characters such as / ? # [ ] @ in a user or a"
    " password are written as their codes, such as %2F"
)
_STAMP: Final = re.compile(r"([0-9a-f]{8})-[0-9a-f]{8}")


def trial_stamp(now_s: float, chance: int) -> str:
    """Return the part of names that no other trial has; stamps are ordered by their moments."""
    return f"{int(now_s):08x}-{chance % (1 << 32):08x}"


def left_stamps(names: Iterable[str], before: str, now_s: float) -> list[str]:
    """Return the stamps of names that begin with `before`, of trials that no longer run."""
    stamps = (name.removeprefix(before) for name in names if name.startswith(before))
    found = ((stamp, _STAMP.fullmatch(stamp)) for stamp in stamps)
    return sorted(stamp for stamp, match in found if match and int(match[1], 16) < now_s - LEFT_S)


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
    raise_limit: str = ""  # what raises the limit; it may hold {gigabytes}, {seconds} or {minutes}


class SourceTrials(Protocol):
    """What one source partition can try."""

    def trials(self) -> Sequence[Trial]:
        """Return what is tried beside the reading of rows: log-in, log."""
        ...

    def clock_ms(self) -> int:
        """Return the server's wall clock."""
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
