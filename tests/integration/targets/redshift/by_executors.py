"""A batch that executors write: `python -m tests.integration.targets.redshift.by_executors SETTINGS`."""

import json
import os
import sys

from tests.fakes.redshift_settings import values
from wrackline.consumers.contract.plan import Applied, plan_merge
from wrackline.consumers.contract.target import Counting
from wrackline.consumers.spark import sessions
from wrackline.consumers.targets.redshift import PLUGIN
from wrackline.consumers.targets.redshift.store import open_store
from wrackline.control.runtime.spark import java
from wrackline.control.runtime.spark.jars import spark_jars
from wrackline.control.runtime.spark.spark_session import jars_of
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.target_suite import HERE, seq

ROWS = 250_000
TABLE = TableSchema(
    TableId("db", "public", "large"),
    (
        Column("id", 1, ColumnType(Kind.INT64, "bigint"), nullable=False),
        Column("label", 2, ColumnType(Kind.STRING, "text")),
    ),
    ("id",),
    KeyKind.PRIMARY,
)


def main() -> None:
    settings = values(**json.loads(sys.argv[1]))
    os.environ["JAVA_HOME"] = str(java.find_java().home)
    needs = PLUGIN.needs(settings)
    small = {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.sql.session.timeZone": "Asia/Kolkata",
    }
    session = sessions.start(spark_jars(jars_of(needs)), needs.conf, small, name="by-executors")
    target = PLUGIN.open(settings, session)
    plan = plan_merge(TABLE, target.can.identifiers, Applied({HERE: ROWS}))
    frame = session.range(0, ROWS, 1, 3).selectExpr(
        "named_struct('id', id, 'label', concat('row ', id)) AS row",
        f"'{seq(1)}' AS seq",
        "'c' AS op",
        "current_timestamp() AS commit_ts",
        "false AS deleted",
        "cast(array() AS array<string>) AS unsent",
        "cast(array() AS array<string>) AS missing",
    )
    target.ensure_table(plan)
    target.apply(target.stage(frame, plan), plan)
    empty = target.stage(frame.limit(0), plan)
    assert empty.stage is None, "an empty batch loads nothing"
    assert isinstance(target, Counting)
    left = list(open_store(settings)._objects(""))
    sys.stdout.write(f"{target.count(TABLE.id)} rows, {len(left)} files\n")
    target.close()
    sessions.end(session)


if __name__ == "__main__":
    main()
