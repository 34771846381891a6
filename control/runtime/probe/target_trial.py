"""A table is made in the target, ten rows merged, a column added, all of it read back, and the table dropped.

The table has a column of each kind that the target has a type for, and the values that are read are compared.

It goes through the target's own contract, so each target is tried as the pipeline will use it.  What is read
back is read through a second one that is opened for it.  A target that can't drop a table is not tried.  What
the target itself makes with its first table (a schema, its own bookkeeping) stays, as it does after a merge.
"""

import hashlib
import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from decimal import Decimal
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from wrackline.consumers.contract.plan import (
    Applied,
    MergePlan,
    NewestChange,
    PlannedColumn,
    TopicPartition,
    plan_merge,
)
from wrackline.consumers.contract.target import Counting, Dropping, Reading, SparkTarget, load_target
from wrackline.control.runtime.probe.trial_runs import TrialResult, run_trial
from wrackline.producers.contract.trials import Measures, Trial, trial_stamp
from wrackline.producers.failpoints import reach
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.kafka.topic_names import table_of
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.evolution import AddColumn, changes
from wrackline.schemas.tables.plain_cells import plain
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOT_READ_BACK = define(
    "target.not_read_back",
    Definite,
    "{rows} rows were merged into {table} of the target, and another session sees {seen}",
    hint="see whether the target's address leads to one server, and not to replicas that are behind",
)
VALUES_CHANGED = define(
    "target.values_changed",
    Definite,
    "rows were merged into {table} of the target, and another session sees other values in {columns}",
    hint="do not merge columns of these types until it is known why: column.exclude.list; the versions to"
    " report with it: wrackline --version",
)

_ROWS: Final = 10
_ID: Final = Column("id", 1, ColumnType(Kind.INT64, "bigint"), nullable=False)
_NOTE: Final = Column("note", 2, ColumnType(Kind.STRING, "text"))
_MORE: Final = Column("more", 3, ColumnType(Kind.STRING, "text"))
_MICROS_OF_DAY: Final = 86_400_000_000
_SAMPLES: Final[Mapping[Column, tuple[str, Callable[[int], object]]]] = {
    _ID: ("id", int),
    _NOTE: ("concat('row ', id)", lambda at: f"row {at}"),
    _MORE: ("'more'", lambda _: "more"),
    Column("flag", 4, ColumnType(Kind.BOOLEAN, "boolean")): ("id % 2 = 0", lambda at: at % 2 == 0),
    Column("share", 5, ColumnType(Kind.FLOAT64, "float8")): ("id / 4 - 1", lambda at: at / 4 - 1),
    Column("price", 6, ColumnType(Kind.DECIMAL, "numeric(12,2)", 12, 2)): (
        "cast(concat(id - 5, '.25') AS decimal(12, 2))",
        lambda at: Decimal(f"{at - 5}.25"),
    ),
    Column("bytes", 7, ColumnType(Kind.BYTES, "bytea")): (
        "unhex(concat('00FF0', id))",
        lambda at: f"00ff0{at}",
    ),
    Column("day", 8, ColumnType(Kind.DATE, "date")): (
        "date_add(DATE'1969-12-28', cast(id AS int))",
        lambda at: at - 4,
    ),
    Column("clock", 9, ColumnType(Kind.TIME_MICROS, "time")): (
        "id * 3600000001L",
        lambda at: at * 3_600_000_001,
    ),
    Column("moment", 10, ColumnType(Kind.TIMESTAMP_MICROS, "timestamp")): (
        "TIMESTAMP_NTZ'1969-12-31 23:59:59.999999' + make_dt_interval(cast(id AS int))",
        lambda at: at * _MICROS_OF_DAY - 1,
    ),
    Column("instant", 11, ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz")): (
        "timestamp_micros(id * 86400000001L - 1)",
        lambda at: at * (_MICROS_OF_DAY + 1) - 1,
    ),
}  # of each kind: a value of the row `id` as Spark writes it, and in the plain form


