"""Names as they are written in SQL and on a shell's command line, so that a hint runs as it is pasted."""

import shlex

from wrackline.schemas.tables.table import TableId


def identifier(name: str) -> str:
    """Quote a name for SQL, for any sql_mode of the session."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Quote a text for SQL; a backslash is doubled, because only NO_BACKSLASH_ESCAPES reads it literally."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def table_name(table: TableId) -> str:
    """Quote a table's name with its database."""
    return f"{identifier(table.schema)}.{identifier(table.name)}"


def account(user: str, host: str = "%") -> str:
    """Write an account as GRANT takes it."""
    return f"{literal(user)}@{literal(host)}"


def client(host: str, port: str, user: str) -> str:
    """Write the command that connects to this server and asks for the password."""
    return f"mysql -h {shlex.quote(host)} -P {port} -u {shlex.quote(user)} -p"
