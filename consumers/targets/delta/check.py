"""What stands in the way of a Delta target.

In: the warehouse, and what each table says of itself.  Out: findings with the command that mends.  It asks
the file system and the tables' logs, and writes nothing: whether a store on the network may be written to
shows at the first table.
"""

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession

from wrackline.consumers import spark_rules, spark_table
from wrackline.consumers.spark_table import Address
from wrackline.consumers.targets.delta import table as tables
from wrackline.schemas.findings import Finding, Severity, rule
from wrackline.schemas.table import TableId

LOG_NOT_KEPT = rule(
    "delta.log_not_kept",
    Severity.WARNING,
    "others may cut the log",
    "{target} lets every checkpoint cut its log, in which stands how far it has come",
    "after a long rest {source} may have to be read again",
    "ALTER TABLE {target} SET TBLPROPERTIES ('delta.enableExpiredLogCleanup' = 'false')",
)


def check(session: SparkSession, warehouse: str, of: Sequence[tuple[TableId, Address]]) -> list[Finding]:
    """Return what was found, the warehouse first."""
    found = list(spark_rules.folder(warehouse.removeprefix("file:")) if warehouse.startswith("file:") else ())
    if not found:
        for table, target in of:
            found += _table(session, table, target)
    return found


def _table(session: SparkSession, table: TableId, target: Address) -> Iterator[Finding]:
    properties = tables.properties(session, target.name)
    if properties is None:
        return
    said = spark_table.of_itself(properties)
    if said is None or said.table != table:
        yield spark_rules.NOT_OURS(table, target=target.name, source=table, drop=target.drop)
    elif properties.get(tables.CUTS_ITS_LOG) != "false":
        yield LOG_NOT_KEPT(table, target=target.name, source=table)
