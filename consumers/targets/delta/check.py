"""Findings of a Delta target.

In: the warehouse, and what each table says of itself.  Out: findings with the command that repairs.  It asks
the file system and the tables' logs, and writes nothing: whether a store on the network may be written to
shows at the first table.
"""

from collections.abc import Callable, Iterator, Sequence

from pyspark.sql import SparkSession

from wrackline.consumers.lake import check_rules, table_shape
from wrackline.consumers.lake.table_shape import TableAddress
from wrackline.consumers.targets.delta import table as tables
from wrackline.schemas.language.findings import Finding, Severity, rule
from wrackline.schemas.tables.table import TableId

LOG_NOT_KEPT = rule(
    "delta.log_not_kept",
    Severity.WARNING,
    "others may cut the log",
    "{target} lets every checkpoint cut its log, and the log says how far the table has come",
    "after a long rest {source} may have to be read again",
    "ALTER TABLE {target} SET TBLPROPERTIES ('delta.enableExpiredLogCleanup' = 'false')",
)


def check(
    session: SparkSession,
    of: Sequence[TableId],
    *,
    warehouse: str,
    address: Callable[[TableId], TableAddress],
) -> list[Finding]:
    """Return what was found, the warehouse first."""
    found = list(
        check_rules.check_folder(warehouse.removeprefix("file:")) if warehouse.startswith("file:") else ()
    )
    if not found:
        for table in of:
            found += _table(session, table, address(table))
    return found


def _table(session: SparkSession, table: TableId, target: TableAddress) -> Iterator[Finding]:
    properties = tables.properties(session, target.name)
    if properties is None:
        return
    said = table_shape.table_origin(properties, target.name)
    if said is None or said.table != table:
        yield check_rules.NOT_OURS(table, target=target.name, source=table, drop=target.drop)
    elif properties.get(tables.CUTS_ITS_LOG) != "false":
        yield LOG_NOT_KEPT(table, target=target.name, source=table)
