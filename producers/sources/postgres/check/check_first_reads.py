"""What the conditions of first reads do, before the first row is read.

A condition that names no published column of its table: the tables and the settings come in, findings go out.
It would show at the start too, when the table is left without its rows; here the operator sees it before.
"""

from collections.abc import Iterator, Sequence

from wrackline.producers.contract.first_reads import FirstReads
from wrackline.producers.kit.preflight.probes import error_finding
from wrackline.producers.sources.postgres.chunks import condition_sql
from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.discover.discover import PgCatalogue
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.tables.table import TableId


def findings(
    connection: Connection, catalogue: PgCatalogue, first: FirstReads, tables: Sequence[TableId]
) -> Iterator[Finding]:
    """Report the conditions that can't be used; the catalogue shows what is published."""
    for table in tables:
        if (condition := first.condition(table)) is not None:
            try:
                condition_sql.where(connection, table, condition, catalogue.describe(table).plain_columns)
            except WracklineError as error:
                if error.code.startswith("pg.condition"):  # other errors of a table are reported elsewhere
                    yield error_finding(error, table, impact="the table's existing rows are not read")
