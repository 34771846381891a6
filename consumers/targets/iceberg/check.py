"""Findings of an Iceberg target.

In: the warehouse, and what each table says of itself.  Out: findings with the command that repairs.  It asks
the catalogue and the file system, and writes nothing: whether a store on the network may be written to shows
at the first table.
"""

import os
import re
from collections.abc import Iterator, Sequence

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from wrackline.consumers.lake import check_rules, table_shape
from wrackline.consumers.lake.merge_sql import quote
from wrackline.consumers.targets.iceberg import table as tables
from wrackline.consumers.targets.iceberg.connect import CATALOG, IcebergPlace
from wrackline.schemas.language.findings import Finding, Severity, rule
from wrackline.schemas.tables.table import TableId

NO_CATALOGUE = rule(
    "iceberg.catalogue_unreachable",
    Severity.ERROR,
    "catalogue does not answer",
    "the catalogue gave no list of its namespaces ({condition})",
    "no table can be created or merged into",
    "correct target.catalog.type, target.catalog.uri and what is set below target.catalog; then:"
    " wrackline check <pipeline.toml>",
    connection=True,
)
OLDER_FORMAT = rule(
    "iceberg.older_format",
    Severity.WARNING,
    "older format version",
    "{target} has format version {found}, and target.format.version is {wanted}",
    "merges are slower than they could be",
    "if all its readers know version {wanted}: ALTER TABLE {target} SET TBLPROPERTIES"
    " ('format-version' = '{wanted}'); if not: target.format.version = {found}",
)
NEWER_FORMAT = rule(
    "iceberg.newer_format",
    Severity.WARNING,
    "newer format version",
    "{target} has format version {found}, and target.format.version is {wanted}",
    "a reader that knows no version above {wanted} can't read it; a table's version never goes back",
    "target.format.version = {found}; or: DROP TABLE {target}; then: wrackline snapshot start"
    " <pipeline.toml> '{source}'",
)

_FOLDER = re.compile(r"file:(//[^/]*)?(?P<path>/.*)", re.DOTALL)  # no letter of it means another


def check(
    session: SparkSession, of: Sequence[TableId], *, place: IcebergPlace, warehouse: str, version: int
) -> list[Finding]:
    """Return what was found, the warehouse first."""
    found = list(_warehouse(session, warehouse))
    if not any(finding.severity is Severity.ERROR for finding in found):
        for table in of:
            found += _table(session, table, place.quoted_name(table), version)
    return found


def _warehouse(session: SparkSession, warehouse: str) -> Iterator[Finding]:
    of_this_machine = _FOLDER.fullmatch(warehouse)
    if of_this_machine:
        folder = of_this_machine["path"]
        yield from check_rules.check_folder(folder)
        if not os.access(folder, os.W_OK | os.X_OK):
            return  # a catalogue that is to be made with its first table
    try:
        session.sql(f"SHOW NAMESPACES IN {quote(CATALOG)}").collect()
    except PySparkException as exc:  # its text may hold what was passed to the catalogue
        yield NO_CATALOGUE(condition=exc.getCondition() or type(exc).__name__)


def _table(session: SparkSession, table: TableId, target: str, version: int) -> Iterator[Finding]:
    properties = tables.properties(session, target)
    if properties is None:
        return
    said = table_shape.table_origin(properties, target)
    if said is None or said.table != table:
        yield check_rules.NOT_OURS(table, target=target, source=table, drop=f"DROP TABLE {target}")
        return
    found = int(properties["format-version"])
    if found != version:
        kind = OLDER_FORMAT if found < version else NEWER_FORMAT
        yield kind(table, target=target, source=table, found=found, wanted=version)
