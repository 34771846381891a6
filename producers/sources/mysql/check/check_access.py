"""Which rights are missing, found by the requests that a pipeline makes.

Grants can come from roles, patterns and the server's own kinds of rights, so none of them is read: the log is
requested under a name that no file has, tables are read without rows, and an INSERT is only explained.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import COMMAND

from wrackline.producers.sources.mysql.check import check_rules as rules
from wrackline.producers.sources.mysql.check import check_table_rules as table_rules
from wrackline.producers.sources.mysql.connect.connect import MySqlServer, query_dicts
from wrackline.producers.sources.mysql.connect.quoting import identifier, table_name
from wrackline.producers.sources.mysql.connect.server_errors import RIGHTS
from wrackline.producers.sources.mysql.connect.server_facts import Flavour, MySqlServerFacts
from wrackline.producers.sources.mysql.resume.xa_wait import NOT_SHOWN
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.tables.table import TableId

ABSENT = frozenset({1049, 1054, 1146})
ONLY_READS = frozenset({1290, 1792, 1836})
NO_SUCH_FILE = b"wrackline.no-such-file"
LOG_REFUSED = 1236

_NO_SUCH_TABLE = "wrackline, no such table"
_NO_GLOBAL_RIGHT, _NO_RIGHT_IN = 1227, 1044

_START, _NO_FLAGS = 4, 0


def reader(server: MySqlServer, account: str) -> Iterator[Finding]:
    """Request a log that does not exist: a missing right is reported first.

    A server ends a reader when another one with its number connects, so no reader of the pipeline has this
    number.
    """
    connection = server.connect()
    try:
        asked = struct.pack("<IHI", _START, _NO_FLAGS, server.fourth_id) + NO_SUCH_FILE
        connection._execute_command(COMMAND.COM_BINLOG_DUMP, asked)  # type: ignore[attr-defined] # noqa: SLF001
        connection._read_packet()  # type: ignore[no-untyped-call] # noqa: SLF001
    except pymysql.err.MySQLError as exc:
        if exc.args[0] in RIGHTS:
            yield rules.READER_FORBIDDEN(account=account)
        elif exc.args[0] != LOG_REFUSED:
            raise
    finally:
        if connection.open:
            connection.close()


def status(connection: "Connection[Any]", facts: MySqlServerFacts) -> list[dict[str, Any]] | None:
    """Return what the server shows about its log's end; None where our user may not see it."""
    try:
        return query_dicts(connection, facts.log_status)
    except pymysql.err.MySQLError as exc:
        if exc.args[0] in RIGHTS:
            return None
        raise


def xa_findings(connection: "Connection[Any]", facts: MySqlServerFacts, account: str) -> Iterator[Finding]:
    """Report it if prepared XA transactions are hidden from us; MariaDB shows them to every user."""
    if facts.flavour is Flavour.MYSQL and _refused(connection, "XA RECOVER") == NOT_SHOWN:
        yield rules.XA_FORBIDDEN(account=account)


def can_read(
    connection: "Connection[Any]", table: TableId, columns: Sequence[str], *, all_of_it: bool
) -> bool:
    """Whether these columns of a table may be read; `all_of_it`: hidden columns too."""
    listed = [*(["*"] if all_of_it else []), *map(identifier, columns)] or ["1"]
    try:
        query_dicts(connection, f"SELECT {', '.join(listed)} FROM {table_name(table)} LIMIT 0")  # noqa: S608 - quoted
    except pymysql.err.MySQLError as exc:
        if exc.args[0] in RIGHTS | ABSENT:
            return False
        raise
    return True


def whole(connection: "Connection[Any]", facts: MySqlServerFacts, table: TableId) -> Iterator[str]:
    """Name the rights that are missing to read a table without a key, as GRANT writes them.

    Both are tried with a table that does not exist, so that nothing is flushed or locked.
    """
    nowhere = f"{identifier(table.schema)}.{identifier(_NO_SUCH_TABLE)}"
    if _refused(connection, f"FLUSH LOCAL TABLES {nowhere} WITH READ LOCK") == _NO_GLOBAL_RIGHT:
        yield "RELOAD ON *.*"
    if facts.flavour is Flavour.MYSQL and _refused(connection, f"LOCK TABLES {nowhere} READ") == _NO_RIGHT_IN:
        yield f"LOCK TABLES ON {identifier(table.schema)}.*"


def _refused(connection: "Connection[Any]", statement: str) -> int:
    """Return the number of the error of a statement, or 0."""
    try:
        query_dicts(connection, statement)
    except pymysql.err.MySQLError as exc:
        return int(exc.args[0])
    query_dicts(connection, "UNLOCK TABLES")
    return 0


def signal_findings(connection: "Connection[Any]", table: TableId, account: str) -> Iterator[Finding]:
    """Report it if marks can't be written into the signal table."""
    insert = f"EXPLAIN INSERT INTO {table_name(table)} (id, type, data) VALUES ('', '', '')"  # noqa: S608
    try:
        query_dicts(connection, insert)
    except pymysql.err.MySQLError as exc:
        if exc.args[0] in ONLY_READS:
            yield rules.SERVER_READ_ONLY(table_name=table_name(table))
        elif exc.args[0] in RIGHTS | ABSENT:
            yield table_rules.SIGNAL_MISSING(table, table_name=table_name(table), account=account)
        else:
            raise
