"""Names as they stand in SQL, so that a hint runs as it is pasted."""

from wrackline.schemas.table import TableId


def identifier(name: str) -> str:
    """Quote a name for SQL."""
    return "`" + name.replace("`", "``") + "`"


def table_name(table: TableId) -> str:
    """Quote a table's name with its database."""
    return f"{identifier(table.schema)}.{identifier(table.name)}"
