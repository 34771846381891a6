"""Names and texts as they are written in SQL, so that a hint runs as it is pasted.  Pure.

Names are written as the catalogue has them, never folded: `"Orders"` and `ORDERS` are two tables.
"""

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.table import TableId

NAME_UNQUOTABLE = define(
    "oracle.name_unquotable",
    OperatorNeeded,
    "the name {name} is empty, or has a character that Oracle can't quote: a quotation mark or NUL",
    hint="correct the settings; the names of tables: SELECT OWNER, TABLE_NAME FROM ALL_TABLES;",
)


def identifier(name: str) -> str:
    """Quote a name; one with a quotation mark can't be quoted, and the server has none."""
    if not name or '"' in name or "\0" in name:
        raise NAME_UNQUOTABLE(name=ascii(name))
    return f'"{name}"'


def literal(text: str) -> str:
    """Quote a text."""
    return "'" + text.replace("'", "''") + "'"


def table_name(table: TableId) -> str:
    """Quote a table's name with its owner: a session is in the database already."""
    return f"{identifier(table.schema)}.{identifier(table.name)}"
