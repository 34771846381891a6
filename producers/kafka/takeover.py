"""How a task of a new deal takes its databases over: close the others' partitions, then adopt.  Pure.

    for each partition whose deal is older, but our own:
        CLOSE   fence it -> read it -> commit [claim: newest generation + 1][deal: ours, closed]
    ADOPT       fence our own -> read all -> commit [claim: above all generations][deal: ours, open]
                [the newest records of our databases, at that generation]

In: what is committed in each partition, asked for step by step.  Out: the steps; `ownership.py` does them on
Kafka, a simulation in memory.

Why it is right: after CLOSE, only a task that knows the new deal can commit in that partition.  What an
earlier owner committed before the fence was read, anything else is aborted, and when it tries again it finds
a newer generation and ends.  So ADOPT reads final values.  A task that finds a newer deal ends: two deals
never both own a database, because each closes what the other one would have to open.  Each step may be
repeated.  Records that moved stay where they were until that partition's owner adopts again and sees them
elsewhere, with a higher generation: a position is never in no partition.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from wrackline.schemas.errors import Definite, define
from wrackline.schemas.kafka import offsets_records
from wrackline.schemas.kafka.offset_replay import replay
from wrackline.schemas.kafka.offsets_records import (
    OUTSIDE_ANY_TRANSACTION,
    BeginRecord,
    DealKey,
    DealRecord,
    Offset,
    OffsetsRecord,
    PositionKey,
    SavedTableState,
    TableKey,
    key_bytes,
)
from wrackline.schemas.pipelines.deal import Deal

Change = tuple[bytes, bytes | None]
Database = tuple[str, str | None]  # server and name; an older version has written no name
Home = Mapping[PositionKey | TableKey, Offset | SavedTableState]
NO_DEAL = DealRecord(0, 0, "", open=False)  # an older version wrote the partition, or nobody did

DEAL_PASSED = define(
    "offsets.deal_passed",
    Definite,
    "the databases of {connector} were dealt again since this task was started: deal {newest} is valid, and"
    " this is a task of deal {ours}",
    hint="nobody has to act if its worker has new settings; else two workers run {connector}, or the clock of"
    " this machine is late: stop one of them, or set the clock",
)


class LookStep(NamedTuple):
    """Read what is committed in a partition, without disturbing its owner."""

    partition: int


class FenceStep(NamedTuple):
    """Shut out every other owner of a partition, then read what is committed there."""

    partition: int


class CommitStep(NamedTuple):
    """Commit in the partition that was fenced last; None instead of changes: leave it as it is."""

    partition: int
    changes: Sequence[Change] | None


Step = LookStep | FenceStep | CommitStep
Steps = Generator[Step, Sequence[OffsetsRecord], "Adoption"]


@dataclass(frozen=True, slots=True)
class Adoption:
    """The generation that is ours, and the records that a task starts from."""

    generation: int
    records: Sequence[OffsetsRecord]


@dataclass(frozen=True, slots=True)
class Claimant:
    """A task that takes over: which one, of which deal, and what is its own."""

    connector: str
    task: int
    deal: Deal
    begin_key: Callable[[int], bytes]  # of each task's transactions
    owns: Callable[[Database], bool]


def take_over(who: Claimant, partitions: int) -> Steps:
    """Yield the steps of a task's start; `partitions` are those of the topic, at least one for each task."""
    others = [one for one in range(partitions) if one != who.task]
    looks: dict[int, Sequence[OffsetsRecord]] = {}
    for one in others:  # before anything is closed: a task of a passed deal disturbs nobody
        looks[one] = yield LookStep(one)
        _is_passed(who, looks[one])
    for one in others:
        if not _is_passed(who, looks[one]):
            continue
        held = yield FenceStep(one)
        closes = _is_passed(who, held)
        yield CommitStep(one, _closing(who, one, held) if closes else None)
    own = yield FenceStep(who.task)
    _is_passed(who, own)
    everything = list(own)
    for one in others:
        found = yield LookStep(one)
        if _is_passed(who, found):
            raise RuntimeError("a partition that was closed has an older deal")
        everything += found
    generation = 1 + newest_generation(everything)
    yield CommitStep(who.task, _adopting(who, generation, own, everything))
    return Adoption(generation, everything)


