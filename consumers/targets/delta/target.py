"""Delta tables as a target: each promise of `consumers/plugin.py`, by the module that keeps it.

    ensure_table, held, alter   table.py, spark_table.py    stage, apply   merge.py
    applied                     progress.py                 upkeep, check  the modules of that name
    rows                        spark_reader.py             letters        letters.py
    drop                        dropping.py

What is asked between batches is asked in one session of the target's own; its commits say nothing of what is
applied.  A batch is staged and merged in its frame's session, which no other table may share.
"""

from collections.abc import Sequence
from shlex import quote

from pyspark.sql import DataFrame, SparkSession

from wrackline.consumers import spark_files, spark_reader, spark_table
from wrackline.consumers.merge_sql import Staged, stage
from wrackline.consumers.names import Identifiers
from wrackline.consumers.plan import SET_BACK, Applied, Deletes, MergePlan, Mode, PlannedColumn
from wrackline.consumers.plugin import Alteration, Capabilities, MergeStyle, Upkept
from wrackline.consumers.spark_columns import WIDENS
from wrackline.consumers.spark_letters import SparkLetters
from wrackline.consumers.spark_table import Address
from wrackline.consumers.targets.delta import (
    check,
    connect,
    dropping,
    letters,
    merge,
    progress,
    table,
    types,
    upkeep,
)
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.findings import Finding
from wrackline.schemas.settings import Values
from wrackline.schemas.table import TableId
from wrackline.schemas.types import MOST_DIGITS, Kind

NOT_KNOWN = define(
    "delta.session_without_delta",
    OperatorNeeded,
    "the Spark session does not know Delta's tables: {name} lacks {value}",
    hint="in the pipeline's file write it beside what else stands there: {name}={value}",
)
NOT_REACHED = define(
    "delta.files_not_reached",
    OperatorNeeded,
    "{target} is not dropped: the Spark at spark.remote lets nobody remove files through it",
    hint="there, as who may write to the warehouse: {drop}; then repeat the command",
)


class DeltaTarget:
    """The tables of one pipeline below one warehouse."""

    can = Capabilities(
        identifiers=Identifiers(most_characters=255, case_sensitive=False, refused=types.REFUSED),
        native=frozenset(Kind),
        most_decimal_digits=MOST_DIGITS,
        merge=MergeStyle.MERGE,
        deletes=frozenset(Deletes),
        transactional_ddl=False,
        renames=True,
        drops=True,
        widens=WIDENS,
        modes=frozenset(Mode),
    )

    def __init__(self, settings: Values, spark: SparkSession) -> None:
        for name, value in connect.SESSION.items():
            if value not in (spark.conf.get(name, None) or "").split(","):
                raise NOT_KNOWN(name=name, value=value)
        self._session = spark.newSession()
        self._place = connect.place(settings)
        self.letters = SparkLetters(spark, letters.making(self._place))
        self._retention_ms = settings.integer("target.snapshot.retention.ms")

    def held(self, table_id: TableId) -> tuple[PlannedColumn, ...] | None:
        """Return the table's columns that came from the source."""
        target = self._address(table_id)
        properties = table.properties(self._session, target.name)
        if properties is None:
            return None
        spark_table.check_own(properties, table_id, target)
        return spark_table.held(self._session, target.name, properties)

    def ensure_table(self, plan: MergePlan) -> None:
        """Create the table, or refuse one that the plan can't be merged into."""
        target = self._address(plan.table.id)
        properties = table.properties(self._session, target.name)
        if properties is None:
            session = self._session.newSession()  # what its commit says is the session's
            with progress.saying(session, Applied(), None):
                table.create(session, plan, target, self._retention_ms)
            properties = table.properties(self._session, target.name) or {}
        spark_table.check_made(properties, plan, target)

    def alter(self, plan: MergePlan, changes: Sequence[Alteration]) -> None:
        """Bring the table to the plan's shape, commit by commit; what a crash left is finished."""
        target = self._address(plan.table.id)
        table.keep_log(self._session, target, table.properties(self._session, target.name) or {})
        spark_table.alter(self._session, plan, changes, target, table.WAYS)

    def stage(self, frame: DataFrame, plan: MergePlan) -> Staged:
        """Name the frame in its own session; nothing is written yet."""
        return stage(frame, plan)

    def apply(self, staged: Staged, plan: MergePlan) -> None:
        """Merge in one commit, with all that is applied then."""
        target = self._address(plan.table.id)
        properties = table.properties(staged.session, target.name)
        if properties is None:
            raise SET_BACK(target=target.name)
        spark_table.check_made(properties, plan, target)
        merge.merge(staged, plan, target, spark_table.held(staged.session, target.name, properties))

    def applied(self, table_id: TableId) -> Applied:
        """Return what the table's log says."""
        target = self._address(table_id)
        properties = table.properties(self._session, target.name)
        if properties is None:
            return Applied()
        spark_table.check_own(properties, table_id, target)
        return progress.read(self._session, target, table_id).applied

    def upkeep(self, table_id: TableId, *, forget_before_ms: int) -> Upkept:
        """Forget, compact, cut the log, vacuum; a table that is not there needs none."""
        target = self._address(table_id)
        properties = table.properties(self._session, target.name)
        if properties is None:
            return Upkept()
        return upkeep.upkeep(
            self._session.newSession(),  # it runs beside whatever else is asked
            target,
            table_id,
            spark_table.check_own(properties, table_id, target),
            properties,
            forget_before_ms=forget_before_ms,
            retention_ms=self._retention_ms,
        )

    def drop(self, table_id: TableId) -> bool:
        """Drop the letters, then the table that tells of them, with its files."""
        target = self._address(table_id)
        properties = table.properties(self._session, target.name)
        if properties is None:
            return False
        spark_table.check_own(properties, table_id, target)
        folder = spark_files.folder(self._session, self._place.path(table_id))
        if folder is None:
            raise NOT_REACHED(target=target.name, drop=target.drop)
        self.letters.forget(table_id)
        dropping.remove(folder)
        return True

    def check(self, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Look at the warehouse and at the tables' folders."""
        return check.check(
            self._session, self._place.warehouse, [(one, self._address(one)) for one in tables]
        )

    def rows(self, table_id: TableId) -> DataFrame | None:
        """Return the table as a reader should see it; None: it is not there."""
        target = self._address(table_id)
        properties = table.properties(self._session, target.name)
        if properties is None:
            return None
        said = spark_table.check_own(properties, table_id, target)
        return spark_reader.live_rows(self._session.table(target.name), said.ours, said.mode)

    def close(self) -> None:
        """Nothing is held open: the Spark session is its owner's."""

    def _address(self, table_id: TableId) -> Address:
        path = self._place.path(table_id)
        local = path.startswith("file:")  # Delta's DROP TABLE leaves the files, and so the table
        drop = f"rm -r {quote(path[5:])}" if local else f"hadoop fs -rm -r {quote(path)}"
        return Address(connect.by_path(path), drop)
