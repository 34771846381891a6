"""The target itself: each promise of the contract, by the module that keeps it.

    ensure_table, alter   texts.py            statement by statement, each of which may be repeated
    stage                 the carrier's files, on this machine
    apply                 commits.py          one transaction a chunk, which first looks at the state's number
    held, applied         state.py            from memory where that is trusted

Every commit moves the number of the table's state from what was read, so of two consumers one is first.  A
batch of more than one commit appears in parts, and what is applied is committed with the last of them: the
number has moved, so who comes behind a crash reads the state again, and the parts that are there change
nothing when they come again.  Safe for many threads.
"""

import threading
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from uuid import uuid4

import pyarrow.parquet as pq

from wrackline.consumers.contract.direct import DirectChanges
from wrackline.consumers.contract.identifiers import NAME_RESERVED
from wrackline.consumers.contract.plan import Applied, Deletes, MergePlan, PlannedColumn, TableMode
from wrackline.consumers.contract.target import (
    Alteration,
    Capabilities,
    MergeStyle,
    UpkeepResult,
)
from wrackline.consumers.newest.plain_columns import plan_of_changes
from wrackline.consumers.staged.carriers import DriverCarrier
from wrackline.consumers.staged.merge import staged_columns
from wrackline.consumers.staged.places import StagedLayout, StagedPlace, read_layout
from wrackline.consumers.staged.service import UPKEEP_MS, CarriedFiles, Carrier, CarriesChanges, carry_frame
from wrackline.consumers.staged.shape import StagedShape, first_shape, reshape_columns
from wrackline.consumers.staged.state import StagedState, StateMemory, check_made, check_types, read_state
from wrackline.consumers.staged.target import (
    NAME_TAKEN,
    PLACE_TAKEN,
    REPLACED,
    SEQUENCE_OF_FIELDS,
    SHAPE_MOVED,
    STATE_MOVED,
    TABLE_GONE,
    TRUST_S,
)
from wrackline.consumers.targets.spanner.check import find_problems
from wrackline.consumers.targets.spanner.chunks import ChunkLimits, cut
from wrackline.consumers.targets.spanner.commits import SpannerChunk, SpannerCommits
from wrackline.consumers.targets.spanner.letters import SpannerLetters
from wrackline.consumers.targets.spanner.refusals import SEQUENCE_REFUSED, spanner_error
from wrackline.consumers.targets.spanner.rows import RowMerge, read_rows
from wrackline.consumers.targets.spanner.session import SCAN_S, SpannerSession, is_ours, open_session
from wrackline.consumers.targets.spanner.texts import (
    MADE,
    add_column,
    create_table,
    create_view,
    drop_column,
    fill_column,
    path,
)
from wrackline.consumers.targets.spanner.types import (
    DIALECT,
    legal,
    physical,
    quoted,
    shows_places,
    span_places,
)
from wrackline.consumers.targets.spanner.upkeep import upkeep
from wrackline.consumers.targets.spanner.versions import VersionMerge
from wrackline.schemas.errors import Transient
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Frame = TypeVar("Frame")

_READ_ROWS: Final = 2000  # of a file at once


def open_spanner(settings: Values, trust_s: float = TRUST_S) -> "SpannerTarget[DataFrame]":
    """Connect once, so that wrong settings are found before anything is read."""
    layout, rights = read_layout(settings, DIALECT.identifiers), settings.text("target.view.security")
    return SpannerTarget(open_session(settings), layout, DriverCarrier(), rights, trust_s=trust_s)


@dataclass(frozen=True, slots=True)
class SpannerBatch:
    """A batch on its way."""

    files: CarriedFiles


