"""The statements that describe tables, on a connection to their database.  Pure."""

from typing import Final

from wrackline.producers.sources.sqlserver.connect.quoting import literal
from wrackline.schemas.tables.table import TableId

# All tables, with the login's rights: of a table that it can't read a copy is not possible.
TABLES: Final = (
    "SELECT s.name, t.name, t.object_id FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id"
    " WHERE t.is_ms_shipped = 0 ORDER BY s.name, t.name;"
)

# By the server's own count, of each partition; a nonclustered index has the same rows again.
ROWS: Final = (
    "SELECT s.name, t.name, p.rows FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id"
    " JOIN sys.partitions p ON p.object_id = t.object_id WHERE t.is_ms_shipped = 0 AND p.index_id IN (0, 1);"
)


# Whether our login sees other values than masked columns have; before SQL Server 2022 no table has the right.
_MASKS: Final = (
    "ISNULL(HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'UNMASK'), 0) = 0 AND ISNULL(HAS_PERMS_BY_NAME("
    "QUOTENAME(OBJECT_SCHEMA_NAME(k.object_id)) + N'.' + QUOTENAME(OBJECT_NAME(k.object_id)), N'OBJECT',"
    " N'UNMASK'), 0) = 0"
)


def _of(column: str, object_id: int | None) -> str:
    """Narrow a statement to one table, or to all that are captured."""
    if object_id is not None:
        return f"{column} = {object_id}"
    return f"{column} IN (SELECT source_object_id FROM cdc.change_tables)"  # noqa: S608 - our own names


def id_of(table: TableId) -> str:
    """Select a table's object_id."""
    return (
        "SELECT t.object_id FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id"  # noqa: S608
        f" WHERE s.name = {literal(table.schema)} AND t.name = {literal(table.name)};"
    )


def columns(object_id: int | None) -> str:
    """List the columns of tables, each with its system type; a CLR type of a user's is clr.

    Of an encrypted column it is the type of what nobody here can decrypt.
    """
    return (
        "SELECT k.object_id, k.name, k.column_id, CASE WHEN t.is_assembly_type = 1 AND t.is_user_defined = 1"  # noqa: S608
        " THEN N'clr' WHEN t.is_assembly_type = 1 THEN t.name ELSE b.name END, k.max_length, k.precision,"
        " k.scale, k.is_computed, k.is_nullable, k.collation_name,"
        f" CASE WHEN k.is_masked = 1 AND {_MASKS} THEN 1 ELSE 0 END,"
        " CASE WHEN k.encryption_type IS NULL THEN 0 ELSE 1 END FROM sys.columns k"
        " JOIN sys.types t ON t.user_type_id = k.user_type_id"
        " LEFT JOIN sys.types b ON b.user_type_id = k.system_type_id"
        f" WHERE {_of('k.object_id', object_id)} ORDER BY k.object_id, k.column_id;"
    )


def keys(object_id: int | None) -> str:
    """List the columns of unique indexes that say something about all rows."""
    return (
        "SELECT i.object_id, i.index_id, i.is_primary_key, x.column_id FROM sys.indexes i"  # noqa: S608
        " JOIN sys.index_columns x ON x.object_id = i.object_id AND x.index_id = i.index_id"
        " WHERE i.is_unique = 1 AND i.is_disabled = 0 AND i.has_filter = 0 AND x.is_included_column = 0"
        f" AND {_of('i.object_id', object_id)} ORDER BY i.object_id, i.index_id, x.key_ordinal;"
    )
