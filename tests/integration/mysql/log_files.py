"""What a server's own log files hold, so that a test needs no dump of the log."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection

from wrackline.producers.sources.mysql.events.table_map import TableMap, parse

HEADER = struct.Struct("<IBIIIH")
TABLE_MAP, MAGIC, CHECKSUM = 19, 4, 4
AMID_AN_EVENT = 1220  # MySQL shows a log as far as it is written, and fails where that is not an event's end


def ask(connection: "Connection[Any]", statement: str, *values: object) -> tuple[Any, ...]:
    """Run a statement and return its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return tuple(cursor.fetchall())


def is_mariadb(connection: "Connection[Any]") -> bool:
    """Whether a server is a MariaDB."""
    return "MariaDB" in ask(connection, "SELECT VERSION()")[0][0]


def log_events(connection: "Connection[Any]", file: str, place: int, tries: int = 20) -> tuple[Any, ...]:
    """Return what the server shows of its log from a place on, also while others write to it."""
    try:
        return ask(connection, f"SHOW BINLOG EVENTS IN '{file}' FROM {place}")
    except pymysql.err.OperationalError as error:
        if error.args[0] != AMID_AN_EVENT or tries == 1:
            raise
    return log_events(connection, file, place, tries - 1)


def bodies(connection: "Connection[Any]", *statements: str) -> list[bytes]:
    """Run statements and return the table maps that they leave in the log, as bytes."""
    ask(connection, "FLUSH BINARY LOGS")
    name = ask(connection, "SHOW BINARY LOGS")[-1][0]
    for statement in statements:
        ask(connection, statement)
    ask(connection, "FLUSH BINARY LOGS")
    [[base]] = ask(connection, "SELECT @@log_bin_basename")
    return list(_table_maps((Path(base).parent / name).read_bytes()))


def table_maps(connection: "Connection[Any]", *statements: str) -> list[TableMap]:
    """Run statements and return the table maps that they leave in the log."""
    mariadb = is_mariadb(connection)
    return [parse(body, mariadb=mariadb) for body in bodies(connection, *statements)]


def _table_maps(file: bytes) -> Iterator[bytes]:
    at = MAGIC
    while at < len(file):
        _, kind, _, size, _, _ = HEADER.unpack_from(file, at)
        if kind == TABLE_MAP:
            yield file[at + HEADER.size : at + size - CHECKSUM]
        at += size
