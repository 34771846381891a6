"""A pipeline's stored positions: shown, and edited while its task does not run.

Is it running?  Kafka can't say: a transactional id looks the same whether its owner is idle or gone, and an
idle task may write nothing for as long as its database is quiet.  The source can: a task that runs holds its
log open.  So the source is asked, and only where it can't answer is a recent record taken as a sign of life.
Neither is needed for safety, they only spare a running pipeline.  An edit is made of one Kafka transaction of
the task's own transactional id, in which it claims a newer generation: whoever runs after all is fenced by
it, finds the newer generation before it could write a position again, and ends.

What an edit writes carries n = OUTSIDE_ANY_TRANSACTION, so the topic shows where people had a hand in it.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from wrackline.control.run import around, ownership_of, placing
from wrackline.producers import going_on, set_aside
from wrackline.producers.changes import Saved
from wrackline.producers.kafka.ownership import Change, Ownership
from wrackline.producers.plugin import Attended, Source, Unheld, load
from wrackline.schemas import offsets
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.offset_replay import State
from wrackline.schemas.offsets import (
    OUTSIDE_ANY_TRANSACTION,
    Offset,
    PositionKey,
    TableState,
    canonical,
)
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.table import SourcePartition

RECENT = 30.0  # seconds in which a task that runs has written a position, unless its database is quiet

TASK_RUNS = define(
    "offsets.task_runs",
    OperatorNeeded,
    "{pipeline} runs: {reader} reads its log, and its positions are not edited meanwhile",
    hint="stop it (SIGTERM to wrackline run), then repeat the command; --force fences it, and it ends",
)
MAY_RUN = define(
    "offsets.task_may_run",
    Transient,
    "{pipeline} may run: it wrote a position {seconds:.0f} s ago, and its source can't be asked",
    hint="stop it, and repeat the command in {wait:.0f} s; --force fences whoever runs",
)
NOT_KEPT = define(
    "offsets.not_kept",
    OperatorNeeded,
    "no position of {pipeline} was kept at or before {time}",
    hint="choose one of those that were: wrackline offsets history <pipeline.toml>",
)
NOT_EDITED = define(
    "offsets.not_supported",
    OperatorNeeded,
    "positions of {kind} can be shown and not edited",
    hint="start the pipeline under another name, which has no positions yet",
)
NO_DATABASE = define(
    "offsets.no_database",
    OperatorNeeded,
    "{pipeline} does not read database {database}",
    hint="choose one of: {databases}",
)


@dataclass(frozen=True, slots=True)
class Stored:
    """One source partition's position, as it is shown."""

    database: str
    position: Any
    place: str
    generation: int
    n: int
    edited: bool
    tables: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kept:
    """A position of the history."""

    time: str
    database: str
    position: Any
    place: str
    generation: int


