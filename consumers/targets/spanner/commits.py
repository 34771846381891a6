"""One commit after the other: each first looks at the number of the table's state, and moves it.

    wl_state   one row a table: the number, whose copy it is, the shape, what is applied

Spanner locks rows, so the states of all tables are in one table.  If the number is another one than what was
read, or that of a table which was made since, another session was first, and nothing of the commit is kept:
that is the only guard between two consumers.  A transaction that is aborted begins again with that look.

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
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.staged.state import COLUMNS, StagedState, StateNames, state_values
from wrackline.consumers.staged.target import STATE_MOVED
from wrackline.consumers.targets.spanner.chunks import ChunkLimits, fit
from wrackline.consumers.targets.spanner.rows import ChangedRow, RowMerge
from wrackline.consumers.targets.spanner.session import SCAN_S, SpannerSession, full_name, rows_of
from wrackline.consumers.targets.spanner.texts import (
    PLACE,
    across,
    create_states,
    delete_voided,
    path,
    primary_key,
    voided,
)
from wrackline.consumers.targets.spanner.versions import VersionMerge

_STATES: Final = "wl_state"


@dataclass(frozen=True, slots=True)
class SpannerChunk:
    """Rows of one commit."""

    merge: RowMerge | VersionMerge
    rows: Sequence[ChangedRow]
    void: frozenset[tuple[str, ...]] = frozenset()  # keys of rows that a truncate has voided: they go
    others: frozenset[str] = frozenset()  # keys whose versions its truncates end
    are_all: bool = True  # of those


class SpannerCommits:
    """The states of the tables of one storage, and what is committed with them."""

    def __init__(self, session: SpannerSession, storage: str, limits: ChunkLimits) -> None:
        self._session, self._limits = session, limits
        self._states = StagedRelation(storage, _STATES)

    def names(self, place: StagedPlace) -> StateNames:
        """Name a table and its state; Spanner drops no table under a view."""
        view, table, states = map(path, (place.view, place.table, self._states))
        drop = f"DROP VIEW {view}; DROP TABLE {table}"
        forget = f"DELETE FROM {states} WHERE {PLACE} = '{place.table.name}'"  # noqa: S608 - letters and digits
        return StateNames(table, states, drop, f"{drop}; {forget}")

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

    def void(self, place: StagedPlace, shape: StagedShape, floor: str) -> frozenset[tuple[str, ...]]:
        """Find what is older than a floor, for the first chunk; what is more than it takes goes at once.

        Nobody is kept from the table meanwhile.  The keys hold where the number does, and what is deleted is
        void for everybody, also where this session is behind another one.
        """
        most = self._limits.deletes
        found = self._session.ask(voided(place.table, shape, most + 1), within_s=SCAN_S, floor=floor)
        if len(found) <= most:
            return frozenset(found)
        self._session.change(delete_voided(place.table, shape), floor=floor)
        return frozenset()

    def merge(
        self, place: StagedPlace, state: StagedState, chunk: SpannerChunk, applied: Applied | None
    ) -> StagedState:
        """Commit a chunk, with what is applied then if it is the last; what is too large goes by halves."""
        most, chunk = self._limits.mutations, self._with_others(place, state.shape, chunk)
        while True:
            work = partial(self._merge, place=place, before=state, chunk=chunk, most=most, applied=applied)
            try:
                is_done, state = self._session.together(work)
            except InvalidArgument:
                most //= 2
                if not most:
                    raise
            else:
                if is_done:
                    return state
                chunk = replace(chunk, void=frozenset())  # its own rows may have their keys now
                chunk = self._with_others(place, state.shape, chunk)

    def _merge(
        self,
        work: Transaction,
        *,
        place: StagedPlace,
        before: StagedState,
        chunk: SpannerChunk,
        most: int,
        applied: Applied | None,
    ) -> tuple[bool, StagedState]:
        """Do one transaction; False: the next one finds what is left to be done."""
        self._check_number(work, place, before, "the batch")
        if chunk.void:
            work.delete(full_name(place.table), KeySet(keys=list(map(list, chunk.void))))
        is_done = not chunk.rows or self._write_rows(work, place, before.shape, chunk, most)
        after = before.then(applied=applied if is_done else None)
        self._write(work, place=place, state=after)
        return is_done, after

    def _write_rows(
        self,
        work: Transaction,
        place: StagedPlace,
        shape: StagedShape,
        chunk: SpannerChunk,
        most: int,
    ) -> bool:
        """Write what the rows change, as much as a commit takes; False: there is more."""
        merge, table = chunk.merge, full_name(place.table)
        if isinstance(merge, VersionMerge):
            keys = merge.keys(chunk.rows, chunk.others)
        else:
            keys = merge.keys(chunk.rows)
        of_key = len(primary_key(shape))
        found = rows_of(work, place.table, merge.reads, keys)
        stored = (row for row in found if row[:of_key] not in chunk.void)
        written, fits = fit(merge.writes(chunk.rows, stored), most, self._limits.bytes)
        by_columns: defaultdict[tuple[str, ...], list[tuple[Any, ...]]] = defaultdict(list)
        for row in written:
            by_columns[row.columns].append(row.values)
        gone = [row.key for row in written if not row.columns]
        by_columns.pop((), None)
        for columns, values in by_columns.items():
            work.insert_or_update(table, columns, values)
        if gone:
            work.delete(table, KeySet(keys=[[key] for key in gone]))
        return chunk.are_all and fits

    def _with_others(self, place: StagedPlace, shape: StagedShape, chunk: SpannerChunk) -> SpannerChunk:
        """Find keys that have a version across one of the chunk's truncates, at most `voids` of each.

        A truncate is looked for in the whole table, so nobody is kept from it meanwhile: in a transaction
        each row would be locked until its commit.  The keys hold where the state's number does.
        """
        if not isinstance(chunk.merge, VersionMerge):
            return chunk
        most, keys = self._limits.voids, set[str]()
        for seq in chunk.merge.truncates(chunk.rows):
            found = self._session.ask(across(place.table, shape, most), within_s=SCAN_S, seq=seq)
            keys.update(key for (key,) in found)
            if len(found) == most:
                return replace(chunk, others=frozenset(keys), are_all=False)
        return replace(chunk, others=frozenset(keys), are_all=True)

    def _check_number(self, work: Transaction, place: StagedPlace, state: StagedState, doing: str) -> None:
        found = list(rows_of(work, self._states, ["number", "made"], _key(place)))
        if found != [(state.number, state.making)]:
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
