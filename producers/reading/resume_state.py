"""What one source partition continues from: its position, and what is known of its tables.  Pure.

    what Kafka has, tables captured now  --> ResumeState --(the log was lost, a new one begins)--> ResumeState

A table that is no longer captured is remembered as a table with a gap in its log: when it comes back it is
read like a new table, behind an event that voids what a copy has of it.  The same is done to every table once
the log was lost, because nobody knows what was deleted meanwhile.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

import orjson
from pydantic import TypeAdapter

from wrackline.producers.contract.snapshot_requests import Purpose, SnapshotRequest
from wrackline.producers.contract.steps import Saved
from wrackline.producers.cutting.split_transaction import SplitTransaction
from wrackline.producers.snapshot.table_state import (
    Job,
    TableDeparture,
    TableState,
    parse_state,
    render_state,
)
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.offsets_records import Json, Offset, canonical_json, read_as
from wrackline.schemas.kafka.topic_names import COLLISION, Naming, table_topic
from wrackline.schemas.tables.table import SourcePartition, TableId

UNPROVEN: Final = "unproven"  # beside a position: the transactions that a reader must see first
NAMING: Final = "naming"  # beside a position: how topics are named, if not as always
_LOST: Final = "lost-"  # prefix of the requests that repair a lost log

READ_ANEW = define(
    "snapshot.read_anew",
    OperatorNeeded,
    "the log of {database} was lost, so the pipeline continues from the log's current position and reads"
    " the rows of its {count} tables again: {reason} [{code}]",
    hint="the copy is corrected without your help; to prevent this from happening again, see: wrackline"
    " errors {code}",
)
NAMING_CHANGED = define(
    "topic.naming_changed",
    OperatorNeeded,
    "topic.naming is {now}, and the pipeline's topics, such as that of {table}, were created with {was}",
    hint='set topic.naming = "{was}"; or start over with the other names and read all rows: wrackline offsets'
    " reset <pipeline.toml>",
)
UNREAD = define(
    "snapshot.unread",
    OperatorNeeded,
    "reading of existing rows has ended, but {count} tables were not read completely, such as {table}:"
    " {reason} [{code}]",
    hint="{fix}; then request these tables and start the pipeline again: wrackline snapshot start"
    " <pipeline.toml> '{table}'",
)


@dataclass(frozen=True, slots=True)
class ResumeState:
    """What Kafka has of one source partition; if there is no position, nothing was ever published."""

    position: Saved | None = None
    cut: SplitTransaction | None = None
    unproven: tuple[str, ...] = ()
    states: Mapping[TableId, TableState] = field(default_factory=dict)  # of the tables that are captured
    away: frozenset[TableId] = frozenset()  # captured once; the log may bring any of their names back
    gone: frozenset[TableId] = frozenset()  # of these, captured until now
    corrected: frozenset[TableId] = frozenset()  # their first read failed, and now has another condition
    naming: Naming | None = field(kw_only=True)  # of the topics that were written; None: none were

    @classmethod
    def of(
        cls, state: OffsetsState, connector: str, partition: SourcePartition, tables: Collection[TableId]
    ) -> Self:
        """Take what was committed, and the tables that are captured now."""
        offset = state.resume(connector, partition)
        if offset is None:
            return cls(naming=None)
        states = state.tables_of(connector, partition).items()
        every = {table: parse_state(kept.snapshot, table) for table, kept in states}
        captured = frozenset(tables)
        return cls(
            orjson.loads(offset.position),
            None if offset.cut is None else SplitTransaction.parse(offset.cut),
            _parse_companion(offset).unproven,
            {table: one for table, one in every.items() if table in captured},
            frozenset(every) - captured,
            frozenset(table for table, one in every.items() if table not in captured and not one.left),
            naming=naming_of(offset),
        )

    def named(self, naming: Naming) -> Self:
        """Raise if topics were named otherwise: readers of the old topics would wait forever.

        A name that needs no escape is the same topic with and without.  A table that is gone or left out
        has a topic, too, and its name may come back.
        """
        was = self.naming
        if was is None or was is naming:
            return self
        written = (*(table for table, state in self.states.items() if _has_topic(state)), *self.away)
        names = ((table, table_topic("x", table, was), table_topic("x", table, naming)) for table in written)
        table = next((table for table, before, after in names if before != after), None)
        if table is not None or was.parts != naming.parts:
            raise NAMING_CHANGED(was=was.value, now=naming.value, table=table or "any table")
        return self

    @property
    def met(self) -> frozenset[TableId]:
        """The tables that were captured until now; the rows of other tables are requested."""
        known = (table for table, state in self.states.items() if not state.left)
        return frozenset(known) - self.corrected

    @property
    def aside(self) -> frozenset[TableId]:
        """The tables that are set aside."""
        return frozenset(table for table, state in self.states.items() if state.set_aside is not None)

    @property
    def recovering(self) -> bool:
        """Whether the repair of a lost log has not ended yet."""
        return any(
            job.id.startswith(_LOST) and job.failed is None
            for state in self.states.values()
            for job in state.jobs
        )

    def corrected_by(self, condition: Callable[[TableId], str | None]) -> Self:
        """Forget first reads that failed, if the settings now make them read other rows."""
        states = dict(self.states)
        for table, state in self.states.items():
            wrong = [job for job in state.jobs if _failed_otherwise(job, condition(table))]
            if wrong:
                states[table] = replace(state, jobs=tuple(job for job in state.jobs if job not in wrong))
        corrected = {table for table, state in states.items() if state is not self.states[table]}
        return replace(self, states=states, corrected=frozenset(corrected))

    def over(self, asked: SnapshotRequest | None) -> bool:
        """Whether all rows were read, including those that this start requests."""
        wanted = [] if asked is None else [(table, asked.id) for table in asked.tables]
        return (
            self.position is not None
            and all(needs_no_more_reads(state) and state.reason is None for state in self.states.values())
            and all(table in self.states and self.states[table].knows(name) for table, name in wanted)
        )

    def anew(self, position: Saved) -> Self:
        """Continue in a log that has nothing of the time before; requested reads begin again."""
        return replace(
            self,
            position=position,
            cut=None,
            unproven=(),
            states={table: _after_a_gap(state) for table, state in self.states.items()},
        )


def saved_companion(naming: Naming, unproven: Sequence[str] = ()) -> Json | None:
    """Return what is kept with a position: what a later start needs, and can't get elsewhere."""
    kept: dict[str, object] = {UNPROVEN: [*unproven]} if unproven else {}
    if naming is not Naming.WRACKLINE:
        kept[NAMING] = naming.value
    return canonical_json(kept) if kept else None