class TargetTrial:
    """Tries a pipeline's target."""

    def __init__(
        self, values: Values, kind: str, tables: Sequence[TableId], stamp: str, left: Sequence[str]
    ) -> None:
        """Take the pipeline's tables as the target knows them: the trial's table is beside the first.

        `left` are the stamps of assessments that were killed.
        """
        self._values, self._kind, self._tables = values, kind, tables
        self.findings: list[Finding] = []  # what the target finds when it looks at itself
        self.is_left = False  # whether the trial's table may still be there
        beside = tables[0] if tables else TableId("wrackline", "wrackline", "")
        name = hashlib.sha256(values.text("name").encode()).hexdigest()[:16]
        self.table, *self._left = (
            beside._replace(name=f"wrackline_trial_{name}_{one.replace('-', '_')}") for one in (stamp, *left)
        )

    def trial(self) -> Trial:
        """Return the trial."""
        return Trial("merge", "rows are merged, a column is added, all is read back", self._run)

    def _run(self) -> Measures:
        # here, because a pipeline without a target needs no Spark
        from wrackline.control.runtime.spark.spark_session import open_target  # noqa: PLC0415

        with open_target(self._values, self._kind, None) as (spark, target):
            self.findings += target.check(self._tables)
            if not isinstance(target, Dropping):
                return {"tried": "no: this target can't drop a table"}
            for table in self._left:
                target.drop(table)
            self.is_left = True
            try:
                return self._merge(spark, target)
            finally:
                target.drop(self.table)
                self.is_left = False

    def _merge(self, spark: "SparkSession", target: SparkTarget) -> Measures:
        kinds = target.can.native | {Kind.STRING}
        native = [one for one in _SAMPLES if one.type.kind in kinds and one is not _MORE]
        first, second = self._plan(target, native, 1), self._plan(target, [*native, _MORE], 2)
        target.ensure_table(first)
        reach("probe_table")
        target.apply(target.stage(_frame(spark, first), first), first)
        reach("probe_merged")
        added = [one for one in changes(first.table, second.table) if isinstance(one, AddColumn)]
        target.alter(second, added)
        second = replace(second, since=target.applied(self.table))
        target.apply(target.stage(_frame(spark, second), second), second)
        with self._again(spark) as other:
            seen = other.count(self.table) if isinstance(other, Counting) else _ROWS
            columns = other.held(self.table) or ()
            if seen != _ROWS or len(columns) != len(second.columns):
                raise NOT_READ_BACK(rows=_ROWS, table=self.table, seen=f"{seen} in {len(columns)} columns")
            if isinstance(other, Reading) and (changed := changed_columns(columns, other.read(self.table))):
                raise VALUES_CHANGED(table=self.table, columns=", ".join(changed))
        return {"rows": seen, "columns": len(columns)}

    @contextmanager
    def _again(self, spark: "SparkSession") -> Iterator[SparkTarget]:
        with closing(load_target(self._kind).open(self._values, spark)) as other:
            yield other

    def _plan(self, target: SparkTarget, columns: Sequence[Column], end: int) -> MergePlan:
        table = TableSchema(self.table, tuple(columns), key=("id",), key_kind=KeyKind.PRIMARY)
        upto = Applied({TopicPartition(str(self.table), 0): end}, newest=NewestChange(_seq(end), 1, end))
        prefix = self._values.text("target.column.prefix")
        return plan_merge(table, target.can.identifiers, upto, prefix=prefix)


def try_target(pipeline: Pipeline, topics: Collection[str]) -> TrialResult | None:
    """Try it, beside the tables of these topics; None: there is none, or no Spark to merge with."""
    if pipeline.target is None or find_spec("pyspark") is None:
        return None
    values, tables = pipeline.good(), sorted(map(table_of, topics))
    stamp = trial_stamp(time.time(), random.getrandbits(32))
    return run_trial(values.text("name"), TargetTrial(values, pipeline.target, tables, stamp, ()).trial())


def changed_columns(columns: Sequence[PlannedColumn], rows: Iterable[Sequence[object]]) -> list[str]:
    """Name the columns, with their types, that hold other values than those of the ten rows."""
    merged = {column.name: value for column, (_, value) in _SAMPLES.items()}
    at_id = [one.source for one in columns].index(_ID.name)
    ordered = sorted(rows, key=lambda row: str(row[at_id]))
    return [
        f"{one.source} ({one.type.source})"
        for at, one in enumerate(columns)
        if [plain(one.type.kind, row[at]) for row in ordered] != list(map(merged[one.source], range(_ROWS)))
    ]


def _seq(number: int) -> str:
    return f"{number:020x}"


def _frame(spark: "SparkSession", plan: MergePlan) -> "DataFrame":
    """Make ten rows as a batch's newest changes are; a frame has a session of its own."""
    texts = {column.name: text for column, (text, _) in _SAMPLES.items()}
    row = ", ".join(f"'{column.target}', {texts[column.source]}" for column in plan.columns)
    newest = "" if plan.upto.newest is None else plan.upto.newest.seq
    return (
        spark.newSession()
        .range(_ROWS)
        .selectExpr(
            f"named_struct({row}) AS row",
            f"'{newest}' AS seq",
            "'r' AS op",
            "current_timestamp() AS commit_ts",
            "false AS deleted",
            "cast(array() AS array<string>) AS unsent",
            "cast(array() AS array<string>) AS missing",
        )
    )
