"""The numbered assumptions of the source, and how what was mined of a database is judged.  Pure.

    ObservedRedo  ->  A8 ... A14, each: holds, fails, or could not be tried

An assumption holds only where a server could have shown the opposite: a log in which nothing happened leaves
it untried.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from wrackline.producers.contract.assumptions import AssumptionVerdict, JudgedAssumption
from wrackline.producers.sources.oracle.mining.log_files import LogFile
from wrackline.producers.sources.oracle.mining.mined_row import (
    COMMIT,
    DELETE,
    INSERT,
    ROW_OPERATIONS,
    UPDATE,
    MinedRow,
)

HOLDS, FAILS, UNTRIED = AssumptionVerdict.HOLDS, AssumptionVerdict.FAILS, AssumptionVerdict.UNTRIED
REST_S: Final = 10.0  # between two minings of what must not change

Reason: TypeAlias = str  # why something was not seen
_INVERSE: Final = {INSERT: DELETE, DELETE: INSERT, UPDATE: UPDATE}
_WRITE: Final = "run it again while the database is written to"


class CountedRows(NamedTuple):
    """How many rows our table has, read as it was at an SCN."""

    scn: int
    rows: int


@dataclass(frozen=True, slots=True)
class ObservedRedo:
    """What was mined while our rows were written; rows of our table, and ends of all transactions."""

    table: tuple[str, str]  # ours: owner and name
    written: int  # rows of it that were inserted, and not rolled back, before the SCN that was safe
    first: Sequence[MinedRow]  # of the range that ends with that SCN, as soon as it was safe
    again: Sequence[MinedRow]  # of the same range, later
    counts: Sequence[CountedRows] | Reason
    versions: tuple[int, int] | Reason  # DATA_OBJV# of rows before and behind an ALTER TABLE
    switched: Sequence[MinedRow] | Reason  # around the end of an archived log, of any table
    logs: Sequence[LogFile]


Judged: TypeAlias = tuple[AssumptionVerdict, str]


class RedoAssumption(NamedTuple):
    """One of them."""

    id: str
    sentence: str
    advice: str  # if it fails
    judge: Callable[[ObservedRedo], Judged]


def judge(seen: ObservedRedo) -> list[JudgedAssumption]:
    """Judge all of them."""
    return [_answer(one, *one.judge(seen)) for one in ASSUMPTIONS]


def untried(reason: Reason) -> list[JudgedAssumption]:
    """Say why none of them could be tried."""
    return [_answer(one, UNTRIED, reason) for one in ASSUMPTIONS]


def own_rows(table: tuple[str, str], rows: Iterable[MinedRow]) -> Iterator[MinedRow]:
    """Return what was done to a table; its owner and its name."""
    return (row for row in rows if (row.owner, row.table) == table and row.operation in ROW_OPERATIONS)


def redo_of(row: MinedRow) -> MinedRow:
    """Return what of a row the source relies on."""
    return row._replace(status=0, info="", timestamp=0, start_scn=0, commit_scn=0, username="")


def _answer(one: RedoAssumption, verdict: AssumptionVerdict, seen: str) -> JudgedAssumption:
    return JudgedAssumption(one.id, one.sentence, verdict, seen, one.advice if verdict is FAILS else "")


def _flushed_log_is_whole(seen: ObservedRedo) -> Judged:
    late = Counter(map(redo_of, seen.again)) - Counter(map(redo_of, seen.first))
    if late:
        row = min(late)
        return FAILS, f"{late.total()} rows below the safe SCN came later, the first at SCN {row.scn}"
    found = sum(
        (row.operation == INSERT and not row.rollback) - (row.operation == DELETE and row.rollback)
        for row in own_rows(seen.table, seen.first)
    )
    if found < seen.written:
        return FAILS, f"{seen.written} rows were committed below the safe SCN, and the log showed {found}"
    if not seen.written:
        return UNTRIED, "no row was written"
    threads = len({row.thread for row in seen.first})
    whole = f"all {len(seen.first)} rows were mined at once, and no more came later"
    return HOLDS, whole if threads == 1 else f"{whole}; they are of {threads} threads"


def _old_rows_are_those_of_the_log(seen: ObservedRedo) -> Judged:
    if isinstance(seen.counts, str):
        return UNTRIED, seen.counts
    net = _net_rows(seen)
    ends = [(row.scn, net.get(row.xid, 0)) for row in seen.first if row.operation == COMMIT]
    for scn, rows in seen.counts:
        logged = sum(count for end, count in ends if end <= scn)
        if logged != rows:
            return FAILS, f"at SCN {scn} the table had {rows} rows, and the log says {logged}"
    if not seen.counts:
        return UNTRIED, "no commit of ours was mined"
    shared = sum(1 for count in Counter(scn for scn, net_rows in ends if net_rows).values() if count > 1)
    tried = f"{len(seen.counts)}, of which {shared} of several commits"
    return HOLDS, f"the table had what the log says, at each SCN that was tried ({tried})"


def _net_rows(seen: ObservedRedo) -> Mapping[str, int]:
    """How many rows each transaction added to our table."""
    net: Counter[str] = Counter()
    for row in own_rows(seen.table, seen.first):
        net[row.xid] += (row.operation == INSERT) - (row.operation == DELETE)
    return net


def _order_is_the_same(seen: ObservedRedo) -> Judged:
    known = set(map(redo_of, seen.first))
    first, again = _by_thread(seen.first), _by_thread(row for row in seen.again if redo_of(row) in known)
    for thread, rows in first.items():
        later = again.get(thread, [])
        for one, other in zip(rows, later, strict=False):
            if one != other:
                return FAILS, f"in thread {thread} the second mining has another row behind SCN {one.scn}"
        if len(later) < len(rows):
            return FAILS, f"in thread {thread} the second mining lacks {len(rows) - len(later)} rows"
    if not seen.first:
        return UNTRIED, f"nothing was mined: {_WRITE}"
    return HOLDS, f"{len(seen.first)} rows came in the same order twice"


def _by_thread(rows: Iterable[MinedRow]) -> Mapping[int, list[MinedRow]]:
    found: dict[int, list[MinedRow]] = {}
    for row in rows:
        found.setdefault(row.thread, []).append(redo_of(row))
    return found


def _commits_have_places(seen: ObservedRedo) -> Judged:
    places: dict[tuple[int, object], str] = {}
    for row in seen.first:
        if row.operation == COMMIT:
            other = places.setdefault((row.thread, row.rba), row.xid)
            if other != row.xid:
                return FAILS, f"two commits of thread {row.thread} have one place, at SCN {row.scn}"
    if not places:
        return UNTRIED, f"no commit was mined: {_WRITE}"
    return HOLDS, f"{len(places)} commits have a place of their own each"


def _savepoints_undo_in_reverse(seen: ObservedRedo) -> Judged:
    undone = 0
    stacks: dict[str, list[MinedRow]] = {}
    for row in own_rows(seen.table, seen.first):
        stack = stacks.setdefault(row.xid, [])
        if not row.rollback:
            stack.append(row)
            continue
        last = stack.pop() if stack else None
        if last is None or (_INVERSE[last.operation], last.row_id) != (row.operation, row.row_id):
            return FAILS, f"a rolled-back row at SCN {row.scn} does not undo the last one before it"
        undone += 1
    if not undone:
        return UNTRIED, "no row of ours was rolled back"
    return HOLDS, f"{undone} rows behind savepoints were undone in reverse order"


def _versions_rise(seen: ObservedRedo) -> Judged:
    if isinstance(seen.versions, str):
        return UNTRIED, seen.versions
    before, behind = seen.versions
    words = f"DATA_OBJV# was {before} before an ALTER TABLE, and {behind} behind it"
    return (HOLDS if behind > before else FAILS), words


def _logs_end_where_they_say(seen: ObservedRedo) -> Judged:
    if isinstance(seen.switched, str):
        return UNTRIED, seen.switched
    logs = {(log.thread, log.sequence): log for log in seen.logs}
    ended = 0
    for row in seen.switched:
        if (log := logs.get((row.thread, row.rba[0]))) is None:
            continue
        if not log.first_scn <= row.scn < log.end:
            where = f"log {log.sequence} of thread {log.thread} ({log.first_scn} to {log.end})"
            return FAILS, f"a row with SCN {row.scn} is in {where}"
        ended += not log.current
    if not ended:
        return UNTRIED, "no row was mined near the end of an archived log: " + _WRITE
    return HOLDS, f"{ended} rows near the end of an archived log are within its SCNs"


_LOSES: Final = "changes can be lost: do not rely on this source on this server"
ASSUMPTIONS: Final = (
    RedoAssumption(
        "A8", "behind a flush, LogMiner shows all redo below its SCN", _LOSES, _flushed_log_is_whole
    ),
    RedoAssumption(
        "A9",
        "rows AS OF an SCN are those of all commits that the log has up to it",
        "a chunk can miss a change, or take one back: read the tables again, and report it",
        _old_rows_are_those_of_the_log,
    ),
    RedoAssumption(
        "A10",
        "a range that is mined twice gives the same rows in the same order within a thread",
        "changes can be lost or doubled after a restart: do not rely on this source on this server",
        _order_is_the_same,
    ),
    RedoAssumption(
        "A11",
        "no two commits of a thread have one place in the log",
        "changes can be lost or doubled after a restart: do not rely on this source on this server",
        _commits_have_places,
    ),
    RedoAssumption(
        "A12",
        "rows behind a savepoint are undone in reverse order",
        "a table with such rows may be set aside and read again (oracle.rollback_unmatched)",
        _savepoints_undo_in_reverse,
    ),
    RedoAssumption(
        "A13",
        "DATA_OBJV# rises with each change of a table's columns",
        "nothing is lost: such a change is found by the names of columns too",
        _versions_rise,
    ),
    RedoAssumption(
        "A14",
        "an archived log has all redo of its thread between its two SCNs",
        "changes can be lost where archived logs alone are read: do not set log.mining.archive.log.only.mode",
        _logs_end_where_they_say,
    ),
)
