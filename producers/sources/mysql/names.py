"""Names as they stand in SQL and on a shell's command line, so that a hint runs as it is pasted."""

import shlex

from wrackline.schemas.table import TableId


def identifier(name: str) -> str:
    """Quote a name for SQL, whatever the session's sql_mode."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Quote a text for SQL; a backslash is doubled, for only NO_BACKSLASH_ESCAPES would take one as such."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def table_name(table: TableId) -> str:
    """Quote a table's name with its database."""
    return f"{identifier(table.schema)}.{identifier(table.name)}"


def account(user: str, host: str = "%") -> str:
    """Write an account as GRANT takes it."""
    return f"{literal(user)}@{literal(host)}"


def client(host: str, port: str, user: str) -> str:
    """Write the command that connects there and asks for the password."""
    return f"mysql -h {shlex.quote(host)} -P {port} -u {shlex.quote(user)} -p"
