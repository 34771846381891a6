"""What the rules about columns do to the tables that are copied, before the first row is copied.

A key that the rules would hide, a key column that is not there, a pattern that matches no column, a
truncation of a value that is not text: the tables and the rules come in, findings go out.
"""

from collections.abc import Iterator, Sequence

from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.discover.discover import PgCatalogue
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.events import projection
from wrackline.schemas.language.findings import Finding, Severity
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import Kind

_UNDERSTOOD_OR_NOT = ColumnRules.of(
    {"column.as.text": (".*",)}
)  # a type that is not known is reported elsewhere


def column_findings(
    connection: Connection, rules: ColumnRules, tables: Sequence[TableId], publication: str
) -> Iterator[Finding]:
    """Apply the rules to each table and report what does not fit."""
    database = connection.info.dbname
    as_set = PgCatalogue(connection, database, rules, Kind.ZONED_TIMESTAMP)
    as_text = PgCatalogue(connection, database, _UNDERSTOOD_OR_NOT, Kind.ZONED_TIMESTAMP)
    carried = PgCatalogue(connection, database, rules, Kind.ZONED_TIMESTAMP, publication)
    for catalogue in (as_set, as_text, carried):
        catalogue.keep(tables)
    sources = []
    for table in tables:
        source = as_text.describe(table).source
        try:
            source = as_set.describe(table).source
            carried.describe(table)
        except WracklineError as error:
            if error.code.startswith("filter."):
                yield _of_error(error, table)
        sources.append(source)
    yield from projection.findings(rules, sources)


def _of_error(error: WracklineError, table: TableId) -> Finding:
    return Finding(
        error.code,
        error.code.partition(".")[2].replace("_", " ").capitalize(),
        error.sentence,
        error.hint,
        "the table's changes are not copied",
        Severity.ERROR,
        table,
    )
