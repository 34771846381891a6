"""What is there in the target, read from the server's catalogue as rows.

As rows, because `to_regclass` answers from a session's cache, which may be older than a lock that the
session has just been given, and fails where the role has no right to a schema.
"""

from wrackline.consumers.targets.postgres.connect import Connection

_RELATION = """
SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s"""
_COLUMNS = """
SELECT attname, attnum, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""


def has_schema(connection: Connection, name: str) -> bool:
    """Whether a schema is there."""
    return connection.execute("SELECT FROM pg_namespace WHERE nspname = %s", [name]).fetchone() is not None


def relation(connection: Connection, schema: str, name: str) -> int | None:
    """Return a table's or view's oid, if it is there."""
    found = connection.execute(_RELATION, [schema, name]).fetchone()
    return None if found is None else found[0]


def columns(connection: Connection, oid: int) -> list[tuple[str, int, str]]:
    """Return the columns of a table or view: name, number and type, in their order."""
    return connection.execute(_COLUMNS, [oid]).fetchall()
