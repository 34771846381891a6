"""A pipeline's stored positions: shown, and edited while its task does not run.

Is it running?  Kafka can't say: a transactional id looks the same whether its owner is idle or gone, and an
idle task may write nothing for as long as its database is quiet.  The source can: a task that runs holds its
log open.  So the source is asked, and only if it can't answer, a recent record counts as a sign of life.
Neither is needed for safety; they only spare a running pipeline.  An edit is one Kafka transaction of the
task's own transactional id, which claims a newer generation: a task that runs after all is fenced by it,
finds the newer generation before it could write a position again, and ends.

An edit's records have n = OUTSIDE_ANY_TRANSACTION, so the topic shows which positions people edited.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from wrackline.control.runtime.ground.pipeline_access import (
    group_of,
    ownership_of,
    position_text,
    surroundings,
)
from wrackline.producers.contract.optional_parts import Attended, NoServerPosition
from wrackline.producers.contract.source_plugin import Source, load
from wrackline.producers.contract.steps import Saved
from wrackline.producers.cutting import table_fault
from wrackline.producers.kafka.offsets_topic import OverBroken
from wrackline.producers.kafka.ownership import LOST, Ownership
from wrackline.producers.kafka.takeover import Change
from wrackline.producers.reading import resume_state
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.kafka import offsets_records
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.offsets_records import (
    OUTSIDE_ANY_TRANSACTION,
    Offset,
    PositionKey,
    SavedTableState,
    canonical_json,
)
from wrackline.schemas.kafka.topic_names import Naming, internal_topics
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.tables.table import SourcePartition, TableId

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
    hint="stop it, and repeat the command in {wait:.0f} s; --force fences the task that runs",
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


_Move = Callable[[dict[SourcePartition, Saved | None]], dict[SourcePartition, Saved]]


@dataclass(frozen=True, slots=True)
class StoredPosition:
    """One source partition's position, as it is shown."""

    database: str
    position: Any
    place: str
    generation: int
    n: int
    edited: bool
    tables: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PastPosition:
    """A position of the history."""

    time: str
    database: str
    position: Any
    place: str
    generation: int


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """How far an edit goes: all that is between the two places is read again, or never."""

    database: str
    now: str | None
    then: str
    position: Any