class SpannerTarget(Generic[Frame]):
    """The tables of one pipeline in one database."""

    def __init__(
        self,
        session: SpannerSession,
        layout: StagedLayout,
        carrier: Carrier[Frame],
        rights: str,
        limits: ChunkLimits | None = None,
        trust_s: float = TRUST_S,
    ) -> None:
        self._session, self._layout, self._carrier, self._rights = session, layout, carrier, rights
        self._limits = limits or ChunkLimits()
        self._commits = SpannerCommits(session, layout.letters.schema, self._limits)
        self._memory = StateMemory(trust_s)
        self._lock = threading.Lock()
        self._staged: dict[TableId, SpannerBatch] = {}
        self.letters = SpannerLetters(session, layout, self._guard)
        self.can = Capabilities(
            identifiers=DIALECT.identifiers,
            native=DIALECT.native,
            most_decimal_digits=DIALECT.most_decimal_digits,
            merge=MergeStyle.MERGE,
            deletes=frozenset(Deletes),
            transactional_ddl=False,
            renames=True,
            drops=True,
            widens=DIALECT.widens,
            modes=frozenset(TableMode),
            upkeep_ms=UPKEEP_MS,
            whole=False,
            limits=DIALECT.limits,
        )

    def held(self, table: TableId) -> tuple[PlannedColumn, ...] | None:
        """Return the columns that we made, whatever was done to them by hand."""
        with self._guard(table, "a look at the shape"):
            state = self._state(table)
        return None if state is None else tuple(one.column for one in state.shape.columns)

    def ensure_table(self, plan: MergePlan) -> None:
        """Create state, table and view, in this order, or finish what a crash left of them."""
        table, place = plan.table.id, self._layout.place(plan.table.id)
        _check_sequence(plan, path(place.view))
        with self._guard(table, "the creation"):
            state = self._state(table)
            if state is None:
                state = self._create(plan, place)
            check_made(state, plan, self._commits.names(place))
            if state.shape.leaving:  # a session that is about to keep one of these places is refused
                state = self._move(place, state, state.then(), "a change of shape")
            self._finish(state, place)

    def alter(self, plan: MergePlan, changes: Sequence[Alteration]) -> None:
        """Add columns, and fill second places, which may be repeated; move the state; show the new shape."""
        table, place = plan.table.id, self._layout.place(plan.table.id)
        check_types(table, changes, self._commits.names(place))
        with self._guard(table, "a change of shape"):
            state = self._needed(table)
            reshaping = reshape_columns(state.shape, plan, changes, DIALECT, state.number)
            _check_places(reshaping.shape, plan)
            if reshaping.added:  # a crash leaves no column that the state does not name
                announced = state.then(shape=reshaping.announced(state.shape))
                state = self._move(place, state, announced, "a change of shape")
            self._session.reshape(
                add_column(place.table, one.place, physical(one.type)) for one in reshaping.added
            )
            for new, old in reshaping.filled:
                self._session.change(fill_column(place.table, new, old))
            if reshaping.shape != state.shape:
                state = self._move(place, state, state.then(shape=reshaping.shape), "a change of shape")
            self._finish(state, place)

    def stage(self, frame: Frame, plan: MergePlan) -> SpannerBatch:
        """Write the batch to files of this machine; an earlier batch that was not merged goes."""
        self._forget_staged(plan.table.id)
        columns, view = staged_columns(plan, DIALECT), path(self._layout.place(plan.table.id).view)
        return self._hold(carry_frame(self._carrier, frame, plan, columns, view), plan)

    def begin_direct(self, plan: MergePlan) -> "SpannerTarget[Frame] | None":
        """Merge changes that are in Arrow, where the carrier takes them."""
        plain = plan.mode is TableMode.UPSERT and not plan.keyless and not plan.told_late
        return self if plain and isinstance(self._carrier, CarriesChanges) else None

    def merge(self, changes: DirectChanges, plan: MergePlan) -> bool:
        """Stage and apply them; False: only Spark can."""
        if not isinstance(self._carrier, CarriesChanges):
            return False
        plan = plan_of_changes(changes, plan)
        self._forget_staged(plan.table.id)
        files = self._carrier.carry_changes(changes, plan, staged_columns(plan, DIALECT))
        if files is not None:
            self.apply(self._hold(files, plan), plan)
        return files is not None

    def apply(self, staged: SpannerBatch, plan: MergePlan) -> None:
        """Merge rows, chunk by chunk, and offsets with the last (INV-5, INV-7)."""
        table, place = plan.table.id, self._layout.place(plan.table.id)
        with self._guard(table, "the merge of a batch"):
            state = self._needed(table)
            plan.check_follows(state.applied, path(place.table))
            if not {column.target for column in plan.columns} <= set(state.shape.places()):
                raise SHAPE_MOVED(table=table)
            applied = state.applied.then(plan.upto)
            void = frozenset[tuple[str, ...]]()
            if applied.floor is not None and applied.floor != state.applied.floor:
                void = self._commits.void(place, state.shape, applied.floor)
            rules = VersionMerge if plan.mode is TableMode.HISTORY else RowMerge
            merge = rules(plan, state.shape)
            rows = read_rows(_staged_rows(staged.files), plan, applied.floor)
            for chunk, is_last in cut(rows, merge.mutations, self._limits):
                if chunk or applied != state.applied:
                    part = SpannerChunk(merge, chunk, void)
                    state = self._commits.merge(place, state, part, applied if is_last else None)
                    void = frozenset()
            self._memory.put(table, state)
        self._forget_staged(table)

    def applied(self, table: TableId) -> Applied:
        """Return what was committed with the table's rows."""
        with self._guard(table, "a look at what is applied"):
            state = self._state(table)
        return Applied() if state is None else state.applied

    def upkeep(self, table: TableId, *, forget_before_ms: int) -> UpkeepResult:
        """Forget old tombstones; a table that is not there needs no upkeep."""
        with self._guard(table, "the upkeep"):
            state = self._state(table)
            if state is None:
                return UpkeepResult()
            place = self._layout.place(table)
            return upkeep(self._session, place, state.shape, forget_before_ms=forget_before_ms)

    def drop(self, table: TableId) -> bool:
        """Drop view, letters and table with its indexes, and last what says whose they were."""
        place, session = self._layout.place(table), self._session
        with self._guard(table, "the removal"):
            if self._read(table) is None:
                return False
            self._forget_staged(table)
            self._memory.forget(table)
            self.letters.forget(table)
            views = [f"DROP VIEW {path(place.view)}"] if session.made(place.view) is not None else []
            tables = [f"DROP TABLE {path(place.table)}"] if session.made(place.table) is not None else []
            indexes = [f"DROP INDEX {path(one)}" for one in session.indexes(place.table)]
            session.reshape([*views, *indexes, *tables])
            self._commits.forget(place)
        return True

    def set_aside(self, table: TableId, suffix: str) -> str | None:
        """Tables keep their names here."""
        del table, suffix
        return None

    def count(self, table: TableId) -> int:
        """Count them in the view."""
        with self._guard(table, "a count of its rows"):
            if self._state(table) is None:
                return 0
            view = path(self._layout.place(table).view)
            text = f"SELECT COUNT(*) FROM {view} AS v"  # noqa: S608 - the name is quoted
            ((rows,),) = self._session.ask(text, within_s=SCAN_S)
        return int(rows)

    def read(self, table: TableId) -> Sequence[Sequence[object]]:
        """Read the view; the client shows bytes as base64."""
        with self._guard(table, "a look at its rows"):
            state = self._state(table)
            if state is None:
                return ()
            names = ", ".join(f"v.{quoted(one.column.target)}" for one in state.shape.columns)
            view = path(self._layout.place(table).view)
            rows = self._session.ask(f"SELECT {names} FROM {view} AS v")  # noqa: S608 - the names are quoted
        return [[b64decode(one) if isinstance(one, bytes) else one for one in row] for row in rows]

    def check(self, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Look at the database and the tables."""
        with self._guard(None, "the check"):
            places = [(self._layout.place(table), self._read(table) is not None) for table in tables]
            return list(find_problems(self._session, places))

    def close(self) -> None:
        """Remove what was staged and not applied, and end every session."""
        with self._lock:
            tables = list(self._staged)
        try:
            for table in tables:
                self._forget_staged(table)
        finally:
            self._session.close()

    def _hold(self, files: CarriedFiles, plan: MergePlan) -> SpannerBatch:
        batch = SpannerBatch(files)
        with self._lock:
            self._staged[plan.table.id] = batch
        return batch

    def _create(self, plan: MergePlan, place: StagedPlace) -> StagedState:
        """Begin a table; what says so comes first, so that no stranger's table is taken for it."""
        table, session = plan.table.id, self._session
        fresh = StagedState(table, first_shape(plan, DIALECT))
        _check_places(fresh.shape, plan)
        left = self._read(table)
        if left is None:
            there = [one for one in (place.table, place.view) if session.made(one) is not None]
            if there and self._read(table) is None:  # else another session is making them
                raise NAME_TAKEN(place=path(there[0]))
            session.make_schemas((place.table.schema, place.view.schema))
            self._commits.begin(place, fresh)
            left = fresh
        if left.made is not None:  # somebody has dropped the table, or another session has just made it
            if session.made(place.table) is not None:
                raise STATE_MOVED(place=path(place.table), doing="the creation")
            left = self._move(place, left, replace(fresh, number=left.number + 1), "the creation")
        session.reshape([create_table(place.table, left.shape, uuid4().hex)])
        made = session.made(place.table)
        if not is_ours(made):
            raise NAME_TAKEN(place=path(place.table))
        return self._move(place, left, left.then(made=made), "the creation")

    def _finish(self, state: StagedState, place: StagedPlace) -> None:
        """Show the shape of the state, and drop the columns that it does not have any more."""
        if state.shape.shown:
            return
        there = self._session.columns(place.table) if state.shape.leaving else frozenset()
        drops = [drop_column(place.table, name) for name in state.shape.leaving if name in there]
        self._session.reshape([create_view(place.view, place.table, state.shape, self._rights), *drops])
        after = state.then(shape=replace(state.shape, leaving=(), shown=True))
        try:
            self._move(place, state, after, "a change of shape")
        except Transient as error:
            if error.code == STATE_MOVED.code:
                self._ask_for_view(state.source, place)
            raise

    def _ask_for_view(self, table: TableId, place: StagedPlace) -> None:
        """Let the state say that its view is to be shown: ours may have replaced a newer one."""
        while (state := self._read(table)) is not None and state.shape.shown:
            with suppress(Transient):  # another session has moved it meanwhile
                self._move(
                    place, state, state.then(shape=replace(state.shape, shown=False)), "a change of shape"
                )

    def _move(self, place: StagedPlace, before: StagedState, after: StagedState, doing: str) -> StagedState:
        self._commits.move(place, before, after, doing)
        self._memory.put(after.source, after)
        return after

    def _needed(self, table: TableId) -> StagedState:
        state = self._state(table)
        if state is None:
            raise TABLE_GONE(table=table)
        return state

    def _state(self, table: TableId) -> StagedState | None:
        """Return what is kept about a table that is there."""
        trusted = self._memory.get(table)
        if trusted is not None:
            return trusted
        state, place = self._read(table), self._layout.place(table)
        if state is None or state.made is None:
            return None
        made = self._session.made(place.table)
        if made is None:
            return None
        if made != state.made:
            names = self._commits.names(place)  # its view is gone, or the table could not have been dropped
            drop = f"DROP TABLE {names.table}"
            raise REPLACED(place=names.table, state=names.state, drop=drop, table=table)
        self._memory.put(table, state)
        return state

    def _read(self, table: TableId) -> StagedState | None:
        """Read the state, which must not be another table's; a table that is gone may have one."""
        place = self._layout.place(table)
        row = self._commits.read(place)
        if row is None:
            return None
        state = read_state(row, self._commits.names(place))
        if state.source != table:
            raise PLACE_TAKEN(place=path(place.table), other=state.source, table=table)
        return state

    def _forget_staged(self, table: TableId) -> None:
        with self._lock:
            staged = self._staged.pop(table, None)
        if staged is not None:
            self._carrier.forget(staged.files)

    @contextmanager
    def _guard(self, table: TableId | None, doing: str) -> Iterator[None]:
        """After an error nothing about the table is trusted."""
        try:
            yield
        except BaseException as exc:
            if table is not None:
                self._memory.forget(table)
            place = "the target" if table is None else path(self._layout.place(table).view)
            refusal = spanner_error(exc, doing=doing, place=place) if isinstance(exc, Exception) else None
            if refusal is not None:
                raise refusal from None
            raise


def _staged_rows(files: CarriedFiles) -> Iterator[Mapping[str, Any]]:
    """Read a batch's files, some rows at a time."""
    for address in files.addresses:
        with pq.ParquetFile(address) as file:
            for batch in file.iter_batches(_READ_ROWS):
                yield from batch.to_pylist()


def _check_sequence(plan: MergePlan, view: str) -> None:
    """Refuse a feed whose sequence a view can't show as one value."""
    shown = plan.ours.shown
    if shown is None:
        return
    if shown.is_struct:
        raise SEQUENCE_OF_FIELDS(table=plan.table.id, place=view)
    ((_, of),) = shown.fields
    if of.kind is Kind.DECIMAL and not shows_places(of):
        found = f"decimal({of.precision}, {of.scale})"
        raise SEQUENCE_REFUSED(table=plan.table.id, found=found)


def _check_places(shape: StagedShape, plan: MergePlan) -> None:
    """Refuse a column that would have the name of one of ours, whose underscores Spanner does not allow."""
    ours = plan.ours
    names = [shape.key_place, ours.seq, ours.op, ours.deleted, ours.missing, ours.commit_ts]
    if shape.mode is TableMode.HISTORY:
        spans = span_places(ours)
        names += [ours.row, ours.unsent, *spans, *(f"{one}_at" for one in spans)]
    taken = {legal(name).lower() for name in names}
    prefix = legal(ours.seq).removesuffix("seq")
    for one in shape.of_source:
        its = {one.place.lower(), one.column.target.lower()}
        if its & taken or any(name.startswith(MADE) for name in its):
            raise NAME_RESERVED(column=repr(one.column.source), table=plan.table.id, prefix=prefix)
