"""Names and texts as they are written in T-SQL, so that a hint runs as it is pasted.  Pure.

Names are written as the catalogue has them, never folded: with a case-sensitive collation `Orders` and
`orders` are two tables.
"""

from wrackline.schemas.tables.table import TableId


def identifier(name: str) -> str:
    """Quote a name, whatever QUOTED_IDENTIFIER is."""
    return "[" + name.replace("]", "]]") + "]"


def literal(text: str) -> str:
    """Quote a text as nvarchar: no character of it depends on the database's code page."""
    return "N'" + text.replace("'", "''") + "'"


def binary_literal(value: bytes) -> str:
    """Write bytes."""
    return "0x" + value.hex()


def table_name(table: TableId) -> str:
    """Quote a table's name; Azure SQL Database takes its own name before it, and no other database's."""
    return ".".join(map(identifier, table))


def system_name(database: str | None, name: str) -> str:
    """Write the name of a table of `cdc` or `sys`, such as `cdc.change_tables`, of one database."""
    return name if database is None else f"{identifier(database)}.{name}"
