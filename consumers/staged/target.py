"""The target itself: each promise of the contract, by the module that keeps it.

    ensure_table, alter   shape.py, view.py   statement by statement, each of which may be repeated
    stage                 the carrier's files, loaded into a table of the batch's own
    apply                 merge.py            one transaction, which first moves the state
    held, applied         state.py            from memory where that is trusted

The state is written before what follows from it (a view, a column that goes), and says that this is still to
be done; `ensure_table` and `alter` finish it.  Where a service commits each change of a table by itself, the
state first names the columns that are about to be added as such that are to go, so that a crash leaves none
which nobody knows.  Safe for many threads: each call works in a session that no
other call has meanwhile.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from wrackline.consumers.contract.direct import DirectChanges
from wrackline.consumers.contract.plan import Applied, Deletes, MergePlan, PlannedColumn, TableMode
from wrackline.consumers.contract.target import (
    Alteration,
    Capabilities,
    MergeStyle,
    UpkeepRemoval,
    UpkeepResult,
)
from wrackline.consumers.newest.plain_columns import plan_of_changes
from wrackline.consumers.staged.letters import StagedLetters
from wrackline.consumers.staged.merge import StageColumn, StagedMerge, staged_columns
from wrackline.consumers.staged.places import StagedLayout, StagedPlace, new_mark
from wrackline.consumers.staged.service import (
    UPKEEP_MS,
    CarriedFiles,
    Carrier,
    CarriesChanges,
    ClosesService,
    KeepsColumns,
    KeepsGrants,
    StagedService,
    StagedSession,
    StagedSessions,
    StageTable,
    carry_frame,
    load_stage,
    make_schemas,
)
from wrackline.consumers.staged.shape import drop_column, empty_column, first_shape, reshape_columns
from wrackline.consumers.staged.state import (
    StagedState,
    StateMemory,
    check_made,
    check_types,
    first_state,
    read_state,
    removal,
    state_move,
    state_names,
)
from wrackline.consumers.staged.upkeep import forget_stages, upkeep
from wrackline.consumers.staged.versions import StagedVersions
from wrackline.consumers.staged.view import create_view, read_view
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, define
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.tables.table import TableId

Frame = TypeVar("Frame")

TRUST_S: Final = 600.0

PLACE_TAKEN = define(
    "staged.place_taken",
    OperatorNeeded,
    "{place} of the target already belongs to {other}, so {table} can't be written there",
    hint='give them schemas of their own: target.schema = "{{database}}_{{schema}}"; or leave one out',
)
NAME_TAKEN = define(
    "staged.name_taken",
    OperatorNeeded,
    "{place} is there in the target and is not ours",
    hint='choose another schema: target.schema = "copy_of_{{schema}}"; or rename what is there',
)
TABLE_GONE = define(
    "staged.table_gone",
    Transient,
    "the target's table for {table} is gone",
    hint="it is made again, and built from what its topic still holds; for rows that it does not hold:"
    " wrackline snapshot start <pipeline.toml> '{table}'",
)
REPLACED = define(
    "staged.replaced",
    OperatorNeeded,
    "{place} is another table than the one that {state} was kept about",
    hint="what it holds is not known to be what was applied; start over: {drop}; then:"
    " wrackline snapshot start <pipeline.toml> '{table}'",
)
STATE_MOVED = define(
    "staged.moved",
    Transient,
    "another session has changed {place} of the target meanwhile; nothing of {doing} was kept",
    hint="the next round continues from there; if it happens again and again, stop the second consumer",
)
SHAPE_MOVED = define(
    "staged.shape_moved",
    Transient,
    "another session changed the shape of {table} in the target while a batch was being merged",
    hint="the batch is done again for the new shape; if this keeps happening, stop the second driver"
    " of the pipeline",
)
SEQUENCE_OF_FIELDS = define(
    "staged.sequence_of_fields",
    Definite,
    "the versions of {table} are placed by several fields, and {place} would show one value in their place",
    hint="make one column of them in the flow's view, which sorts as they do, and name it:"
    " sequence_by='place'; for two whole numbers: lpad(first, 19, '0') || lpad(second, 19, '0') AS place",
)


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """A batch on its way; no stage: it has no rows."""

    mark: str
    stage: StageTable | None


class StagedTarget(Generic[Frame]):
    """The tables of one pipeline in one service."""

    def __init__(
        self,
        service: StagedService,
        layout: StagedLayout,
        carrier: Carrier[Frame],
        trust_s: float = TRUST_S,
    ) -> None:
        self._service, self._layout, self._carrier = service, layout, carrier
        self._dialect = service.dialect
        self._sessions = StagedSessions(service.session)
        self._memory = StateMemory(trust_s)
        self._lock = threading.Lock()
        self._staged: dict[TableId, StagedBatch] = {}
        self.letters = StagedLetters(service, layout, carrier, self._session)
        self.can = Capabilities(
            identifiers=self._dialect.identifiers,
            native=self._dialect.native,
            most_decimal_digits=self._dialect.most_decimal_digits,
            merge=MergeStyle.MERGE if self._dialect.conditional_merge else MergeStyle.DELETE_INSERT,
            deletes=frozenset(Deletes),
            transactional_ddl=self._dialect.transactional_ddl,
            renames=True,
            drops=True,
            widens=self._dialect.widens,
            modes=frozenset(TableMode),
            unheld=self._dialect.unheld,
            limits=self._dialect.limits,
            row_bytes=self._dialect.row_bytes,
            upkeep_ms=UPKEEP_MS,
        )

    def held(self, table: TableId) -> tuple[PlannedColumn, ...] | None:
        """Return the columns that we made, whatever was done to them by hand."""
        with self._session(table, "a look at the shape") as session:
            state = self._state(session, table)
        return None if state is None else tuple(one.column for one in state.shape.columns)

    def ensure_table(self, plan: MergePlan) -> None:
        """Create state, table and view, in this order, or finish what a crash left of them."""
        table, place = plan.table.id, self._layout.place(plan.table.id)
        if plan.ours.shown is not None and plan.ours.shown.is_struct:
            raise SEQUENCE_OF_FIELDS(table=table, place=self._dialect.path(place.view))
        with self._session(table, "the creation") as session:
            state = self._state(session, table)
            if state is None:
                state = self._create(session, plan, place)
            check_made(state, plan, state_names(place, self._dialect))
            if state.shape.leaving and not self._dialect.transactional_ddl:
                # a session that is about to keep one of these places is refused from here on
                state = self._move(session, place, state, state.then(), "a change of shape")
            self._finish(session, state, place)

    def alter(self, plan: MergePlan, changes: Sequence[Alteration]) -> None:
        """Add columns, move the state together with their values, then show the new shape."""
        table, place, dialect = plan.table.id, self._layout.place(plan.table.id), self._dialect
        path = dialect.path(place.table)
        check_types(table, changes, state_names(place, dialect))
        with self._session(table, "a change of shape") as session:
            state = self._needed(session, table)
            reshaping = reshape_columns(state.shape, plan, changes, dialect, state.number)
            additions, doing = list(reshaping.additions(path, dialect)), "a change of shape"
            if additions and not dialect.transactional_ddl:
                announced = state.then(shape=reshaping.announced(state.shape))
                state = self._move(session, place, state, announced, doing)
                for text in additions:
                    session.run(text)
                additions = []
            if reshaping.shape != state.shape:
                steps = [*additions, *reshaping.fillings(path, dialect)]
                state = self._move(session, place, state, state.then(shape=reshaping.shape), doing, steps)
            self._finish(session, state, place)

    def stage(self, frame: Frame, plan: MergePlan) -> StagedBatch:
        """Load a batch into a table of its own; an earlier batch of the table that was not merged goes."""
        self._forget_staged(plan.table.id)
        columns, view = staged_columns(plan, self._dialect), self._layout.place(plan.table.id).view
        files = carry_frame(self._carrier, frame, plan, columns, self._dialect.path(view))
        return self._load(files, plan, columns)

    def begin_direct(self, plan: MergePlan) -> "StagedTarget[Frame] | None":
        """Merge changes that are in Arrow, where the carrier takes them."""
        plain = plan.mode is TableMode.UPSERT and not plan.keyless and not plan.told_late
        return self if plain and isinstance(self._carrier, CarriesChanges) else None

    def merge(self, changes: DirectChanges, plan: MergePlan) -> bool:
        """Stage and apply them; False: only Spark can."""
        if not isinstance(self._carrier, CarriesChanges):
            return False
        columns, plan = staged_columns(plan, self._dialect), plan_of_changes(changes, plan)
        self._forget_staged(plan.table.id)
        files = self._carrier.carry_changes(changes, plan, columns)
        if files is not None:
            self.apply(self._load(files, plan, columns), plan)
        return files is not None

    def _load(self, files: CarriedFiles, plan: MergePlan, columns: tuple[StageColumn, ...]) -> StagedBatch:
        """Load files into a stage of their own."""
        table, place = plan.table.id, self._layout.place(plan.table.id)
        mark = new_mark()
        if not files.rows:
            return StagedBatch(mark, None)
        stage = StageTable(place.stage(mark), columns)
        batch = StagedBatch(mark, stage)
        with self._lock:
            self._staged[table] = batch
        try:
            with self._session(table, "the staging of a batch") as session:
                load_stage(self._service, session, stage, files, table)
        finally:
            self._carrier.forget(files)
        return batch

    def apply(self, staged: StagedBatch, plan: MergePlan) -> None:
        """Merge rows and offsets in one transaction (INV-5, INV-7)."""
        table, place = plan.table.id, self._layout.place(plan.table.id)
        with self._session(table, "the merge of a batch") as session:
            state = self._needed(session, table)
            plan.check_follows(state.applied, self._dialect.path(place.table))
            if not {column.target for column in plan.columns} <= set(state.shape.places()):
                raise SHAPE_MOVED(table=table)
            after = state.then(applied=state.applied.then(plan.upto))
            steps = self._steps(session, staged, plan, state, after.applied.floor)
            if steps or after.applied != state.applied:
                self._move(session, place, state, after, "the batch", steps, staged.mark)
        self._forget_staged(table)

    def applied(self, table: TableId) -> Applied:
        """Return what was committed with the table's rows."""
        with self._session(table, "a look at what is applied") as session:
            state = self._state(session, table)
        return Applied() if state is None else state.applied

    def upkeep(self, table: TableId, *, forget_before_ms: int) -> UpkeepResult:
        """Forget old tombstones and stages; a table that is not there needs no upkeep."""
        place = self._layout.place(table)
        with self._session(table, "the upkeep") as session:
            state = self._state(session, table)
            if state is None:
                return UpkeepResult()
            done = upkeep(self._service, session, place, state.shape, forget_before_ms=forget_before_ms)
            stages = forget_stages(self._service, session, place, self._layout)
        return replace(done, removed={**done.removed, UpkeepRemoval.FILES: stages})

    def drop(self, table: TableId) -> bool:
        """Drop view, letters and table, and last what says whose they were."""
        place = self._layout.place(table)
        with self._session(table, "the removal") as session:
            if self._read(session, table) is None:
                return False
            self._forget_staged(table)
            self._memory.forget(table)
            self.letters.forget(session, table)
            for text in removal(place, self._dialect):
                session.run(text)
        return True

    def set_aside(self, table: TableId, suffix: str) -> str | None:
        """Tables keep their names here."""
        del table, suffix
        return None

    def count(self, table: TableId) -> int:
        """Count them in the view."""
        with self._session(table, "a count of its rows") as session:
            state, view = self._state(session, table), self._dialect.path(self._layout.place(table).view)
            return 0 if state is None else int(session.rows(f"SELECT COUNT(*) FROM {view}")[0][0])  # noqa: S608 - the name is quoted

    def read(self, table: TableId) -> Sequence[Sequence[object]]:
        """Read the view."""
        with self._session(table, "a look at its rows") as session:
            state, view = self._state(session, table), self._dialect.path(self._layout.place(table).view)
            return () if state is None else session.rows(read_view(view, state.shape, self._dialect))

    def check(self, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Let the service look at itself and the tables."""
        with self._session(None, "the check") as session:
            return list(self._service.check(session, [self._layout.place(table) for table in tables]))

    def close(self) -> None:
        """Drop what was staged and not applied, and end every session, and the service behind them."""
        with self._lock:
            tables = list(self._staged)
        try:
            for table in tables:
                self._forget_staged(table)
        finally:
            self._sessions.close()
            if isinstance(self._service, ClosesService):
                self._service.close()

    def _steps(
        self,
        session: StagedSession,
        staged: StagedBatch,
        plan: MergePlan,
        state: StagedState,
        floor: str | None,
    ) -> list[str]:
        """Write the transaction behind the move of the state."""
        path = self._dialect.path
        table = path(self._layout.place(plan.table.id).table)
        stage = "" if staged.stage is None else path(staged.stage.relation)
        write = StagedVersions if plan.mode is TableMode.HISTORY else StagedMerge
        merge = write(plan, state.shape, self._dialect, table, stage, floor)
        steps = [merge.void()] if floor != state.applied.floor else []
        if staged.stage is None:
            return steps
        if isinstance(merge, StagedVersions):
            merge = merge.lacking(session.rows(merge.asks_for_unsent()))
        question = merge.asks_for_rows()
        all_new = question is not None and not session.rows(question)
        return [*steps, *merge.steps(all_new=all_new)]

    def _create(self, session: StagedSession, plan: MergePlan, place: StagedPlace) -> StagedState:
        """Begin a table; what says so comes first, so that no stranger's table is taken for it."""
        table, path = plan.table.id, self._dialect.path
        fresh = StagedState(table, first_shape(plan, self._dialect))
        left = self._read(session, table)
        if left is None:
            there = [one for one in (place.table, place.view) if self._service.made(session, one) is not None]
            if there and self._read(session, table) is None:  # else another session is making them
                raise NAME_TAKEN(place=path(there[0]))
            make_schemas(self._service, session, (place.table.schema, place.view.schema))
            session.run(first_state(fresh, path(place.state), self._dialect))
            left = self._read(session, table) or fresh
        if left.made is not None:  # somebody has dropped the table, or another session has just made it
            if self._service.made(session, place.table) is not None:
                raise STATE_MOVED(place=path(place.table), doing="the creation")
            left = self._move(session, place, left, replace(fresh, number=left.number + 1), "the creation")
        for text in self._service.create(place, left.shape):
            session.run(text)
        state = left.then(made=self._service.made(session, place.table))
        return self._move(session, place, left, state, "the creation")

    def _finish(self, session: StagedSession, state: StagedState, place: StagedPlace) -> None:
        """Show the shape of the state, and drop the columns that it does not have any more."""
        if state.shape.shown:
            return
        view, table = self._dialect.path(place.view), self._dialect.path(place.table)
        leaving, service = state.shape.leaving, self._service
        keeps = service if leaving and isinstance(service, KeepsColumns) else None
        kept = () if keeps is None else keeps.kept_columns(session, place.table)
        steps = [create_view(view, table, state.shape, self._dialect)]
        for name in leaving:
            end = empty_column if name in kept else drop_column
            steps.append(end(table, name, self._dialect))
        if self._dialect.transactional_ddl:
            grants = service.grants(session, place.view) if isinstance(service, KeepsGrants) else ()
            steps = [f"DROP VIEW IF EXISTS {view}", *steps, *grants]
        else:
            for text in steps:
                session.run(text)
            steps = []
        left = (*state.shape.husks, *(name for name in leaving if name in kept))
        after = state.then(shape=replace(state.shape, leaving=(), husks=left, shown=True))
        try:
            self._move(session, place, state, after, "a change of shape", steps)
        except Transient as error:
            if error.code == STATE_MOVED.code and not self._dialect.transactional_ddl:
                self._ask_for_view(session, state.source, place)
            raise

    def _ask_for_view(self, session: StagedSession, table: TableId, place: StagedPlace) -> None:
        """Let the state say that its view is to be shown: ours may have replaced a newer one."""
        is_kept = False
        while not is_kept:
            state = self._read(session, table)
            if state is None or not state.shape.shown:
                return
            after = state.then(shape=replace(state.shape, shown=False))
            move = state_move(state, after, self._dialect.path(place.state), self._dialect)
            is_kept = session.commit(move, (), new_mark())

    def _move(
        self,
        session: StagedSession,
        place: StagedPlace,
        before: StagedState,
        after: StagedState,
        doing: str,
        steps: Sequence[str] = (),
        name: str = "",
    ) -> StagedState:
        """Commit, unless another session was first; return the state after it."""
        move = state_move(before, after, self._dialect.path(place.state), self._dialect)
        if not session.commit(move, steps, name or new_mark()):
            raise STATE_MOVED(place=self._dialect.path(place.table), doing=doing)
        self._memory.put(after.source, after)
        return after

    def _needed(self, session: StagedSession, table: TableId) -> StagedState:
        state = self._state(session, table)
        if state is None:
            raise TABLE_GONE(table=table)
        return state

    def _state(self, session: StagedSession, table: TableId) -> StagedState | None:
        """Return what is kept about a table that is there."""
        trusted = self._memory.get(table)
        if trusted is not None:
            return trusted
        state, place = self._read(session, table), self._layout.place(table)
        if state is None or state.made is None:
            return None
        made = self._service.made(session, place.table)
        if made is None:
            return None
        if made != state.made:
            names = state_names(place, self._dialect)
            raise REPLACED(place=names.table, state=names.state, drop=names.drop, table=table)
        self._memory.put(table, state)
        return state

    def _read(self, session: StagedSession, table: TableId) -> StagedState | None:
        """Read the state, which must not be another table's; a table that is gone may have one."""
        place = self._layout.place(table)
        row = self._service.state_row(session, place.state)
        if row is None:
            return None
        state = read_state(row, state_names(place, self._dialect))
        if state.source != table:
            raise PLACE_TAKEN(place=self._dialect.path(place.table), other=state.source, table=table)
        return state

    def _forget_staged(self, table: TableId) -> None:
        with self._lock:
            staged = self._staged.pop(table, None)
        if staged is not None and staged.stage is not None:
            with self._session(table, "the end of a batch") as session:
                session.run(f"DROP TABLE IF EXISTS {self._dialect.path(staged.stage.relation)}")

    @contextmanager
    def _session(self, table: TableId | None, doing: str) -> Iterator[StagedSession]:
        """Lend a session; after an error nothing about the table is trusted."""
        try:
            with self._sessions.lend() as session:
                yield session
        except BaseException as exc:
            if table is not None:
                self._memory.forget(table)
            place = "the target" if table is None else self._dialect.path(self._layout.place(table).view)
            refusal = self._service.refusal(exc, doing, place) if isinstance(exc, Exception) else None
            if refusal is not None:
                raise refusal from None
            raise
