"""What the settings about first reads do, before the first row is read.

A pattern or a statement that matches no captured table, a condition that names no published column of its
table: the tables and the settings come in, findings go out.  Each would show at the start too, when the
table is left without its rows; here the operator sees it before.
"""

from collections.abc import Iterator, Sequence

from wrackline.producers.contract.first_reads import FirstReads
from wrackline.producers.sources.postgres.check import check_rules
from wrackline.producers.sources.postgres.chunks import condition_sql
from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.discover.discover import PgCatalogue
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import Kind


def findings(
    connection: Connection,
    first: FirstReads,
    rules: ColumnRules,
    tables: Sequence[TableId],
    publication: str,
) -> Iterator[Finding]:
    """Report the settings that match no table, and the conditions that can't be used."""
    catalogue = PgCatalogue(connection, connection.info.dbname, rules, Kind.ZONED_TIMESTAMP, publication)
    yield from first.unmatched_findings(tables)
    for table in tables:
        if (condition := first.condition(table)) is not None:
            try:
                condition_sql.where(connection, table, condition, catalogue.describe(table).kept)
            except WracklineError as error:
                if error.code.startswith("pg.condition"):  # other errors of a table are reported elsewhere
                    yield check_rules.of_error(error, table, impact="the table's existing rows are not read")
