"""What one source partition goes on from: its position, and what is known of its tables.  Pure.

    what Kafka has, tables captured now  -->  Kept  --(the log was lost, a new one begins)-->  Kept

A table that is captured no more is remembered as one with a gap in its log: when it comes back it is read as
one that was never met, behind an event that makes void what a copy has of it.  So is every table once the log
was lost, for nobody knows what was deleted meanwhile.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self

import orjson

from wrackline.producers.batching import CutTransaction
from wrackline.producers.changes import Saved
from wrackline.producers.snapshot.requests import Purpose, Snapshot
from wrackline.producers.snapshot.state import Job, TableState, parse, saved
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.offset_replay import State
from wrackline.schemas.offsets import Json
from wrackline.schemas.table import SourcePartition, TableId

UNPROVEN: Final = "unproven"  # beside a position: the transactions that a reader must see first
_LOST: Final = "lost-"  # how the requests begin that make a lost log good

READ_ANEW = define(
    "snapshot.read_anew",
    OperatorNeeded,
    "the log of {database} was lost, so it goes on from now, and the rows of its {count} tables are read"
    " again: {reason} [{code}]",
    hint="the copy is mended without you; that it does not happen again, see: wrackline errors {code}",
)
UNREAD = define(
    "snapshot.unread",
    OperatorNeeded,
    "no more rows are going to be read, and not all were of {count} tables, as {table}: {reason} [{code}]",
    hint="{mend}; then ask for them and start the pipeline again:"
    " wrackline snapshot start <pipeline.toml> '{table}'",
)


@dataclass(frozen=True, slots=True)
class Kept:
    """What Kafka has of one source partition; without a position nothing was ever published."""

    position: Saved | None = None
    cut: CutTransaction | None = None
    unproven: tuple[str, ...] = ()
    states: Mapping[TableId, TableState] = field(default_factory=dict)  # of the tables that are captured
    away: frozenset[TableId] = frozenset()  # captured once; the log may bring any of their names back
    gone: frozenset[TableId] = frozenset()  # of these, captured until now
    corrected: frozenset[TableId] = frozenset()  # their first read failed, and is another one now

    @classmethod
    def of(
        cls, state: State, connector: str, partition: SourcePartition, tables: Collection[TableId]
    ) -> Self:
        """Take what was committed, and which tables are captured now."""
        offset = state.resume(connector, partition)
        if offset is None:
            return cls()
        every = {table: parse(kept.snapshot) for table, kept in state.tables_of(connector, partition).items()}
        captured = frozenset(tables)
        beside = None if offset.snapshot is None else orjson.loads(offset.snapshot)
        return cls(
            orjson.loads(offset.position),
            None if offset.cut is None else CutTransaction.parse(offset.cut),
            tuple((beside or {}).get(UNPROVEN, ())),
            {table: one for table, one in every.items() if table in captured},
            frozenset(every) - captured,
            frozenset(table for table, one in every.items() if table not in captured and not one.left),
        )

    @property
    def met(self) -> frozenset[TableId]:
        """The tables that were captured until now; the rows of others are asked for."""
        known = (table for table, state in self.states.items() if not state.left)
        return frozenset(known) - self.corrected

    @property
    def aside(self) -> frozenset[TableId]:
        """The tables that are set aside."""
        return frozenset(table for table, state in self.states.items() if state.set_aside is not None)

    @property
    def mending(self) -> bool:
        """Whether a log that was lost before is not made good yet."""
        return any(
            job.id.startswith(_LOST) and job.failed is None
            for state in self.states.values()
            for job in state.jobs
        )

    def corrected_by(self, condition: Callable[[TableId], str | None]) -> Self:
        """Forget first reads that failed, where the settings have them read other rows now."""
        states = dict(self.states)
        for table, state in self.states.items():
            wrong = [job for job in state.jobs if _failed_otherwise(job, condition(table))]
            if wrong:
                states[table] = replace(state, jobs=tuple(job for job in state.jobs if job not in wrong))
        corrected = {table for table, state in states.items() if state is not self.states[table]}
        return replace(self, states=states, corrected=frozenset(corrected))

    def over(self, asked: Snapshot | None) -> bool:
        """Whether all rows were read, also those that this start asks for."""
        wanted = [] if asked is None else [(table, asked.id) for table in asked.tables]
        return (
            self.position is not None
            and all(settled(state) and state.reason is None for state in self.states.values())
            and all(table in self.states and self.states[table].knows(name) for table, name in wanted)
        )

    def anew(self, position: Saved) -> Self:
        """Go on in a log that has nothing of the time before; what somebody asked for begins again."""
        return replace(
            self,
            position=position,
            cut=None,
            unproven=(),
            states={table: _after_a_gap(state) for table, state in self.states.items()},
        )


def left() -> Json:
    """What is kept of a table that is captured no more."""
    return saved(TableState(gap=True))


def mending_request(name: str) -> str:
    """Name the request that makes a lost log good."""
    return f"{_LOST}{name}"


def settled(state: TableState) -> bool:
    """Whether no more rows of a table are going to be read by themselves: all were, or somebody must act."""
    return state.active is None and (not state.missing or state.reason is not None)


def unread(states: Mapping[TableId, TableState]) -> WracklineError | None:
    """Say of which tables not all rows were read."""
    failed = [(table, why) for table, state in states.items() if (why := state.reason) is not None]
    if not failed:
        return None
    table, why = failed[0]
    return UNREAD(count=len(failed), table=table, reason=why.sentence, code=why.code, mend=why.hint)


def _failed_otherwise(job: Job, condition: str | None) -> bool:
    return job.purpose is Purpose.INITIAL and job.failed is not None and job.condition != condition


def _after_a_gap(state: TableState) -> TableState:
    requested = [job for job in state.jobs if job.purpose is Purpose.REQUESTED and job.failed is None]
    jobs = tuple(replace(job.anew(), also_refresh=False) for job in requested)
    return replace(state, jobs=jobs, missing={}, set_aside=None, gap=True)
