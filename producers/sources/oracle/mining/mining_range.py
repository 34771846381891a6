"""How far the log may be mined, and in which steps.  Pure.

    behind after .................... upto          rows with after < SCN <= upto, nothing else

`upto` is never above the safe SCN.  The log writer of each instance holds redo that is not yet in its file,
so a row below the current SCN may appear later.  A row is therefore written and committed on each open
instance, and the lowest SCN that was current before these commits is safe.  A reader of archived logs alone
writes nothing: what the archived logs of all enabled threads cover is safe.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from wrackline.producers.sources.oracle.mining.log_files import LogCover, LogFile, RedoThread

LEAST_STEP: Final = 1_000  # SCNs
FIRST_STEP: Final = 20_000
MOST_STEP: Final = 10_000_000
TARGET_S: Final = 1.5
_MOST_CHANGE: Final = 2.0  # of a step at once


class MiningRange(NamedTuple):
    """Rows with an SCN above `after` and not above `upto`, and the files that hold them."""

    after: int
    upto: int
    files: Sequence[LogFile]

    def has(self, scn: int) -> bool:
        """Whether rows of this SCN belong to it."""
        return self.after < scn <= self.upto


def flushed_scn(before: Mapping[int, int], threads: Iterable[RedoThread]) -> int | None:
    """Return the safe SCN: `before` is, by thread, what was current before the flush committed there.

    None: an open thread was not flushed, so nothing is known to be safe.  An instance that is down holds
    nothing.
    """
    wanted = {thread.number for thread in threads if thread.enabled and thread.open}
    if not wanted or not wanted <= before.keys():
        return None
    return min(before[number] for number in wanted)


def next_range(after: int, step: int, found: LogCover, safe: int | None) -> MiningRange | None:
    """Return what is mined next; None: there is nothing yet.

    `safe` is what was flushed; None for a reader of archived logs, whose cover is safe by itself.
    """
    upto = min(after + step, found.upto)
    if safe is not None:
        upto = min(upto, safe)
    return MiningRange(after, upto, found.of(after, upto)) if upto > after else None


def next_step(step: int, mined: int, seconds: float, least: int = LEAST_STEP, most: int = MOST_STEP) -> int:
    """Return the size of the next step, after one of `mined` SCNs that took so long.

    It grows only if the whole step was mined: at the end of the log a short time says nothing.
    """
    factor = min(max(TARGET_S / max(seconds, 0.001), 1 / _MOST_CHANGE), _MOST_CHANGE)
    if factor > 1 and mined < step:
        return step
    return min(max(int(step * factor), least), most)