class OffsetsService:
    """One pipeline's offsets, with its source."""

    def __init__(self, name: str, kind: str, source: Source, ownership: Ownership, naming: Naming) -> None:
        self._name, self._kind, self._source, self._ownership = name, kind, source, ownership
        self._naming = naming
        self._place = position_text(source)

    def partitions(self) -> Sequence[SourcePartition]:
        """Return the parts of the source that each have a position."""
        return self._source.partitions()

    def show(self) -> list[StoredPosition]:
        """Return what is committed; nothing before the first start."""
        state = self._ownership.state()
        return [
            StoredPosition(
                key.database or "",
                orjson.loads(offset.position),
                self._shown(_partition_of(key), orjson.loads(offset.position)),
                offset.generation,
                offset.n,
                offset.n == OUTSIDE_ANY_TRANSACTION,
                self._tables(state, key),
            )
            for key, offset in sorted(state.positions.items(), key=lambda item: str(item[0]))
            if key.connector == self._name
        ]

    def states(self) -> dict[TableId, Any]:
        """Return the saved states of all tables."""
        state = self._ownership.state()
        mine = [key for key in state.positions if key.connector == self._name]
        return {table: found for key in mine for table, found in self._by_table(state, key).items()}

    def history(self) -> list[PastPosition]:
        """Return the positions that were kept, oldest first."""
        return [
            PastPosition(
                _text(ms),
                key.database or "",
                position,
                self._shown(_partition_of(key), position),
                offset.generation,
            )
            for ms, key, offset in self._stored_positions()
            for position in [orjson.loads(offset.position)]
        ]

    def set_aside(self) -> list[str]:
        """Return the tables that are set aside, which an edit of positions does not change."""
        tables = self._ownership.state().tables.items()
        ours = [(key.table, kept.snapshot) for key, kept in tables if key.connector == self._name]
        return sorted(str(table) for table, kept in ours if table_fault.reason_in(kept, table) is not None)

    def set(self, positions: Mapping[str | None, Saved], *, force: bool) -> None:
        """Make the task continue at these positions, by database; None: the only database."""
        wanted = {self._partition(database): position for database, position in positions.items()}
        for partition, position in wanted.items():
            self._place(partition, position)  # a faulty one raises
        self._edit(lambda _: wanted, force=force)

    def reset(self, databases: Collection[str] = (), *, force: bool) -> None:
        """Make the task start over, wherever the log begins, in a new epoch; or only these databases of it.

        If no position is left, or none can be read, the history still knows which epochs have passed.  Of the
        tables only one thing is known then, that their log has a gap: a copy is void when their rows are
        read.  What can't be read of other databases stays, and is an error.
        """
        source, chosen = self._attended(), {self._partition(one) for one in databases}
        kept = {
            key.database or "": orjson.loads(offset.position) for _, key, offset in self._stored_positions()
        }

        def fresh(partition: SourcePartition, saved: Saved | None) -> Saved:
            before = kept.get(partition.database)
            try:
                return source.anew(partition, None, saved or before)
            except Definite:  # the hint of what can't be read leads here
                if saved is None or before is None:
                    raise
                return source.anew(partition, None, before)

        def moves(known: dict[SourcePartition, Saved | None]) -> dict[SourcePartition, Saved]:
            others = known.keys() - chosen if chosen else ()
            if any(known[one] is None and one.database in kept for one in others):
                topics = internal_topics(group_of(self._name))
                raise LOST(topic=topics.offsets, connector=self._name, history=topics.offset_history)
            return {p: fresh(p, saved) for p, saved in known.items() if p not in others}

        self._edit(
            moves,
            forgets=lambda partition: not chosen or partition in chosen,
            force=force,
            over_broken=chosen or True,
        )

    def rewind(self, to: datetime, *, as_new: bool, force: bool) -> None:
        """Make the task continue where it was at a moment; targets ignore what they have unless `as_new`."""
        self._edit(self._positions_at(to, as_new=as_new), force=force)

    def preview_rewind(self, to: datetime, *, as_new: bool) -> list[PlannedMove]:
        """Return what a rewind would do, or raise why the source can't begin there; nothing is changed."""
        known = self._positions_of(self._ownership.state(), self._source.partitions())
        wanted = self._positions_at(to, as_new=as_new)(known)
        self._refuse_what_cannot_start(wanted)
        return [
            PlannedMove(
                partition.database,
                None if known[partition] is None else self._shown(partition, known[partition] or {}),
                self._shown(partition, position),
                position,
            )
            for partition, position in wanted.items()
        ]

    def _positions_at(self, to: datetime, *, as_new: bool) -> _Move:
        source, last, until = self._attended(), dict[str, Saved](), to.timestamp() * 1000
        for ms, key, offset in self._stored_positions():
            if ms <= until:
                last[key.database or ""] = orjson.loads(offset.position)

        def there(known: dict[SourcePartition, Saved | None]) -> dict[SourcePartition, Saved]:
            missing = [partition for partition in known if partition.database not in last]
            if missing:
                raise NOT_KEPT(pipeline=self._name, time=to.isoformat())
            found = {partition: last[partition.database] for partition in known}
            return {p: source.anew(p, saved, known[p]) if as_new else saved for p, saved in found.items()}

        return there

    def _edit(
        self,
        wanted: _Move,
        *,
        force: bool,
        forgets: Callable[[SourcePartition], bool] | None = None,
        over_broken: OverBroken = False,
    ) -> None:
        self._attended()
        self._ownership.prepare()
        partitions = self._source.partitions()
        if not force:
            # first, because a position may say which slot is the pipeline's
            asked = wanted(self._positions_of(self._ownership.state(over_broken=over_broken), partitions))
            self._refuse_while_running(partitions)
            self._refuse_what_cannot_start(asked)

        def changes(state: OffsetsState, generation: int) -> Sequence[Change]:
            known = self._positions_of(state, partitions)
            made = [
                self._record(p, saved, known[p], generation, self._named(state, None if forgets else p))
                for p, saved in wanted(known).items()
            ]
            unknown = offsets_records.encode(SavedTableState(generation, resume_state.uncaptured_state()))
            forgotten = [
                (offsets_records.table_key(key.connector, key.partition, key.table), unknown)
                for key in state.tables
                if forgets is not None and key.connector == self._name and forgets(key.partition)
            ]
            return [*forgotten, *made]

        self._ownership.claim(time.monotonic, changes, over_broken=over_broken)

    def _record(
        self, partition: SourcePartition, saved: Saved, before: Saved | None, generation: int, naming: Naming
    ) -> Change:
        previous = None if before is None else canonical_json(before)
        offset = Offset(
            generation,
            OUTSIDE_ANY_TRANSACTION,
            canonical_json(saved),
            previous,
            0,
            0,
            resume_state.saved_companion(naming),
        )
        return offsets_records.position_key(self._name, partition), offsets_records.encode(offset)

    def _named(self, state: OffsetsState, before: SourcePartition | None) -> Naming:
        """Return how topics are named after an edit: as before, unless the pipeline begins again."""
        offset = None if before is None else state.resume(self._name, before)
        return self._naming if offset is None else resume_state.naming_of(offset)

    def _positions_of(
        self, state: OffsetsState, partitions: Sequence[SourcePartition]
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

    def _shown(self, partition: SourcePartition, position: Saved) -> str:
        """Write a position for people, also a faulty one, because that is what they look for."""
        try:
            return self._place(partition, position)
        except WracklineError:
            return "(not a position of this source)"

    def _stored_positions(self) -> Iterator[tuple[int, PositionKey, Offset]]:
        for ms, record in self._ownership.history():
            if isinstance(record.key, PositionKey) and isinstance(record.value, Offset):
                yield ms, record.key, record.value

    def _tables(self, state: OffsetsState, key: PositionKey) -> dict[str, Any]:
        return {str(table): found for table, found in self._by_table(state, key).items()}

    def _by_table(self, state: OffsetsState, key: PositionKey) -> dict[TableId, Any]:
        of_this = state.tables_of(key.connector, SourcePartition(key.server, key.database or ""))
        return {table: orjson.loads(kept.snapshot) for table, kept in of_this.items()}


@contextmanager
def open_offsets(pipeline: Pipeline) -> Iterator[OffsetsService]:
    """Open what is needed for the offsets of a good pipeline."""
    values = pipeline.good()
    if pipeline.source is None:
        raise ValueError("a pipeline without a source has no offsets")
    source = load(pipeline.source).open(values, surroundings())
    try:
        yield OffsetsService(
            values.text("name"), pipeline.source, source, ownership_of(values), naming_of(values)
        )
    finally:
        source.close()


def _text(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")


def _partition_of(key: PositionKey) -> SourcePartition:
    """Return whose position it is; an older version wrote no database, because there was only one."""
    return SourcePartition(key.server, key.database or "")


def _reader(source: Attended, partition: SourcePartition) -> str | None:
    """Return what reads a log now."""
    if isinstance(source, NoServerPosition):
        return source.log_reader(partition)
    state = source.log_state(partition)
    return None if state is None else state.held_by
