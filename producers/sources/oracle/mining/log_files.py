"""Which log files a range of SCNs needs, for each thread of redo.  Pure.

    thread 1   ..5][6 .......][7 ....][8 current ->        an archived file, or else the online one
    thread 2   ..3][4 ..][5 ...........][6 current ->
                       (after      upto]                   needs 6, 7 of thread 1 and 4, 5 of thread 2

A log with a sequence number has every SCN from its first to the one before its next.  A thread whose numbers
have a hole has lost redo: that is an error which names thread and sequence.  A log that is only not archived
yet is no hole: it ends what an archived-only reader may mine.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from wrackline.schemas.errors import Definite, define

LOG_MISSING = define(
    "oracle.log_missing",
    Definite,
    "redo of thread {thread} with sequence {sequence} is needed from SCN {scn} on, and no file has it",
    hint="restore it from a backup, with RMAN: RESTORE ARCHIVELOG SEQUENCE {sequence} THREAD {thread}; then"
    " start the pipeline again; or, if there is none, start over: wrackline offsets reset <pipeline.toml>,"
    " and the next start reads all rows",
)

NO_END: Final = (1 << 64) - 1  # of a log that is being written


class LogFile(NamedTuple):
    """A file of V$LOG and V$LOGFILE, or of V$ARCHIVED_LOG."""

    name: str
    thread: int
    sequence: int
    first_scn: int
    next_scn: int  # the first SCN behind it; of the current log: at least as high as any SCN
    archived: bool  # from V$ARCHIVED_LOG
    current: bool = False  # still written, so only the safe SCN says what it holds

    @property
    def end(self) -> int:
        """The first SCN that it has not."""
        return NO_END if self.current else self.next_scn


class RedoThread(NamedTuple):
    """A row of V$THREAD."""

    number: int
    enabled: bool
    open: bool


class LogCover(NamedTuple):
    """What is there of the redo behind an SCN."""

    upto: int  # the highest SCN that the files of every enabled thread cover
    files: Sequence[LogFile]  # in order of thread and sequence

    def of(self, after: int, upto: int) -> Sequence[LogFile]:
        """Return the files that hold an SCN above `after` and not above `upto`."""
        return [file for file in self.files if file.first_scn <= upto and file.end > after + 1]


def cover(
    files: Iterable[LogFile],
    threads: Iterable[RedoThread],
    after: int,
    *,
    archived_only: bool = False,
    ended: Callable[[], Mapping[int, int]] = dict,
) -> LogCover:
    """Find the redo from the SCN behind `after` on, in each thread.

    A thread that is not enabled any more has an end, so it limits nothing; what it has is mined.  `ended`
    says which log of each thread was the last that had ended there: one that is enabled again continues with
    the next number, at an SCN of its own.
    """
    by_thread = _by_thread(files)
    made: list[LogFile] = []
    upto = NO_END
    for thread in sorted(threads):
        logs = by_thread.get(thread.number, {})
        chain = _chain(thread, logs, after, ended)
        ready = _archived(chain) if archived_only else chain
        made += ready
        if len(ready) < len(chain):
            upto = min(upto, chain[len(ready)].first_scn - 1)
        elif thread.enabled:
            upto = min(upto, chain[-1].end - 1 if chain else after)
    return LogCover(max(upto, after), made)


def still_holds(used: Iterable[LogFile], listed: Iterable[LogFile]) -> bool:
    """Whether the online files of a range are still the logs that they were when they were listed first.

    An archived file never becomes another log.
    """
    now = {_identity(file) for file in listed if not file.archived}
    return all(file.archived or _identity(file) in now for file in used)


def _identity(file: LogFile) -> tuple[str, int, int, int]:
    return file.name, file.thread, file.sequence, file.first_scn


def _by_thread(files: Iterable[LogFile]) -> Mapping[int, dict[int, LogFile]]:
    """One file for each log: an archived one, because nobody writes over it."""
    found: defaultdict[int, dict[int, LogFile]] = defaultdict(dict)
    for file in files:
        known = found[file.thread].get(file.sequence)
        if known is None or (file.archived, known.name) > (known.archived, file.name):
            found[file.thread][file.sequence] = file
    return found


def _chain(
    thread: RedoThread,
    logs: Mapping[int, LogFile],
    after: int,
    ended: Callable[[], Mapping[int, int]],
) -> list[LogFile]:
    """The logs of a thread that end behind an SCN; without a hole, or it is an error."""
    chain = [logs[number] for number in sorted(logs) if logs[number].end > after + 1]
    if not chain:
        return []
    first = chain[0]
    # a thread's first log has the number 1 since the database was made or its logs were reset
    if thread.enabled and first.first_scn > after + 1 and first.sequence != 1:
        last = first.sequence - 1
        if last not in logs and ended().get(thread.number) != last:
            raise LOG_MISSING(thread=thread.number, sequence=last, scn=after + 1)
    for one, other in pairwise(chain):
        if other.sequence != one.sequence + 1:
            raise LOG_MISSING(thread=thread.number, sequence=one.sequence + 1, scn=one.next_scn)
    return chain


def _archived(chain: Sequence[LogFile]) -> list[LogFile]:
    """The logs before the first that is not archived yet."""
    made: list[LogFile] = []
    for file in chain:
        if not file.archived:
            break
        made.append(file)
    return made
