"""A target whose tables the run's one Spark session writes, and the reader beside it."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.contract.target import Target
from wrackline.consumers.lake.lake_target import LakeTarget
from wrackline.consumers.lake.merge_sql import StagedView, quote
from wrackline.consumers.lake.table_format import FAILED, TableFormat
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import spark_type
from wrackline.testing.targets.merge_model import Change, Content, Key, Latest, Stored, content, latest
from wrackline.testing.targets.merge_model import Values as Cells
from wrackline.testing.targets.target_suite import Crash

OURS = "_wl_seq", "_wl_op", "_wl_deleted", "_wl_missing", "_wl_commit_ts"
FEW_ROWS = {
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


class SparkWorld:
    """A target, the reader beside it, and moments at which its process ends."""

    kind: type[LakeTarget[Any]] = LakeTarget
    crash_points: tuple[str, ...] = ("before the merge", "while files are written", "after the commit")

    def __init__(
        self,
        spark: SparkSession,
        name: Callable[[TableId], str],
        form: TableFormat[Any],
    ) -> None:
        """Take how Spark SQL calls a table, and the format of its tables."""
        self.spark, self.name = spark, name
        self.form = form
        self._crash: str | None = None
        self._keys: dict[TableId, tuple[str, ...]] = {}
        self.restart()

    def frame(self, changes: Sequence[Change], plan: MergePlan) -> DataFrame:
        self._keys[plan.table.id] = plan.key
        return self.newest(latest(changes, plan.floor), plan)

    def newest(self, batch: Mapping[Key, Latest], plan: MergePlan) -> DataFrame:
        """Make a frame without any Python in its plan, in a session of its own."""
        fields = ", ".join(f"{quote(column.target)}: {spark_type(column.type)}" for column in plan.columns)
        shape = (
            f"array<struct<row: struct<{fields}>, seq: string, op: string, at: bigint, deleted: boolean,"
            " unsent: array<string>, missing: array<string>>>"
        )
        rows = json.dumps(
            [
                {
                    "row": row.values,
                    "seq": row.seq,
                    "op": row.op,
                    "at": row.commit_ts,
                    "deleted": row.deleted,
                    "unsent": sorted(row.unsent),
                    "missing": sorted(row.missing),
                }
                for row in batch.values()
            ]
        )
        session = self._session()
        frame = session.sql(
            "SELECT * EXCEPT (at), timestamp_millis(at) commit_ts"
            " FROM (SELECT inline(from_json(:rows, :shape)))",
            {"rows": rows, "shape": shape},
        )
        if self._crash == "while files are written":
            # The first row is written; the second task has none to write.
            poison = "IF(seq < '~', raise_error('the process ends'), seq)"
            frame = (
                frame.repartition(2, "seq")
                .selectExpr("*")
                .unionAll(frame.limit(1).selectExpr("* EXCEPT (seq)", f"{poison} seq").select(frame.columns))
            )
        return frame

    def _session(self) -> SparkSession:
        """Return a new session; a few rows are worth no compiling and no planning again."""
        session = self.spark.newSession()
        for name, value in FEW_ROWS.items():
            session.conf.set(name, value)
        return session

    def stored(self, table: TableId) -> Mapping[Key, Stored]:
        held = self.target.held(table)
        if held is None:
            return {}
        names = {column.identity: column.target for column in held}
        rows = self._session().table(self.name(table)).collect()
        found = {self._key(table, row): _stored(row, names) for row in rows}
        assert len(found) == len(rows), "a key stands twice"
        return found

    def visible(self, table: TableId) -> Mapping[Key, Cells]:
        frame = self.opened.rows(table)
        rows = [] if frame is None else frame.collect()
        found = {self._key(table, row): row.asDict() for row in rows}
        assert len(found) == len(rows), "a key stands twice"
        return found

    def labels_at(self, name: str) -> Sequence[object]:
        return [row["label"] for row in self.spark.table(name).collect()]

    def seen(self, table: TableId) -> Sequence[Mapping[str, object]]:
        rows = self.opened.rows(table)
        return [] if rows is None else [row.asDict() for row in rows.collect()]

    def copies(self, table: TableId, columns: tuple[str, ...]) -> Mapping[Content, int]:
        rows = self.opened.rows(table)
        return (
            Counter() if rows is None else Counter(content(row.asDict(), columns) for row in rows.collect())
        )

    def _key(self, table: TableId, row: Row) -> Key:
        return tuple(row[name] for name in self._keys[table])

    def crash_next_apply(self, point: str) -> None:
        self._crash = point

    def reach(self, point: str) -> None:
        """End the process here, if it was asked to."""
        if self._crash == point:
            self._crash = None
            raise Crash(point)

    def restart(self) -> None:
        """Open the target again, as the next process does."""
        world = self

        class Ending(self.kind):  # type: ignore[misc,name-defined]  # a format may have a target of its own
            """Ends where the world wants it."""

            def apply(self, staged: StagedView, plan: MergePlan) -> None:
                world.reach("before the merge")
                try:
                    super().apply(staged, plan)
                except FAILED:
                    world.reach("while files are written")
                    raise
                world.reach("after the commit")

        self.opened: Any = Ending(self.spark, self.form)
        for name, value in FEW_ROWS.items():
            self.opened._session.conf.set(name, value)  # what it asks is of few rows too
        self.target: Target[Any, Any] = self.opened


def _stored(row: Row, names: Mapping[int, str]) -> Stored:
    cells = {name: value for name, value in row.asDict().items() if name not in OURS}
    missing = frozenset(names[identity] for identity in row["_wl_missing"] or () if identity in names)
    at = row["_wl_commit_ts"]
    return Stored(
        cells, row["_wl_seq"], row["_wl_op"], row["_wl_deleted"], missing, int(at.timestamp() * 1000)
    )