class Desk:
    """One pipeline's offsets, with its source at hand."""

    def __init__(self, name: str, kind: str, source: Source, ownership: Ownership) -> None:
        self._name, self._kind, self._source, self._ownership = name, kind, source, ownership
        self._place = placing(source)

    def partitions(self) -> Sequence[SourcePartition]:
        """Return the parts of the source that have a position each."""
        return self._source.partitions()

    def show(self) -> list[Stored]:
        """Return what is committed; nothing before the first start."""
        state = self._ownership.state()
        return [
            Stored(
                key.database or "",
                orjson.loads(offset.position),
                self._shown(orjson.loads(offset.position)),
                offset.generation,
                offset.n,
                offset.n == OUTSIDE_ANY_TRANSACTION,
                self._tables(state, key),
            )
            for key, offset in sorted(state.positions.items(), key=lambda item: str(item[0]))
            if key.connector == self._name
        ]

    def history(self) -> list[Kept]:
        """Return the positions that were kept, oldest first."""
        return [
            Kept(_text(ms), key.database or "", position, self._shown(position), offset.generation)
            for ms, key, offset in self._kept()
            for position in [orjson.loads(offset.position)]
        ]

    def set_aside(self) -> list[str]:
        """Return the tables that are set aside, whatever positions are edited."""
        every = set_aside.every(self._ownership.state())
        return sorted(str(key.table) for key in every if key.connector == self._name)

    def set(self, positions: Mapping[str | None, Saved], *, force: bool) -> None:
        """Make the task go on at these positions, each of a database; None: of the only one."""
        for position in positions.values():
            self._place(position)  # a faulty one raises
        wanted = {self._partition(database): position for database, position in positions.items()}
        self._edit(lambda _: wanted, force=force)

    def reset(self, *, force: bool) -> None:
        """Make the task begin anew, wherever the log begins, in an epoch of its own.

        Where no position is left, the history still knows which epochs have passed.  Of the tables nothing is
        known any more but that their log has a gap: a copy is void when their rows are read.
        """
        source = self._attended()
        kept = {key.database or "": orjson.loads(offset.position) for _, key, offset in self._kept()}
        self._edit(
            lambda known: {p: source.anew(None, saved or kept.get(p.database)) for p, saved in known.items()},
            tables=True,
            force=force,
            over_broken=True,
        )

    def rewind(self, to: datetime, *, as_new: bool, force: bool) -> None:
        """Make the task go on where it was at a moment; targets ignore what they have, unless `as_new`."""
        source, last, until = self._attended(), dict[str, Saved](), to.timestamp() * 1000
        for ms, key, offset in self._kept():
            if ms <= until:
                last[key.database or ""] = orjson.loads(offset.position)

        def there(known: dict[SourcePartition, Saved | None]) -> dict[SourcePartition, Saved]:
            missing = [partition for partition in known if partition.database not in last]
            if missing:
                raise NOT_KEPT(pipeline=self._name, time=to.isoformat())
            found = {partition: last[partition.database] for partition in known}
            return {p: source.anew(saved, known[p]) if as_new else saved for p, saved in found.items()}

        self._edit(there, force=force)

    def _edit(
        self,
        wanted: Callable[[dict[SourcePartition, Saved | None]], dict[SourcePartition, Saved]],
        *,
        force: bool,
        tables: bool = False,
        over_broken: bool = False,
    ) -> None:
        self._attended()
        self._ownership.prepare()
        partitions = self._source.partitions()
        if not force:
            # first, because a position may say which slot is the pipeline's
            asked = wanted(self._known(self._ownership.state(over_broken=over_broken), partitions))
            self._refuse_while_running(partitions)
            self._refuse_what_cannot_start(asked)

        def changes(state: State, generation: int) -> Sequence[Change]:
            known = self._known(state, partitions)
            made = [self._record(p, saved, known[p], generation) for p, saved in wanted(known).items()]
            unknown = offsets.encode(TableState(generation, going_on.left()))
            forgotten = [
                (offsets.table_key(key.connector, key.partition, key.table), unknown)
                for key in state.tables
                if tables and key.connector == self._name
            ]
            return [*forgotten, *made]

        self._ownership.claim(time.monotonic, changes, over_broken=over_broken)

    def _record(
        self, partition: SourcePartition, saved: Saved, before: Saved | None, generation: int
    ) -> Change:
        previous = None if before is None else canonical(before)
        offset = Offset(generation, OUTSIDE_ANY_TRANSACTION, canonical(saved), previous, 0, 0)
        return offsets.position_key(self._name, partition), offsets.encode(offset)

    def _known(
        self, state: State, partitions: Sequence[SourcePartition]
    ) -> dict[SourcePartition, Saved | None]:
        stored = {partition: state.resume(self._name, partition) for partition in partitions}
        return {p: None if offset is None else orjson.loads(offset.position) for p, offset in stored.items()}

    def _refuse_while_running(self, partitions: Sequence[SourcePartition]) -> None:
        source = self._attended()
        try:
            readers = [_reader(source, partition) for partition in partitions]
        except WracklineError:
            self._refuse_if_recent()
            return
        for reader in filter(None, readers):
            raise TASK_RUNS(pipeline=self._name, reader=reader)

    def _refuse_if_recent(self) -> None:
        written = self._ownership.last_written_ms()
        age = RECENT if written is None else time.time() - written / 1000
        if age < RECENT:
            raise MAY_RUN(pipeline=self._name, seconds=age, wait=RECENT - age)

    def _refuse_what_cannot_start(self, wanted: dict[SourcePartition, Saved]) -> None:
        source = self._attended()
        for partition, saved in wanted.items():
            source.resumable(partition, saved)

    def _attended(self) -> Attended:
        if not isinstance(self._source, Attended):
            raise NOT_EDITED(kind=self._kind)
        return self._source

    def _partition(self, database: str | None) -> SourcePartition:
        partitions = self._source.partitions()
        for partition in partitions:
            if partition.database == database or (database is None and len(partitions) == 1):
                return partition
        raise NO_DATABASE(
            pipeline=self._name,
            database=database or "(none named)",
            databases=", ".join(partition.database for partition in partitions),
        )

    def _shown(self, position: Saved) -> str:
        """Write a position for people, also one that is at fault: it is what they came to look at."""
        try:
            return self._place(position)
        except WracklineError:
            return "(not a position of this source)"

    def _kept(self) -> Iterator[tuple[int, PositionKey, Offset]]:
        for ms, record in self._ownership.history():
            if isinstance(record.key, PositionKey) and isinstance(record.value, Offset):
                yield ms, record.key, record.value

    def _tables(self, state: State, key: PositionKey) -> dict[str, Any]:
        of_this = state.tables_of(key.connector, SourcePartition(key.server, key.database or ""))
        return {str(table): orjson.loads(kept.snapshot) for table, kept in of_this.items()}


@contextmanager
def desk(pipeline: Pipeline) -> Iterator[Desk]:
    """Open what the offsets of a good pipeline need."""
    values = pipeline.good()
    if pipeline.source is None:
        raise ValueError("a pipeline without a source has no offsets")
    source = load(pipeline.source).open(values, around())
    try:
        yield Desk(values.text("name"), pipeline.source, source, ownership_of(values))
    finally:
        source.close()


def _text(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")


def _reader(source: Attended, partition: SourcePartition) -> str | None:
    """Return who reads a log now."""
    if isinstance(source, Unheld):
        return source.log_reader(partition)
    state = source.log_state(partition)
    return None if state is None else state.held_by
