"""The columns that the filter of a snapshot request names, as PostgreSQL finds them.

    text in the grammar of schemas/language/conditions.py, the table's columns  ->  a condition behind WHERE

`producers/kit/reads/condition_sql.py` writes the condition.  Values are quoted literals with a cast to their
column's type, and operators are the operators of the column's own order (`key_order.py`).
"""

from collections.abc import Collection, Mapping

from wrackline.producers.kit.reads.condition_sql import condition_sql
from wrackline.producers.sources.postgres.chunks.key_order import DIALECT, PgKeyColumn, columns_of
from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.connect.server_errors import VALUE_REFUSED
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.language.conditions import ColumnName
from wrackline.schemas.tables.table import TableId

NO_COLUMN = define(
    "pg.condition_column",
    OperatorNeeded,
    "the condition on {table} names {column}, which is not a published column",
    hint="use the name of a column as it is published; put a name with capitals in double quotes",
)


def where(connection: Connection, table: TableId, text: str, published: Collection[str]) -> str:
    """Write a condition; `published` are the columns whose values are published as they are."""

    def find(columns: Collection[ColumnName]) -> Mapping[ColumnName, PgKeyColumn]:
        names = {column: _fold_name(column) for column in columns}
        known = columns_of(connection, table, sorted(set(names.values()) & set(published)))
        for name in names.values():
            if name not in known:
                raise NO_COLUMN(table=table, column=name)
        return {column: known[name] for column, name in names.items()}

    def no_value(column: PgKeyColumn) -> WracklineError:
        return VALUE_REFUSED(doing=f"compare {column.name} of {table}", state="22021")

    return condition_sql(DIALECT, text, find, no_value)


def _fold_name(column: ColumnName) -> str:
    """Name a column as the server's parser does."""
    return column.name if column.quoted else column.name.lower()
