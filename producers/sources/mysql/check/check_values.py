"""Which rows hold values that do not fit their columns' types, as far as a short look shows.

    columns that would stop their table  -->  one statement a table, bounded  -->  findings

Dates with a zero or that no calendar has, and texts that are not UTF-8: MariaDB accepts halves of a pair as
characters.  The look is bounded in rows and in time; it skips a table that it can't finish, because the first
read of that table finds the same.  It counts values, and shows none.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

import pymysql
from pymysql.connections import Connection

from wrackline.producers.kit.preflight.column_findings import UnfitCounts, value_findings
from wrackline.producers.rows.unfit_values import columns_that_could_stop, columns_that_stop
from wrackline.producers.sources.mysql.chunks import bounded_query
from wrackline.producers.sources.mysql.chunks.marks import query_rows
from wrackline.producers.sources.mysql.connect.quoting import identifier, table_name
from wrackline.producers.sources.mysql.discover.discover import MySqlCatalogue
from wrackline.producers.sources.mysql.rows.rows import MAY_NOT_FIT
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.language.findings import Finding, Severity, rule
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import Kind

MOST_ROWS: Final = 100_000
MOST_S: Final = 2
_DATE = "month({0}) = 0 OR dayofmonth({0}) = 0 OR dayofmonth({0}) > dayofmonth(last_day({0}))"
# A valid text comes back from UTF-16 unchanged.
_TEXT = "CAST({0} AS BINARY) <> CAST(CONVERT(CONVERT({0} USING utf16) USING utf8mb4) AS BINARY)"
_TEXTS = """
SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s
AND character_set_name IN ('utf8', 'utf8mb3', 'utf8mb4') AND data_type NOT IN ('enum', 'set')"""

VALUES_UNFIT = rule(
    "mysql.values_unfit",
    Severity.WARNING,
    "Rows hold values that do not fit",
    "{count} of the first {looked} rows of {path} hold values that do not fit, in {columns}",
    "the table is set aside at the first such row",
    "set column.as.text = '{listed}' to carry the columns as text that are not text yet, or"
    " column.unfit.letter = '{could}' to set only such rows aside, or correct the rows",
)


def findings(
    connection: "Connection[Any]", catalogue: MySqlCatalogue, tables: Sequence[TableId]
) -> Iterator[Finding]:
    """Look at the tables with columns that can hold such values; the catalogue applies the column rules."""
    return value_findings(
        VALUES_UNFIT, tables, partial(_count, connection, catalogue), pymysql.err.MySQLError
    )


def _count(connection: "Connection[Any]", catalogue: MySqlCatalogue, table: TableId) -> UnfitCounts | None:
    shape = catalogue.describe(table)
    columns = _conditions(
        shape, {name for (name,) in query_rows(connection, _TEXTS, table.schema, table.name)}
    )
    if not columns:
        return None
    conditions = [f"coalesce({made}, 0) AS c{nth}" for nth, made in enumerate(columns.values())]
    each = [f"c{nth}" for nth in range(len(conditions))]
    counted = ["count(*)", f"sum({' OR '.join(each)})", *(f"sum({one})" for one in each)]
    rows = f"(SELECT {', '.join(conditions)} FROM {table_name(table)} LIMIT {MOST_ROWS}) AS first"  # noqa: S608 quoted
    counts = bounded_query.query_bounded(connection, ", ".join(counted), rows, MOST_S)
    others = columns_that_could_stop(shape.table, shape.on_unfit, MAY_NOT_FIT)
    return None if counts is None else UnfitCounts(columns, counts, others)


def _conditions(shape: Projection, texts: set[str]) -> dict[str, str]:
    """Return the columns whose values may not fit and would stop the table, each with its condition."""
    found = {}
    for column in columns_that_stop(shape):
        if column.type.kind in MAY_NOT_FIT:
            found[column.name] = _DATE.format(identifier(column.name))
        elif column.name in texts and column.type.kind in {Kind.STRING, Kind.XML, Kind.TEXT_OF}:
            found[column.name] = _TEXT.format(identifier(column.name))
    return found
