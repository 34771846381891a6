"""What the settings about first reads come to, before the first row is read.

A pattern or a statement that means no captured table, a condition that names no column which leaves its
table: the tables and the settings come in, findings go out.  Each would show at the start too, when the
table is left without its rows; here somebody looks.
"""

from collections.abc import Iterator, Sequence

from wrackline.producers.first_reads import FirstReads
from wrackline.producers.sources.postgres import check_rules, condition_sql
from wrackline.producers.sources.postgres.connect import Connection
from wrackline.producers.sources.postgres.discover import Catalogue
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.filters import ColumnRules
from wrackline.schemas.findings import Finding
from wrackline.schemas.table import TableId
from wrackline.schemas.types import Kind


def findings(
    connection: Connection,
    first: FirstReads,
    rules: ColumnRules,
    tables: Sequence[TableId],
    publication: str,
) -> Iterator[Finding]:
    """Say what of the settings is for no table, and which condition can't be answered."""
    catalogue = Catalogue(connection, connection.info.dbname, rules, Kind.ZONED_TIMESTAMP, publication)
    yield from first.unmatched(tables)
    for table in tables:
        if (condition := first.condition(table)) is not None:
            try:
                condition_sql.where(connection, table, condition, catalogue.describe(table).kept)
            except WracklineError as error:
                if error.code.startswith("pg.condition"):  # what else is wrong with a table is said elsewhere
                    yield check_rules.of_error(error, table, impact="the table's existing rows are not read")
