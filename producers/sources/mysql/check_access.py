"""Which rights are missing, found out by asking for what a pipeline asks for.

Grants can come by roles, patterns and the server's own kinds of rights, so none of them is read: the log is
asked for under a name that no file has, tables for no rows, and an INSERT is only explained.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import COMMAND

from wrackline.producers.sources.mysql import check_rules as rules
from wrackline.producers.sources.mysql import check_table_rules as table_rules
from wrackline.producers.sources.mysql.connect import Server, ask
from wrackline.producers.sources.mysql.names import identifier, table_name
from wrackline.producers.sources.mysql.server_errors import RIGHTS
from wrackline.producers.sources.mysql.server_facts import Flavour, ServerFacts
from wrackline.producers.sources.mysql.xa_open import NOT_SHOWN
from wrackline.schemas.findings import Finding
from wrackline.schemas.table import TableId

ABSENT = frozenset({1049, 1054, 1146})
ONLY_READS = frozenset({1290, 1792, 1836})
NO_SUCH_FILE = b"wrackline.no-such-file"
LOG_REFUSED = 1236

_NO_SUCH_TABLE = "wrackline, no such table"
_NO_GLOBAL_RIGHT, _NO_RIGHT_IN = 1227, 1044

_START, _NO_FLAGS = 4, 0


def reader(server: Server, account: str) -> Iterator[Finding]:
    """Ask for a log that is not there: who may read none is told so first.

    A server ends the reader that has the number of one that comes, so no reader of the pipeline has this one.
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


def status(connection: "Connection[Any]", facts: ServerFacts) -> list[dict[str, Any]] | None:
    """Return what the server shows of its log's end; None where our user may not see it."""
    try:
        return ask(connection, facts.log_status)
    except pymysql.err.MySQLError as exc:
        if exc.args[0] in RIGHTS:
            return None
        raise


def prepared(connection: "Connection[Any]", facts: ServerFacts, account: str) -> Iterator[Finding]:
    """Say whether XA transactions that are prepared are shown to us; MariaDB shows them to anybody."""
    if facts.flavour is Flavour.MYSQL and _refused(connection, "XA RECOVER") == NOT_SHOWN:
        yield rules.XA_FORBIDDEN(account=account)


def readable(
    connection: "Connection[Any]", table: TableId, columns: Sequence[str], *, all_of_it: bool
) -> bool:
    """Whether these columns of a table may be read; `all_of_it`: and those that we are not shown."""
    listed = [*(["*"] if all_of_it else []), *map(identifier, columns)] or ["1"]
    try:
        ask(connection, f"SELECT {', '.join(listed)} FROM {table_name(table)} LIMIT 0")  # noqa: S608 - quoted
    except pymysql.err.MySQLError as exc:
        if exc.args[0] in RIGHTS | ABSENT:
            return False
        raise
    return True


def whole(connection: "Connection[Any]", facts: ServerFacts, table: TableId) -> Iterator[str]:
    """Name the rights that are missing to read a table without a key, as GRANT writes them.

    Both are asked for with a table that is not there, so that nothing is flushed or locked.
    """
    nowhere = f"{identifier(table.schema)}.{identifier(_NO_SUCH_TABLE)}"
    if _refused(connection, f"FLUSH LOCAL TABLES {nowhere} WITH READ LOCK") == _NO_GLOBAL_RIGHT:
        yield "RELOAD ON *.*"
    if facts.flavour is Flavour.MYSQL and _refused(connection, f"LOCK TABLES {nowhere} READ") == _NO_RIGHT_IN:
        yield f"LOCK TABLES ON {identifier(table.schema)}.*"


def _refused(connection: "Connection[Any]", statement: str) -> int:
    """Return the number of the error that a statement ends with."""
    try:
        ask(connection, statement)
    except pymysql.err.MySQLError as exc:
        return int(exc.args[0])
    ask(connection, "UNLOCK TABLES")
    return 0


def signals(connection: "Connection[Any]", table: TableId, account: str) -> Iterator[Finding]:
    """Say whether marks can be written into the signal table."""
    insert = f"EXPLAIN INSERT INTO {table_name(table)} (id, type, data) VALUES ('', '', '')"  # noqa: S608
    try:
        ask(connection, insert)
    except pymysql.err.MySQLError as exc:
        if exc.args[0] in ONLY_READS:
            yield rules.SERVER_READ_ONLY(table_name=table_name(table))
        elif exc.args[0] in RIGHTS | ABSENT:
            yield table_rules.SIGNAL_MISSING(table, table_name=table_name(table), account=account)
        else:
            raise
