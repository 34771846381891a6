"""The numbered assumptions of the source, and how what was seen of a database is judged.  Pure.

    ObservedLog  ->  A1 ... A7, each: holds, fails, or could not be tried

An assumption holds only where a server could have shown the opposite: a database in which nothing happened
leaves it untried.  While a pipeline runs, A1 and A2 are tried all the time, by `log/range_audit.py`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from wrackline.producers.contract.assumptions import AssumptionVerdict, JudgedAssumption
from wrackline.producers.sources.sqlserver.log.change_rows import AFTER, INSERT
from wrackline.producers.sources.sqlserver.log.lsn import Lsn, lsn_text

HOLDS, FAILS, UNTRIED = AssumptionVerdict.HOLDS, AssumptionVerdict.FAILS, AssumptionVerdict.UNTRIED
REST_S: Final = 10.0  # between two looks at what must not change

Reason: TypeAlias = str  # why something was not seen


class RangeCounts(NamedTuple):
    """Rows of a change table up to the newest listed commit: as soon as it was listed, and later."""

    instance: str
    first: int
    later: int


class NewestRow(NamedTuple):
    """A row of a change table."""

    lsn: Lsn
    command: int | None
    seqval: bytes


class ScanReach(NamedTuple):
    """How far the capture job says that it has read, after a scan of an idle database."""

    above: Lsn  # the place of a savepoint before that scan
    reached: Lsn


class OwnRows(NamedTuple):
    """What became of the rows that were written into the signal table."""

    in_order: Sequence[Lsn]  # of two transactions that overlapped, in the order of their commits
    behind: Lsn  # of a transaction that began behind the savepoint
    unseen: int | Reason  # rows that the change table had, and a read of versions had not
    moved: (
        Sequence[tuple[int, str]] | Reason
    )  # of one UPDATE of two keys: operations and keys, in their order


@dataclass(frozen=True, slots=True)
class ObservedLog:
    """What was seen of a database while it was watched."""

    looks: Sequence[Sequence[Lsn]]  # the newest listed commits of each look, the newest first
    counts: Sequence[RangeCounts]
    rows: Mapping[int, Sequence[NewestRow]]  # the newest of each table, by its object_id
    savepoint: Lsn | Reason
    visible: Sequence[Lsn]  # commits that a SELECT saw before the savepoint
    scan: ScanReach | Reason
    own: OwnRows | Reason


Judged: TypeAlias = tuple[AssumptionVerdict, str]


class Assumption(NamedTuple):
    """One of them."""

    id: str
    sentence: str
    advice: str  # if it fails
    judge: Callable[[ObservedLog], Judged]


def judge(seen: ObservedLog) -> list[JudgedAssumption]:
    """Judge all of them."""
    return [_answer(one, *one.judge(seen)) for one in ASSUMPTIONS]


def untried(reason: Reason) -> list[JudgedAssumption]:
    """Say why none of them could be tried."""
    return [_answer(one, UNTRIED, reason) for one in ASSUMPTIONS]


def _answer(one: Assumption, verdict: AssumptionVerdict, seen: str) -> JudgedAssumption:
    return JudgedAssumption(one.id, one.sentence, verdict, seen, one.advice if verdict is FAILS else "")


def _rows_are_whole(seen: ObservedLog) -> Judged:
    for one in seen.counts:
        if one.later > one.first:
            more = f"the change table of {one.instance} had {one.first} rows up to a listed commit"
            return FAILS, f"{more}, and {one.later} rows {REST_S:g} s later"
    listed = seen.looks[-1]
    logged = {row.lsn for rows in seen.rows.values() for row in rows}
    for lsn in sorted(logged - set(listed)):
        if listed and lsn > listed[-1]:
            return FAILS, f"commit {lsn_text(lsn)} has rows, and is not listed"
    if not (rows := sum(one.first for one in seen.counts)):
        return UNTRIED, "no row came into a change table: run it again while the database is written to"
    return HOLDS, f"{rows} rows were counted as soon as their commits were listed, and were as many later"


def _commits_rise(seen: ObservedLog) -> Judged:
    for before, after in pairwise(seen.looks):
        for lsn in set(after) - set(before) if before else ():
            if before[-1] < lsn < before[0]:
                return FAILS, f"commit {lsn_text(lsn)} was listed after {lsn_text(before[0])}"
    if not isinstance(seen.own, str):
        first, second = seen.own.in_order
        if first >= second:
            return FAILS, f"of two commits the first is {lsn_text(first)}, the second {lsn_text(second)}"
    came = set().union(*seen.looks[1:]) - set(seen.looks[0])
    if not came:
        return UNTRIED, "no commit was listed: run it again while the database is written to"
    more = "" if isinstance(seen.own, str) else "; of two transactions that overlapped, the order is right"
    return HOLDS, f"{len(came)} commits were listed, each above all that were listed before{more}"


def _versions_are_in_time(seen: ObservedLog) -> Judged:
    unseen = seen.own if isinstance(seen.own, str) else seen.own.unseen
    if isinstance(unseen, str):
        return UNTRIED, unseen
    if unseen:
        return FAILS, f"{unseen} rows of a commit in the change table were not there for a read of versions"
    return HOLDS, "each row of ours was there as soon as the change table had it"


def _savepoint_is_above(seen: ObservedLog) -> Judged:
    place = seen.savepoint
    if isinstance(place, str):
        return UNTRIED, place
    for lsn in seen.visible:
        if lsn >= place:
            return FAILS, f"commit {lsn_text(lsn)} was visible before the savepoint {lsn_text(place)}"
    if isinstance(seen.own, str):
        return UNTRIED, seen.own
    if seen.own.behind <= place:
        behind = lsn_text(seen.own.behind)
        return FAILS, f"commit {behind} began after the savepoint {lsn_text(place)}: they don't compare"
    return HOLDS, "a savepoint lies between our commits before it and our commit after it"


def _commands_are_numbered_together(seen: ObservedLog) -> Judged:
    tried = 0
    for lsn, rows in _by_commit(seen.rows).items():
        commands: defaultdict[int, set[int]] = defaultdict(set)
        highest: dict[int, bytes] = {}
        for command, seqval, table in sorted(rows):
            commands[table].add(command)
            if any(seqval < other for number, other in highest.items() if number != table):
                return FAILS, f"in commit {lsn_text(lsn)} commands have another order than the log's records"
            highest[table] = max(seqval, highest.get(table, b""))
        numbers = [number for one in commands.values() for number in one]
        tried += len(commands) > 1 and len(set(numbers)) == len(numbers)
    if not tried:
        why = "no transaction over two captured tables is among the newest changes"
        return UNTRIED, f"{why}: run it again behind one: BEGIN TRANSACTION; <two writes>; COMMIT;"
    return HOLDS, f"the commands have the order of the log in transactions over several tables: {tried}"


def _by_commit(
    rows: Mapping[int, Iterable[NewestRow]],
) -> Mapping[Lsn, Sequence[tuple[int, bytes, int]]]:
    found: defaultdict[Lsn, list[tuple[int, bytes, int]]] = defaultdict(list)
    for table, its_own in rows.items():
        for row in its_own:
            if row.command is not None:
                found[row.lsn].append((row.command, row.seqval, table))
    return found


def _idle_scans_report(seen: ObservedLog) -> Judged:
    scan = seen.scan
    if isinstance(scan, str):
        return UNTRIED, scan
    if scan.reached < scan.above:
        shown = lsn_text(scan.reached)
        return FAILS, f"a later scan has reported {shown}, and our savepoint is {lsn_text(scan.above)}"
    return HOLDS, "a scan that found nothing has reported a place above our savepoint"


def _moves_lose_no_key(seen: ObservedLog) -> Judged:
    moved = seen.own if isinstance(seen.own, str) else seen.own.moved
    if isinstance(moved, str):
        return UNTRIED, moved
    there = dict.fromkeys((key for _, key in moved), True)
    for operation, key in moved:
        there[key] = operation in {INSERT, AFTER}
    names = " ".join(str(operation) for operation, _ in moved)
    lost = "" if all(there.values()) else ", and the last one of a key deletes it"
    return (FAILS if lost else HOLDS), f"an UPDATE that exchanged two keys came as operations {names}{lost}"


_LOSES: Final = "changes can be lost: do not rely on this source on this server"
ASSUMPTIONS: Final = (
    Assumption(
        "A1", "a commit that is listed has all of its rows in the change tables", _LOSES, _rows_are_whole
    ),
    Assumption("A2", "a commit is listed above every commit that was listed before", _LOSES, _commits_rise),
    Assumption(
        "A3",
        "a commit that the change tables have is visible to a read of row versions",
        "a chunk can miss a change: leave out snapshot.isolation.mode = snapshot",
        _versions_are_in_time,
    ),
    Assumption(
        "A4",
        "a savepoint's place in the log is above every commit that a SELECT saw before",
        'a chunk can miss a change: set incremental.snapshot.watermarking.strategy = "insert_delete"',
        _savepoint_is_above,
    ),
    Assumption(
        "A5",
        "the commands of a transaction are numbered over all of its tables",
        "only the order of events of different tables within a transaction depends on it",
        _commands_are_numbered_together,
    ),
    Assumption(
        "A6",
        "on an idle database the capture job reports a place above a savepoint of ours",
        "nothing depends on it: the place of a quiet log stays known every five minutes only",
        _idle_scans_report,
    ),
    Assumption(
        "A7",
        "the rows of an UPDATE that exchanges keys, in their order, lose no key",
        "after such an UPDATE the copy can lack a key: read that table again",
        _moves_lose_no_key,
    ),
)