def naming_of(offset: Offset) -> Naming:
    """Return how topics were named when a position was written."""
    return _parse_companion(offset).naming


@dataclass(frozen=True, slots=True)
class _SavedCompanion:
    unproven: tuple[str, ...] = ()
    naming: Naming = Naming.WRACKLINE


_BESIDE: Final = TypeAdapter(_SavedCompanion)


def _parse_companion(offset: Offset) -> _SavedCompanion:
    return _SavedCompanion() if offset.snapshot is None else read_as(_BESIDE, offset.snapshot, "a position")


def uncaptured_state(*, dropped: bool = False) -> Json:
    """Return what is kept of a table that is no longer captured."""
    return render_state(TableState(gap=True, departure=TableDeparture(dropped)))


def recovery_request(name: str) -> str:
    """Name the request that repairs a lost log."""
    return f"{_LOST}{name}"


def needs_no_more_reads(state: TableState) -> bool:
    """Whether no more rows of a table will be read by themselves: all were, or an operator must act."""
    return state.active is None and (not state.missing or state.reason is not None)


def unread_error(states: Mapping[TableId, TableState]) -> WracklineError | None:
    """Return an error that names the tables of which not all rows were read."""
    failed = [(table, why) for table, state in states.items() if (why := state.reason) is not None]
    if not failed:
        return None
    table, why = failed[0]
    return UNREAD(count=len(failed), table=table, reason=why.sentence, code=why.code, fix=why.hint)


def _has_topic(state: TableState) -> bool:
    """Whether the table may have written: one that is refused for its topic has a gap, and has not."""
    refused = state.set_aside is not None and state.set_aside.code == COLLISION.code
    return state.shape is not None or state.departure != TableDeparture() or (state.gap and not refused)


def _failed_otherwise(job: Job, condition: str | None) -> bool:
    return job.purpose is Purpose.INITIAL and job.failed is not None and job.condition != condition


def _after_a_gap(state: TableState) -> TableState:
    requested = [job for job in state.jobs if job.purpose is Purpose.REQUESTED and job.failed is None]
    jobs = tuple(replace(job.anew(), also_refresh=False) for job in requested)
    return replace(state, jobs=jobs, missing={}, set_aside=None, gap=True)
