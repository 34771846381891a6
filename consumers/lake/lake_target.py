"""A target whose tables Spark writes: each promise of the contract, by the module that keeps it.

    ensure_table, held, alter   table_shape.py
    stage, apply                merge_sql.py
    rows                        reader_view.py
    letters                     letters_table.py
    upkeep                      lake_upkeep.py

What one format does in its own way, it does in its own folder (table_format.py).

What is read between batches is read in one session of the target's own; its commits do not say what is
applied.  A batch is staged and merged in its frame's session, which no other table may share.

Two writers can't both change rows over the same base, because the format refuses the second one's commit.
Where the first was an upkeep, the same batch is merged again at once, so that no upkeep costs a batch its
turn.  Where it was another driver, what is applied has changed, and the next round does the batch again.
"""

from collections.abc import Sequence
from functools import partial
from typing import Generic

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import TimestampType

from wrackline.consumers.contract.plan import SET_BACK, Applied, Deletes, MergePlan, PlannedColumn, TableMode
from wrackline.consumers.contract.target import Alteration, Capabilities, MergeStyle, UpkeepResult
from wrackline.consumers.lake import lake_upkeep, reader_view, table_shape
from wrackline.consumers.lake.column_types import WIDENS
from wrackline.consumers.lake.letters_table import SparkLetters
from wrackline.consumers.lake.merge_sql import StagedView, stage
from wrackline.consumers.lake.table_format import LakeTable, P, TableFormat, unless_overtaken
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import MOST_DIGITS, Kind

_TRIES = 3


class LakeTarget(Generic[P]):
    """The tables of one pipeline in one place."""

    def __init__(self, spark: SparkSession, form: TableFormat[P]) -> None:
        self._session, self._form = spark.newSession(), form
        self.letters = SparkLetters(spark, form.letters)
        self.can = Capabilities(
            identifiers=form.identifiers,
            native=frozenset(Kind),
            most_decimal_digits=MOST_DIGITS,
            merge=MergeStyle.MERGE,
            deletes=frozenset(Deletes),
            transactional_ddl=False,
            renames=True,
            drops=True,
            widens=WIDENS,
            modes=frozenset(TableMode),
            sets_aside=form.rename is not None,
        )

    def held(self, table_id: TableId) -> tuple[PlannedColumn, ...] | None:
        """Return the table's columns that came from the source."""
        table = self.find(table_id)
        return (
            None if table is None else table_shape.held_columns(self._session, table.name, table.properties)
        )

    def ensure_table(self, plan: MergePlan) -> None:
        """Create the table, or refuse one that the plan can't be merged into."""
        target = self._form.address(plan.table.id)
        properties = self._form.properties(self._session, target.name)
        if properties is None:
            self._form.create(self._session.newSession(), plan, target)
            properties = self._form.properties(self._session, target.name) or {}
        origin = table_shape.check_own(properties, plan.table.id, target)
        table_shape.check_matches_plan(origin, plan, target)

    def alter(self, plan: MergePlan, changes: Sequence[Alteration]) -> None:
        """Bring the table to the plan's shape, commit by commit; what a crash left is finished."""
        table = self.find(plan.table.id)
        if table is None:
            raise SET_BACK(target=self._form.address(plan.table.id).name)
        self._form.keep_progress(self._session, table)
        table_shape.alter(self._session, plan, changes, table.address, self._form.rules)

    def stage(self, frame: DataFrame, plan: MergePlan) -> StagedView:
        """Name the frame in its own session; nothing is written yet."""
        return stage(frame, plan)

    def apply(self, staged: StagedView, plan: MergePlan) -> None:
        """Merge in one commit, with all that is applied then."""
        session, form = staged.session, self._form
        table = self.find(plan.table.id, session)
        if table is None:
            raise SET_BACK(target=form.address(plan.table.id).name)
        table_shape.check_matches_plan(table.origin, plan, table.address)
        first = before = form.progress(session, table)
        plan.check_follows(before.applied, table.name)
        for _ in range(_TRIES):
            merge = partial(form.merge, session, plan, table, before)
            if unless_overtaken(form.is_conflict, merge):
                staged.forget()
                return
            now = self.find(plan.table.id, session)
            if now is None:
                break
            table, before = now, form.progress(session, now)
            if before.applied != first.applied:
                break
        raise form.conflict(target=table.name)

    def applied(self, table_id: TableId) -> Applied:
        """Return what the table's history says."""
        table = self.find(table_id)
        return Applied() if table is None else self._form.progress(self._session, table).applied

    def upkeep(self, table_id: TableId, *, forget_before_ms: int) -> UpkeepResult:
        """Keep the table fast and small; one that is not there needs nothing."""
        session = self._session.newSession()  # it runs beside everything else
        table = self.find(table_id, session)
        if table is None:
            return UpkeepResult()
        return lake_upkeep.upkeep(self._form, session, table, forget_before_ms=forget_before_ms)

    def drop(self, table_id: TableId) -> bool:
        """Drop the letters, then the table that says whose they are, with its files."""
        table = self.find(table_id)
        if table is None:
            return False
        remove = self._form.removal(self._session, table)
        self.letters.forget(table_id)
        remove()
        return True

    def set_aside(self, table_id: TableId, suffix: str) -> str | None:
        """Give the table another name, under which it still says whose copy it was."""
        table, rename = self.find(table_id), self._form.rename
        return None if table is None or rename is None else rename(self._session, table, suffix)

    def check(self, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Look at the warehouse and at the tables' names."""
        return self._form.check(self._session, tables)

    def rows(self, table_id: TableId) -> DataFrame | None:
        """Return the table as a reader should see it; None: it is not there."""
        table = self.find(table_id)
        if table is None:
            return None
        return reader_view.live_rows(self._session.table(table.name), table.origin.ours, table.origin.mode)

    def count(self, table_id: TableId) -> int:
        """Count them."""
        rows = self.rows(table_id)
        return 0 if rows is None else rows.count()

    def read(self, table_id: TableId) -> Sequence[Sequence[object]]:
        """Read them; a moment with a zone is microseconds, because Spark would show it in its own zone."""
        rows, held = self.rows(table_id), self.held(table_id)
        if rows is None or held is None:
            return ()
        names = [f"`{one.target.replace('`', '``')}`" for one in held]
        zoned = [isinstance(rows.schema[one.target].dataType, TimestampType) for one in held]
        cells = [
            f"unix_micros({name})" if is_zoned else name for name, is_zoned in zip(names, zoned, strict=True)
        ]
        return rows.selectExpr(*cells).collect()

    def close(self) -> None:
        """Nothing is held open: the Spark session is its owner's."""

    def find(self, table_id: TableId, session: SparkSession | None = None) -> LakeTable | None:
        """Return the table; None: it is not there.  One that is not the copy of this table is refused."""
        target = self._form.address(table_id)
        properties = self._form.properties(session or self._session, target.name)
        if properties is None:
            return None
        return LakeTable(target, properties, table_shape.check_own(properties, table_id, target))
