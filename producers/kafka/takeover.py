"""How a task of a new deal takes its databases over: close the others' partitions, then adopt.  Pure.

    for each partition whose deal is older, but our own:
        CLOSE   fence it -> read it -> commit [claim: newest generation + 1][deal: ours, closed]
    ADOPT       fence our own -> read all -> commit [claim: above all generations][deal: ours, open]
                [the newest records of our databases, at that generation]

In: what is committed in each partition, asked for step by step.  Out: the steps; `ownership.py` does them on
Kafka, a simulation in memory.

A pipeline of one task whose topic has one partition has no deals: its partition gets a claim only.

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

from wrackline.schemas.errors import Definite, Transient, define
from wrackline.schemas.kafka import offsets_records
from wrackline.schemas.kafka.offset_replay import OffsetsState, replay
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
from wrackline.schemas.pipelines.deal import Deal, TaskShare

Change = tuple[bytes, bytes | None]
Database = tuple[str, str | None]  # server and name; an older version has written no name
NO_DEAL = DealRecord(0, -1, "", open=False)  # an older version wrote the partition, or nobody did


class Home(NamedTuple):
    """What a partition has of a database."""

    partition: int
    records: Mapping[PositionKey | TableKey, Offset | SavedTableState]


NOWHERE = Home(-1, {})
DEAL_PASSED = define(
    "offsets.deal_passed",
    Definite,
    "the databases of {connector} were dealt again since this task was started: deal {newest} is valid, and"
    " this is a task of deal {ours}",
    hint="nobody has to act if its worker has new settings; else it was started elsewhere too, or the clock"
    " of this machine is late: stop the other one, or set the clock; then start the worker again, or in a"
    " group send its settings again: PUT /connectors/{connector}/config",
)
DEAL_DIFFERS = define(
    "offsets.deal_differs",
    Definite,
    "the databases of {connector} are others than when its tasks were started, so task {task} can't begin",
    hint="deal them to all tasks again: POST /connectors/{connector}/restart, or without REST end the worker"
    " with SIGTERM, and start it again; in a group: PUT /connectors/{connector}/config with the new settings",
)
DEAL_HIDDEN = define(
    "offsets.deal_hidden",
    Transient,
    "partition {partition} of the positions of {connector} was closed, and readers do not see that yet",
    hint="the task looks again by itself",
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


class HistoryStep(NamedTuple):
    """Read the history of positions: no partition has a record."""


Step = LookStep | FenceStep | CommitStep | HistoryStep
Steps = Generator[Step, Sequence[OffsetsRecord], "Adoption"]


@dataclass(frozen=True, slots=True)
class Adoption:
    """The generation that is ours, and the records that a task starts from."""

    generation: int
    records: Sequence[OffsetsRecord]


@dataclass(frozen=True, slots=True)
class Claimant:
    """A task that takes over: whose, which one, of which deal, and the key of each task's transactions."""

    connector: str
    share: TaskShare
    begin_key: Callable[[int], bytes]

    @property
    def task(self) -> int:
        """Its number."""
        return self.share.task

    @property
    def deal(self) -> Deal:
        """Its deal."""
        return self.share.deal


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
            raise DEAL_HIDDEN(partition=one, connector=who.connector)
        everything += found
    past = () if everything else (yield HistoryStep())
    generation = 1 + newest_generation([*everything, *past])
    claims = _claiming(who, who.task, generation)
    if max(partitions, who.deal.tasks) > 1 or deal_of(own, who.connector) is not NO_DEAL:
        claims.append(_dealing(who, generation, opened=True))
    yield CommitStep(who.task, [*claims, *_adopting(who, generation, own, everything)])
    return Adoption(generation, everything)


def newest_generation(records: Iterable[OffsetsRecord]) -> int:
    """Return the highest generation of any record; 0 if there is none."""
    return max((record.value.generation for record in records if record.value is not None), default=0)


def deal_of(records: Iterable[OffsetsRecord], connector: str) -> DealRecord:
    """Return the deal that a partition is of."""
    found = NO_DEAL
    for record in records:
        if record.key == DealKey(connector):
            found = record.value if isinstance(record.value, DealRecord) else NO_DEAL
    return found


def _is_passed(who: Claimant, records: Sequence[OffsetsRecord]) -> bool:
    """Whether a partition is of an earlier deal than ours; raise if it is of a later one."""
    theirs, ours = deal_of(records, who.connector), who.deal
    if (theirs.number, theirs.digest) == (ours.number, ours.digest):
        return False
    if theirs.number == ours.number:
        raise DEAL_DIFFERS(connector=who.connector, task=who.task)
    if theirs.number > ours.number:
        raise DEAL_PASSED(connector=who.connector, newest=theirs.number, ours=ours.number)
    return True


