"""Two flows of other programs' feeds into one lake table, which change its shape in the same moment."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.integration.targets.delta import world as delta
from tests.integration.targets.iceberg import world as iceberg
from tests.integration.targets.postgres.world import settings_of
from tests.integration.targets.spark_world import FEW_ROWS
from wrackline.consumers.auto_cdc.flow import flow
from wrackline.consumers.auto_cdc.flow_batch import FlowBatch, FlowReadSettings
from wrackline.consumers.batch.report import Stopwatch
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.targets import delta as delta_target
from wrackline.consumers.targets import iceberg as iceberg_target
from wrackline.consumers.targets import postgres as postgres_target
from wrackline.schemas.errors import Transient
from wrackline.schemas.tables.table import TableId

TABLE = TableId("legacy", "sales", "customers")
COLUMNS = "id", "n", "more", "other"


class Lake:
    """One table, and batches of flows into it; a flow's offsets are how often it came."""

    def __init__(self, spark: SparkSession, target: Any) -> None:
        self.spark, self.target = spark, target

    def merge(self, name: str, rows: str) -> None:
        """Merge the rows of a SELECT as the next batch of a flow."""
        topic = f"{name}-topic"
        made = flow(str(TABLE), name, ["id"], "at", except_column_list=["at"])
        batch = FlowBatch(made, lambda found: found, self.target, FlowReadSettings({}))
        before = self.target.applied(TABLE)
        start = before.of_topic(topic).get(0, 0)
        batch.merge_sound(
            self._frame(rows), BatchRange(topic, {0: start}, {0: start + 1}), before, Stopwatch()
        )

    def _frame(self, rows: str) -> DataFrame:
        session = self.spark.newSession()
        for name, value in FEW_ROWS.items():
            session.conf.set(name, value)
        return session.sql(rows)

    def until_merged(self, name: str, rows: str) -> None:
        """Merge as a driver does, which tries again what may pass."""
        for _ in range(3):
            with suppress(Transient):
                return self.merge(name, rows)
        return self.merge(name, rows)

    def rows(self) -> set[tuple[object, ...]]:
        """Return what a reader sees."""
        return {tuple(row) for row in self.target.rows(TABLE).select(*COLUMNS).collect()}


class InPostgres(Lake):
    """The same table in a database."""

    dsn = ""

    def rows(self) -> set[tuple[object, ...]]:
        with psycopg.connect(self.dsn) as reader:
            return set(reader.execute(f"SELECT {','.join(COLUMNS)} FROM sales.customers").fetchall())


@pytest.fixture(params=["iceberg", pytest.param("delta", marks=pytest.mark.deep), "postgres"])
def lake(
    request: pytest.FixtureRequest, spark: SparkSession, namespace: str, tmp_path: Path
) -> Iterator[Lake]:
    if request.param == "delta":
        made = Lake(spark, delta_target.PLUGIN.open(delta.settings(tmp_path), spark))
    elif request.param == "postgres":
        dsn = request.getfixturevalue("database").dsn
        made = InPostgres(spark, postgres_target.PLUGIN.open(settings_of(dsn), spark))
        made.dsn = dsn
    else:
        given = iceberg.settings(spark, namespace=f"{namespace}_{{schema}}")
        made = Lake(spark, iceberg_target.PLUGIN.open(given, spark))
    yield made
    made.target.close()


def before_the_first(call: Callable[..., Any], other: Callable[[], None]) -> Callable[..., Any]:
    left = [other]

    def then(*given: Any) -> Any:
        if left:
            left.pop()()
        return call(*given)

    return then


@pytest.mark.full
def test_what_two_flows_add_in_one_moment_stays_apart(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.merge("a", "SELECT 1 id, 7 n, 1 at")
    wide = "SELECT 2 id, 5000000000 n, 'left' more, 2 at"
    # the second flow has looked at the table, and plans its change; then the first one changes it
    monkeypatch.setattr(
        lake.target, "alter", before_the_first(lake.target.alter, lambda: lake.merge("a", wide))
    )
    lake.until_merged("b", "SELECT 3 id, 6000000000 n, 'right' other, 3 at")
    lake.merge("a", "SELECT 4 id, 8 n, 'again' more, 4 at")
    assert lake.rows() == {
        (1, 7, None, None),
        (2, 5_000_000_000, "left", None),
        (3, 6_000_000_000, None, "right"),
        (4, 8, "again", None),
    }
