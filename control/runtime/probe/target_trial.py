"""A table is made in the target, ten rows merged, a column added, all of it read back, and the table dropped.

It goes through the target's own contract, so each target is tried as the pipeline will use it.  What is read
back is read through a second one that is opened for it.  A target that can't drop a table is not tried.  What
the target itself makes with its first table (a schema, its own bookkeeping) stays, as it does after a merge.
"""

import hashlib
import random
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from wrackline.consumers.contract.plan import Applied, MergePlan, NewestChange, TopicPartition, plan_merge
from wrackline.consumers.contract.target import Counting, Dropping, SparkTarget, load_target
from wrackline.control.runtime.probe.trial_runs import TrialResult, run_trial
from wrackline.producers.contract.trials import Measures, Trial, trial_stamp
from wrackline.producers.failpoints import reach
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.kafka.topic_names import table_of
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.evolution import AddColumn, changes
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

_ROWS: Final = 10
_ID: Final = Column("id", 1, ColumnType(Kind.INT64, "bigint"), nullable=False)
_NOTE: Final = Column("note", 2, ColumnType(Kind.STRING, "text"))
_MORE: Final = Column("more", 3, ColumnType(Kind.STRING, "text"))


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
        first, second = (self._plan(target, columns, end) for columns, end in _STEPS)
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
        return {"rows": seen, "columns": len(columns)}

    @contextmanager
    def _again(self, spark: "SparkSession") -> Iterator[SparkTarget]:
        with closing(load_target(self._kind).open(self._values, spark)) as other:
            yield other

    def _plan(self, target: SparkTarget, columns: tuple[Column, ...], end: int) -> MergePlan:
        table = TableSchema(self.table, columns, key=("id",), key_kind=KeyKind.PRIMARY)
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


_STEPS: Final = (((_ID, _NOTE), 1), ((_ID, _NOTE, _MORE), 2))


def _seq(number: int) -> str:
    return f"{number:020x}"


def _frame(spark: "SparkSession", plan: MergePlan) -> "DataFrame":
    """Make ten rows as a batch's newest changes are; a frame has a session of its own."""
    texts = {"id": "id", "note": "concat('row ', id)", "more": "'more'"}
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