def _closing(who: Claimant, partition: int, held: Sequence[OffsetsRecord]) -> list[Change]:
    generation = 1 + newest_generation(held)
    return [*_claiming(who, partition, generation), _dealing(who, generation, opened=False)]


def _claiming(who: Claimant, partition: int, generation: int) -> list[Change]:
    claim = BeginRecord(generation, OUTSIDE_ANY_TRANSACTION)
    return [(who.begin_key(partition), offsets_records.encode(claim))]


def _dealing(who: Claimant, generation: int, *, opened: bool) -> Change:
    dealt = DealRecord(generation, who.deal.number, who.deal.digest, opened)
    return offsets_records.deal_key(who.connector), offsets_records.encode(dealt)


def _adopting(
    who: Claimant, generation: int, own: Sequence[OffsetsRecord], everything: Sequence[OffsetsRecord]
) -> list[Change]:
    homes, here = by_database(who.connector, everything), by_database(who.connector, own)
    left = {  # what an earlier deal of ours had, and another task has changed since
        key
        for one, before in here.items()
        if home_age(homes[one]) > home_age(before)
        for key in before.records
    }
    moved: list[Change] = []
    for database, home in homes.items():
        server, name = database
        if not who.deal.owns(who.task, name):
            continue
        if name is None and who.deal.several:  # else each database without a position would have this one
            left.update(here.get(database, NOWHERE).records)
            key = PositionKey(who.connector, server, who.deal.first)
            if key not in homes.get((server, who.deal.first), NOWHERE).records:
                [old] = home.records.values()
                moved.append((key_bytes(key), offsets_records.encode(_moved(old, generation))))
        elif home.records != here.get(database, NOWHERE).records:
            moved += [
                (key_bytes(key), offsets_records.encode(_moved(value, generation)))
                for key, value in home.records.items()
            ]
    return [*((key_bytes(key), None) for key in left), *moved]


def by_database(connector: str, records: Iterable[OffsetsRecord]) -> Mapping[Database, Home]:
    """Return what is committed of each database, in the one partition that has the newest of it.

    A partition that a database has left may still have the state of a table that is gone by now, so
    the records of two partitions are never mixed.
    """
    partitions: dict[int, list[OffsetsRecord]] = {}
    for record in records:
        partitions.setdefault(record.place.partition, []).append(record)
    found: dict[Database, Home] = {}
    for partition, of_one in partitions.items():
        state = replay(of_one)
        homes: dict[Database, dict[PositionKey | TableKey, Offset | SavedTableState]] = {}
        for position, offset in state.positions.items():
            if position.connector == connector:
                homes.setdefault(database_of(position), {})[position] = offset
        for table, saved in state.tables.items():
            if table.connector == connector:
                homes.setdefault(database_of(table), {})[table] = saved
        for database, held in homes.items():
            home = Home(partition, held)
            if database not in found or home_age(home) > home_age(found[database]):
                found[database] = home
    return found


def fold_partitions(connector: str, records: Sequence[OffsetsRecord]) -> OffsetsState:
    """Return what the records add up to; of several partitions, each database as it is at home."""
    if len({record.place.partition for record in records}) <= 1:
        return replay(records)
    homes = by_database(connector, records).values()
    positions: dict[PositionKey, Offset] = {}
    tables: dict[TableKey, SavedTableState] = {}
    for key, value in (one for home in homes for one in home.records.items()):
        if isinstance(key, PositionKey) and isinstance(value, Offset):
            positions[key] = value
        elif isinstance(key, TableKey) and isinstance(value, SavedTableState):
            tables[key] = value
    return OffsetsState(positions, tables, ())


def home_age(home: Home) -> int:
    """Return the newest generation of what a partition has of a database."""
    return max(value.generation for value in home.records.values())


def database_of(key: PositionKey | TableKey) -> Database:
    """Return the database that a record is about."""
    if isinstance(key, PositionKey):
        return key.server, key.database
    return key.partition.server, key.partition.database


def _moved(value: Offset | SavedTableState, generation: int) -> Offset | SavedTableState:
    if isinstance(value, Offset):
        return replace(value, generation=generation, n=OUTSIDE_ANY_TRANSACTION)
    return replace(value, generation=generation)
