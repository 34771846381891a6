"""A look at rows that ends by itself: one statement with a time limit, which includes waits for locks."""

from typing import Any

import pymysql
from pymysql.connections import Connection

from wrackline.producers.sources.mysql.chunks.marks import query_rows
from wrackline.producers.sources.mysql.connect.connect import is_mariadb

# Errors that say nothing about the rows: no time (on both servers), no right, no such column.
_UNKNOWN = frozenset({3024, 1969, 1142, 1143, 1054})


def query_bounded(
    connection: "Connection[Any]", columns: str, source: str, seconds: int
) -> tuple[Any, ...] | None:
    """Return the one row of `SELECT columns FROM source`; None where the server can't answer in time."""
    if is_mariadb(connection):
        query = f"SET STATEMENT max_statement_time = {seconds} FOR SELECT {columns} FROM {source}"  # noqa: S608 quoted names
    else:
        limit = f"/*+ MAX_EXECUTION_TIME({seconds * 1000}) */"
        query = f"SELECT {limit} {columns} FROM {source}"  # noqa: S608
    try:
        (found,) = query_rows(connection, query)
    except pymysql.MySQLError as exc:
        if exc.args and exc.args[0] in _UNKNOWN:
            return None
        raise
    return found
