"""The target itself: each promise of the contract is one transaction here.

    stage     a connection of its own, a temporary table in it, COPY
    apply     lock what we keep about the table, void, update, insert, write the offsets, COMMIT

Two drivers: the second waits at the lock for `target.lock.timeout.ms`, then continues (what it brings is
older or the same, so it changes nothing and moves nothing back) or is refused with `pg_target.busy`.
Safe for many threads: each call works on a connection that no other call has meanwhile.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

import psycopg
from psycopg import sql

from wrackline.consumers.contract.modes import MADE_OTHERWISE, OTHER_MODE
from wrackline.consumers.contract.plan import Applied, Deletes, MergePlan, PlannedColumn, TableMode
from wrackline.consumers.contract.target import Alteration, Capabilities, MergeStyle, SparkNeeds, UpkeepResult
from wrackline.consumers.targets.postgres import check
from wrackline.consumers.targets.postgres.applied import PgTargetState, PgTargetStateTable
from wrackline.consumers.targets.postgres.apply import apply_rows
from wrackline.consumers.targets.postgres.catalog import relation
from wrackline.consumers.targets.postgres.config import SETTINGS
from wrackline.consumers.targets.postgres.connect import (
    Connect,
    Connection,
    PgTargetConnections,
    PgTargetServer,
)
from wrackline.consumers.targets.postgres.letters import CREATING, PgTargetLetters
from wrackline.consumers.targets.postgres.refusals import statement_error
from wrackline.consumers.targets.postgres.sql.merge import STAGE
from wrackline.consumers.targets.postgres.sql.place import IDENTIFIERS, PgTargetLayout, PgTargetPlace
from wrackline.consumers.targets.postgres.sql.types import WIDENS_BY_REWRITING, WIDENS_IN_PLACE
from wrackline.consumers.targets.postgres.stage import PgTargetStaged, fill
from wrackline.consumers.targets.postgres.table import (
    create_table,
    is_own_view,
    loosen_key,
    rename_table,
    reshape_table,
)
from wrackline.consumers.targets.postgres.upkeep import upkeep
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.language.findings import Finding, Severity
from wrackline.schemas.pipelines.lineage_names import Located
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.evolution import ChangeType, Widening
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import MOST_DIGITS, Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Frame = TypeVar("Frame")

PLACE_TAKEN = define(
    "pg_target.place_taken",
    OperatorNeeded,
    "{place} of the target already belongs to {other}, so {table} can't be written there",
    hint='give them schemas of their own: target.schema = "{{database}}_{{schema}}"; or leave one out',
)
NAME_TAKEN = define(
    "pg_target.name_taken",
    OperatorNeeded,
    "{place} is there in the target and is not ours",
    hint='choose another schema: target.schema = "copy_of_{{schema}}"; or rename what is there',
)
TABLE_GONE = define(
    "pg_target.table_gone",
    Transient,
    "the target's table for {table} is gone",
    hint="it is made again, and built from what its topic still holds; for rows that it does not hold:"
    " wrackline snapshot start <pipeline.toml> '{table}'",
)
IN_THE_WAY = define(
    "pg_target.in_the_way",
    OperatorNeeded,
    "{doing} of {table} in the target ended, because {what}",
    hint="{fix}",
)
_EXPLAINED = (  # refusals whose reason the check can see: what was done by hand, and rights
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedTable,
    psycopg.errors.WrongObjectType,
    psycopg.errors.DataError,
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.ReadOnlySqlTransaction,
)
SHAPE_MOVED = define(
    "pg_target.shape_moved",
    Transient,
    "another session changed the shape of {table} in the target while a batch was being merged",
    hint="the batch is done again for the new shape; if this keeps happening, stop the second driver"
    " of the pipeline",
)
TYPE_CHANGED = define(
    "pg_target.type_changed",
    OperatorNeeded,
    "column {column} of {place} is {old} and can't become {new} with the values it has",
    hint="read it again into a new table: DROP TABLE {place} CASCADE;"
    " then: wrackline snapshot start <pipeline.toml> '{table}'",
)


class PgTarget(Generic[Frame]):
    """Tables in one PostgreSQL database; `lines` writes a frame as blocks of COPY lines."""

    can = Capabilities(
        identifiers=IDENTIFIERS,
        native=frozenset(Kind),  # each has a type here; where it is text or bytes, it was before
        most_decimal_digits=MOST_DIGITS,
        merge=MergeStyle.MERGE,
        deletes=frozenset(Deletes),
        transactional_ddl=True,
        renames=True,
        drops=True,
        widens=WIDENS_IN_PLACE | WIDENS_BY_REWRITING,
        modes=frozenset(TableMode),
        sets_aside=True,
        unheld="\0",
    )

    def __init__(
        self, connect: Connect, layout: PgTargetLayout, lines: Callable[[Frame, MergePlan], Iterable[str]]
    ) -> None:
        self._connections = PgTargetConnections(connect)
        self._layout = layout
        self._book = PgTargetStateTable(layout)
        self.letters = PgTargetLetters(layout, self._session)
        self._lines = lines
        self._lock = threading.Lock()
        self._staged: dict[TableId, PgTargetStaged] = {}

    def held(self, table: TableId) -> tuple[PlannedColumn, ...] | None:
        """Return the columns that we made, whatever was done to them by hand."""
        with self._session(table, "a look at the shape") as connection:
            kept = self._state(connection, table)
        return None if kept is None else kept.shape.columns

    def ensure_table(self, plan: MergePlan) -> None:
        """Create table and view, and begin to keep what is applied."""
        table = plan.table.id
        place = self._layout.place(table)
        with self._session(table, "the creation") as connection:
            kept = self._state(connection, table)
            if kept is None:
                connection.execute("SELECT pg_advisory_xact_lock(%s)", [CREATING])
                kept = self._state(connection, table)  # another driver may have been faster
            if kept is not None:
                _check_made(kept, plan, place)
                if loosen_key(connection, plan, place):
                    connection.commit()
                return
            if relation(connection, place.schema, place.name) is not None:
                raise NAME_TAKEN(place=place.view.as_string(connection))
            shape = create_table(connection, plan, place)
            self._book.create(connection)
            self._book.insert(connection, place, table, shape)
            connection.commit()

    def alter(self, plan: MergePlan, changes: Sequence[Alteration]) -> None:
        """Change table, view and what we keep of their shape in one transaction."""
        table = plan.table.id
        place = self._layout.place(table)
        for change in changes:
            if isinstance(change, ChangeType) and change.widening is Widening.OTHER:
                raise TYPE_CHANGED(
                    column=repr(change.name),
                    place=place.table.as_string(),
                    old=change.old.source,
                    new=change.new.source,
                    table=table,
                )
        with self._session(table, "a change of shape") as connection:
            kept = self._locked(connection, table)
            shape = reshape_table(connection, plan, place, kept.shape, changes)
            self._book.reshape(connection, place, shape)
            connection.commit()

    def stage(self, frame: Frame, plan: MergePlan) -> PgTargetStaged:
        """Copy a batch into a table that only its connection sees; an earlier batch of the table ends."""
        table = plan.table.id
        self._end_staged(table)
        connection = self._connections.take()
        try:
            staged = fill(connection, self._lines(frame, plan), plan)
        except psycopg.Error as exc:
            connection.close()
            raise self._refusal(exc, table, "the staging of a batch", plan) from None
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._staged[table] = staged
        return staged

    def apply(self, staged: PgTargetStaged, plan: MergePlan) -> None:
        """Merge rows and offsets in one transaction (INV-5, INV-7)."""
        table = plan.table.id
        try:
            self._merge(staged, plan)
        except psycopg.Error as exc:
            self._end_staged(table)
            raise self._refusal(exc, table, "the merge of a batch", plan) from None
        except BaseException:
            self._end_staged(table)
            raise
        with self._lock:
            self._staged.pop(table, None)
        self._connections.give_back(staged.connection)

    def _merge(self, staged: PgTargetStaged, plan: MergePlan) -> None:
        table, connection = plan.table.id, staged.connection
        place = self._layout.place(table)
        kept = self._locked(connection, table)
        plan.check_follows(kept.applied, place.table.as_string(connection))
        if not {column.target for column in plan.columns} <= {one.target for one in kept.shape.columns}:
            raise SHAPE_MOVED(table=table)
        after = kept.applied.then(plan.upto)
        apply_rows(staged, plan, place, kept, after)
        self._book.advance(connection, place, after)
        connection.execute(sql.SQL("DROP TABLE {}").format(STAGE))
        connection.commit()

    def applied(self, table: TableId) -> Applied:
        """Return what was committed with the table's rows."""
        with self._session(table, "a look at what is applied") as connection:
            kept = self._state(connection, table)
        return Applied() if kept is None else kept.applied

    def upkeep(self, table: TableId, *, forget_before_ms: int) -> UpkeepResult:
        """Forget old tombstones; a table that is not there needs no upkeep."""
        place = self._layout.place(table)
        with self._session(table, "the upkeep") as connection:
            kept = self._state(connection, table)
            return UpkeepResult() if kept is None else upkeep(connection, place, kept.shape, forget_before_ms)

    def drop(self, table: TableId) -> bool:
        """Drop view, table and what we keep of them in one transaction; a view of others prevents it."""
        place = self._layout.place(table)
        with self._session(table, "the removal") as connection:
            if self._state(connection, table, lock=True) is None:
                return False
            if is_own_view(connection, place):
                connection.execute(sql.SQL("DROP VIEW {}").format(place.view))
            connection.execute(sql.SQL("DROP TABLE {}").format(place.table))
            self._book.forget(connection, place)
            self.letters.forget(connection, place)
            connection.commit()
        return True

    def count(self, table: TableId) -> int:
        """Count them in the view."""
        place = self._layout.place(table)
        with self._session(table, "a count of its rows") as connection:
            if self._state(connection, table) is None:
                return 0
            ((rows,),) = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(place.view))
        return int(rows)

    def read(self, table: TableId) -> Sequence[Sequence[object]]:
        """Read the view."""
        names = [sql.Identifier(one.target) for one in self.held(table) or ()]
        if not names:
            return ()
        query = sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(names), self._layout.place(table).view)
        with self._session(table, "a look at its rows") as connection:
            return connection.execute(query).fetchall()

    def set_aside(self, table: TableId, suffix: str) -> str | None:
        """Rename view, table and the key's index, and forget them, in one transaction."""
        with self._session(table, "the renaming") as connection:
            if self._state(connection, table, lock=True) is None:
                return None
            place = self._layout.place(table)
            new = rename_table(connection, place, table.name, suffix)
            self._book.forget(connection, place)
            connection.commit()
        return new.view.as_string()

    def check(self, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Look at the server, the role's rights, and each table."""
        places = {table: self._layout.place(table) for table in tables}
        with self._session(None, "the check") as connection:
            findings = list(check.server_findings(connection, list(places.values())))
            if any(found.severity is Severity.ERROR for found in findings):
                return findings  # without rights the tables can't be looked at
            for table, place in places.items():
                kept = self._book.read(connection, place)
                findings += check.table_findings(connection, table, place, kept)
        return findings

    def close(self) -> None:
        """End every connection, with the batches that were staged and not applied."""
        with self._lock:
            tables = list(self._staged)
        for table in tables:
            self._end_staged(table)
        self._connections.close()

    def _state(self, connection: Connection, table: TableId, *, lock: bool = False) -> PgTargetState | None:
        """Return what we keep about a table; its place must not be another table's."""
        place = self._layout.place(table)
        kept = self._book.read(connection, place, lock=lock)
        if kept is not None and kept.source != table:
            raise PLACE_TAKEN(place=place.view.as_string(), other=kept.source, table=table)
        return kept

    def _locked(self, connection: Connection, table: TableId) -> PgTargetState:
        """Lock a table against every other driver until the transaction ends."""
        kept = self._state(connection, table, lock=True)
        if kept is None:
            raise TABLE_GONE(table=table)
        return kept

    @contextmanager
    def _session(self, table: TableId | None, doing: str) -> Iterator[Connection]:
        """Lend a connection; what was not committed when it comes back is undone."""
        connection = self._connections.take()
        try:
            yield connection
            self._connections.give_back(connection)
        except psycopg.Error as exc:
            connection.close()
            raise self._refusal(exc, table, doing) from None
        except BaseException:
            connection.close()
            raise

    def _end_staged(self, table: TableId) -> None:
        with self._lock:
            staged = self._staged.pop(table, None)
        if staged is not None:
            staged.connection.close()

    def _refusal(
        self, exc: psycopg.Error, table: TableId | None, doing: str, plan: MergePlan | None = None
    ) -> Exception:
        """Say what a refused statement means; where the check can see the reason, it says so."""
        if table is not None and isinstance(exc, _EXPLAINED):
            errors = [found for found in self.check([table]) if found.severity is Severity.ERROR]
            if errors:
                what, fix = errors[0].description, errors[0].suggestion
                return IN_THE_WAY(table=table, doing=doing, what=what, fix=fix)
        place = "the database" if table is None else self._layout.place(table).view.as_string()
        columns = () if plan is None else [repr(column.source) for column in plan.columns]
        return statement_error(exc, doing=doing, place=place, columns=columns)


def _check_made(kept: PgTargetState, plan: MergePlan, place: PgTargetPlace) -> None:
    table = place.table.as_string()
    drop = f"DROP TABLE {table} CASCADE"
    if kept.shape.mode is not plan.mode:
        raise OTHER_MODE(
            target=table,
            made=kept.shape.mode.value,
            wanted=plan.mode.value,
            drop=drop,
            table=plan.table.id,
        )
    if kept.shape.ours != plan.ours:
        raise MADE_OTHERWISE(target=table, drop=drop, table=plan.table.id)


class PgTargetPlugin:
    """What this folder offers."""

    kind = "postgres"
    settings = SETTINGS

    def needs(self, settings: Values) -> SparkNeeds:
        """Spark needs nothing of its own for this target."""
        del settings
        return SparkNeeds()

    def open(self, settings: Values, spark: "SparkSession") -> "PgTarget[DataFrame]":
        """Connect once, so that wrong settings are found before anything is read."""
        from wrackline.consumers.targets.postgres.copy_lines import copy_lines  # noqa: PLC0415 - settings need no PySpark

        del spark  # a frame brings the session that it lives in
        layout = PgTargetLayout(settings.text("target.schema"), settings.text("target.storage.schema"))
        server = PgTargetServer(settings)
        server.connect().close()
        return PgTarget(server.connect, layout, copy_lines)

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where readers find a table."""
        layout = PgTargetLayout(settings.text("target.schema"), settings.text("target.storage.schema"))
        place, database = layout.place(table), settings.text("target.dbname")
        host, port = settings.text("target.hostname"), settings.integer("target.port")
        return Located(f"postgres://{host}:{port}", f"{database}.{place.schema}.{place.name}")


PLUGIN = PgTargetPlugin()