def newest_generation(records: Iterable[OffsetsRecord]) -> int:
    """Return the highest generation of any record; 0 if there is none."""
    return max((record.value.generation for record in records if record.value is not None), default=0)


def deal_of(records: Iterable[OffsetsRecord], connector: str) -> DealRecord:
    """Return the deal that a partition is of."""
    found = NO_DEAL
    for record in records:
        if record.key == DealKey(connector) and isinstance(record.value, DealRecord):
            found = record.value
    return found


def _is_passed(who: Claimant, records: Sequence[OffsetsRecord]) -> bool:
    """Whether a partition is of an earlier deal than ours; raise if it is of a later one."""
    theirs, ours = deal_of(records, who.connector), who.deal
    if (theirs.number, theirs.digest) == (ours.number, ours.digest):
        return False
    if theirs.number >= ours.number:
        raise DEAL_PASSED(connector=who.connector, newest=theirs.number, ours=ours.number)
    return True


def _closing(who: Claimant, partition: int, held: Sequence[OffsetsRecord]) -> list[Change]:
    generation = 1 + newest_generation(held)
    return [*_claiming(who, partition, generation, opened=False)]


def _claiming(who: Claimant, partition: int, generation: int, *, opened: bool) -> list[Change]:
    claim = BeginRecord(generation, OUTSIDE_ANY_TRANSACTION)
    dealt = DealRecord(generation, who.deal.number, who.deal.digest, opened)
    return [
        (who.begin_key(partition), offsets_records.encode(claim)),
        (offsets_records.deal_key(who.connector), offsets_records.encode(dealt)),
    ]


def _adopting(
    who: Claimant, generation: int, own: Sequence[OffsetsRecord], everything: Sequence[OffsetsRecord]
) -> list[Change]:
    homes, here = _by_database(everything), _by_database(own)
    moves = {one for one, home in homes.items() if who.owns(one) and home != here.get(one)}
    passed = {  # what an earlier deal of ours had, and another task has changed since
        one for one, before in here.items() if home_age(homes[one]) > home_age(before)
    }
    moved = [
        (key_bytes(key), offsets_records.encode(_moved(value, generation)))
        for database in moves
        for key, value in homes[database].items()
    ]
    left = [(key_bytes(key), None) for database in passed for key in here[database]]
    return [*_claiming(who, who.task, generation, opened=True), *left, *moved]


def _by_database(records: Iterable[OffsetsRecord]) -> Mapping[Database, Home]:
    """Return what is committed of each database, in the one partition that has the newest of it.

    A partition that a database has left may still have the state of a table that is gone by now, so
    the records of two partitions are never mixed.
    """
    partitions: dict[int, list[OffsetsRecord]] = {}
    for record in records:
        partitions.setdefault(record.place.partition, []).append(record)
    found: dict[Database, Home] = {}
    for of_one in partitions.values():
        state = replay(of_one)
        homes: dict[Database, dict[PositionKey | TableKey, Offset | SavedTableState]] = {}
        for position, offset in state.positions.items():
            homes.setdefault(_database_of(position), {})[position] = offset
        for table, saved in state.tables.items():
            homes.setdefault(_database_of(table), {})[table] = saved
        for database, home in homes.items():
            if database not in found or home_age(home) > home_age(found[database]):
                found[database] = home
    return found


def home_age(home: Home) -> int:
    """Return the newest generation of what a partition has of a database."""
    return max(value.generation for value in home.values())


def _database_of(key: PositionKey | TableKey) -> Database:
    if isinstance(key, PositionKey):
        return key.server, key.database
    return key.partition.server, key.partition.database


def _moved(value: Offset | SavedTableState, generation: int) -> Offset | SavedTableState:
    if isinstance(value, Offset):
        return replace(value, generation=generation, n=OUTSIDE_ANY_TRANSACTION)
    return replace(value, generation=generation)
