"""An Iceberg catalogue as a target: each promise of `consumers/plugin.py`, by the module that keeps it.

    ensure_table, held, alter   table.py        stage, apply   merge.py
    drop                        table.py
    applied                     progress.py     upkeep, check  the modules of that name
    rows                        spark_reader.py letters        letters.py

What is asked between batches is asked in one session of the target's own; its commits say nothing of what is
applied.  A batch is staged and merged in its frame's session, which no other table may share.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from wrackline.consumers import spark_reader, spark_table
from wrackline.consumers.merge_sql import Staged, stage
from wrackline.consumers.names import Identifiers
from wrackline.consumers.plan import SET_BACK, Applied, Deletes, MergePlan, Mode, PlannedColumn
from wrackline.consumers.plugin import Alteration, Capabilities, MergeStyle, Upkept
from wrackline.consumers.spark_columns import WIDENS
from wrackline.consumers.spark_letters import SparkLetters
from wrackline.consumers.spark_table import Address
from wrackline.consumers.targets.iceberg import (
    check,
    connect,
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

NO_CATALOGUE = define(
    "iceberg.no_catalogue",
    OperatorNeeded,
    "the Spark session has no Iceberg catalogue named {catalogue} with {name}",
    hint="let the session be built from the pipeline's file: wrackline consume <pipeline.toml>",
)
_SECRET_FREE = ("type", "warehouse", "uri", "cache-enabled")


class IcebergTarget:
    """The tables of one pipeline in one catalogue."""

    can = Capabilities(
        identifiers=Identifiers(most_characters=255, refused=types.REFUSED),
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
        conf = connect.needs(settings).conf
        prefix = f"spark.sql.catalog.{connect.CATALOG}"
        for name in (prefix, *(f"{prefix}.{part}" for part in _SECRET_FREE)):
            if spark.conf.get(name, None) != conf.get(name):
                raise NO_CATALOGUE(catalogue=connect.CATALOG, name=name)
        self._session = spark.newSession()
        self._place = connect.place(settings)
        self.letters = SparkLetters(spark, letters.making(self._place))
        self._warehouse = conf[f"{prefix}.warehouse"]
        self._version = settings.integer("target.format.version")
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
            namespace = self._place.quoted_namespace(plan.table.id)
            table.create(self._session, plan, target.name, namespace, self._version)
            properties = table.properties(self._session, target.name) or {}
        spark_table.check_made(properties, plan, target)

    def alter(self, plan: MergePlan, changes: Sequence[Alteration]) -> None:
        """Bring the table to the plan's shape, commit by commit; what a crash left is finished."""
        spark_table.alter(self._session, plan, changes, self._address(plan.table.id), table.WAYS)

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
        merge.merge(staged, plan, target.name, properties)

    def applied(self, table_id: TableId) -> Applied:
        """Return the sum of what the table's snapshots say."""
        target = self._address(table_id)
        properties = table.properties(self._session, target.name)
        if properties is None:
            return Applied()
        spark_table.check_own(properties, table_id, target)
        return progress.read(self._session, target.name, properties).applied

    def upkeep(self, table_id: TableId, *, forget_before_ms: int) -> Upkept:
        """Vacuum, compact, expire; a table that is not there needs none."""
        target = self._address(table_id)
        properties = table.properties(self._session, target.name)
        if properties is None:
            return Upkept()
        said = spark_table.check_own(properties, table_id, target)
        return upkeep.upkeep(
            self._session.newSession(),  # it runs beside whatever else is asked
            target.name,
            said,
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
        table.check_goes(properties, target)
        self.letters.forget(table_id)
        table.drop(self._session, target.name)
        return True

    def check(self, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Look at the warehouse and at the tables' names."""
        return check.check(self._session, self._place, self._warehouse, self._version, tables)

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
        name = self._place.quoted_name(table_id)
        return Address(name, f"DROP TABLE {name}")
