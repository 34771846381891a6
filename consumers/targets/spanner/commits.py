"""One commit after the other: each first looks at the number of the table's state, and moves it.

    wl_state   one row a table: the number, whose copy it is, the shape, what is applied

Spanner locks rows, so the states of all tables are in one table.  If the number is another one than what was
read, another session was first, and nothing of the commit is kept: that is the only guard between two
consumers.  A transaction that is aborted begins again with that look.

In: a chunk of rows, and the state before it.  Out: the state after it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from google.api_core.exceptions import InvalidArgument
from google.cloud.spanner_v1 import KeySet
from google.cloud.spanner_v1.transaction import Transaction

from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.staged.places import StagedPlace, StagedRelation
from wrackline.consumers.staged.state import COLUMNS, StagedState, state_values
from wrackline.consumers.staged.target import STATE_MOVED
from wrackline.consumers.targets.spanner.chunks import ChunkLimits
from wrackline.consumers.targets.spanner.rows import ChangedRow, RowMerge, StoredMarks
from wrackline.consumers.targets.spanner.session import CALL_S, SpannerSession, full_name, parameters, rows_of
from wrackline.consumers.targets.spanner.texts import PLACE, create_states, path, voided
from wrackline.consumers.targets.spanner.types import legal

_STATES: Final = "wl_state"


@dataclass(frozen=True, slots=True)
class SpannerChunk:
    """Rows of one commit."""

    merge: RowMerge
    rows: Sequence[ChangedRow]
    floor: str | None = None  # where a truncate has raised it: older rows go


class SpannerCommits:
    """The states of the tables of one storage, and what is committed with them."""

    def __init__(self, session: SpannerSession, storage: str, limits: ChunkLimits) -> None:
        self._session, self._limits = session, limits
        self._states = StagedRelation(storage, _STATES)

    @property
    def name(self) -> str:
        """Name the table of states."""
        return path(self._states)

    def read(self, place: StagedPlace) -> tuple[Any, ...] | None:
        """Read a table's state; None: there is none."""
        if self._session.made(self._states) is None:
            return None
        found = self._session.read(self._states, COLUMNS, _key(place))
        return found[0] if found else None

    def begin(self, place: StagedPlace, state: StagedState) -> None:
        """Write the first state of a table, which one of two consumers does."""
        self._session.reshape([create_states(self._states)])
        self._session.together(partial(self._write, place=place, state=state, is_new=True))

    def move(self, place: StagedPlace, before: StagedState, after: StagedState, doing: str) -> None:
        """Write what has changed, unless another session was first."""

        def work(transaction: Transaction) -> None:
            self._check_number(transaction, place, before, doing)
            self._write(transaction, place=place, state=after)

        self._session.together(work)

    def forget(self, place: StagedPlace) -> None:
        """Keep nothing about a table."""
        self._session.together(lambda work: work.delete(full_name(self._states), _key(place)))

    def merge(
        self, place: StagedPlace, state: StagedState, chunk: SpannerChunk, applied: Applied | None
    ) -> StagedState:
        """Commit a chunk, with what is applied then if it is the last; one that is too large is halved."""
        try:
            while True:
                work = partial(self._merge, place=place, before=state, chunk=chunk, applied=applied)
                is_done, state = self._session.together(work)
                if is_done:
                    return state
        except InvalidArgument:
            middle = len(chunk.rows) // 2
            if not middle:
                raise
        state = self.merge(place, state, replace(chunk, rows=chunk.rows[:middle]), None)
        return self.merge(place, state, replace(chunk, rows=chunk.rows[middle:]), applied)

    def _merge(
        self,
        work: Transaction,
        *,
        place: StagedPlace,
        before: StagedState,
        chunk: SpannerChunk,
        applied: Applied | None,
    ) -> tuple[bool, StagedState]:
        """Do one transaction; False: it had enough to do with older rows."""
        self._check_number(work, place, before, "the batch")
        old = self._void(work, place, before, chunk.floor)
        is_done = len(old) <= self._limits.deletes
        if is_done:
            self._write_rows(work, place, before, chunk, old)
        after = before.then(applied=applied if is_done else None)
        self._write(work, place=place, state=after)
        return is_done, after

    def _void(
        self, work: Transaction, place: StagedPlace, state: StagedState, floor: str | None
    ) -> frozenset[str]:
        """Delete rows that are older than the floor, as many as one commit takes; return their keys."""
        if floor is None:
            return frozenset()
        text = voided(place.table, state.shape, self._limits.voids)
        found = work.execute_sql(text, timeout=CALL_S, **parameters({"floor": floor}))
        keys = [str(row[0]) for row in found]
        if keys:
            work.delete(full_name(place.table), KeySet(keys=[[key] for key in keys]))
        return frozenset(keys)

    def _write_rows(
        self,
        work: Transaction,
        place: StagedPlace,
        state: StagedState,
        chunk: SpannerChunk,
        old: frozenset[str],
    ) -> None:
        """Write the rows that are newer than what is stored under their keys."""
        if not chunk.rows:
            return
        ours, table = state.shape.ours, full_name(place.table)
        names = [legal(name) for name in (state.shape.key_place, ours.seq, ours.deleted, ours.missing)]
        keys = KeySet(keys=[[row.key] for row in chunk.rows])
        found = rows_of(work, place.table, names, keys)
        stored = {key: StoredMarks(*marks) for key, *marks in found if key not in old}
        written = [chunk.merge.write(row, stored.get(row.key)) for row in chunk.rows]
        by_columns: defaultdict[tuple[str, ...], list[tuple[Any, ...]]] = defaultdict(list)
        gone = []
        for row in written:
            if row is not None and row.columns:
                by_columns[row.columns].append(row.values)
            elif row is not None:
                gone.append([row.key])
        for columns, values in by_columns.items():
            work.insert_or_update(table, columns, values)
        if gone:
            work.delete(table, KeySet(keys=gone))

    def _check_number(self, work: Transaction, place: StagedPlace, state: StagedState, doing: str) -> None:
        found = list(rows_of(work, self._states, ["number"], _key(place)))
        if found != [(state.number,)]:
            raise STATE_MOVED(place=path(place.table), doing=doing)

    def _write(
        self, work: Transaction, *, place: StagedPlace, state: StagedState, is_new: bool = False
    ) -> None:
        row = {PLACE: place.table.name, **state_values(state)}
        table, names, values = full_name(self._states), list(row), [list(row.values())]
        if is_new:
            work.insert(table, names, values)
        else:
            work.update(table, names, values)


def _key(place: StagedPlace) -> KeySet:
    return KeySet(keys=[[place.table.name]])
