"""What is tried on a MySQL or MariaDB server before a start.

    login   two sessions at once, with TLS as set
    log     the log's end -> a row of the signal table, or the heartbeat's query -> a dump from that end

The row must come as a row, whole, and its table with the names of its columns.  A row that a killed trial
left is removed by one an hour later.  A dump has a number by chance and does not wait at the log's end, so
no reader is ended by it, not even that of another trial, and nothing stays open.
"""

import hashlib
import random
import struct
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import pymysql
from pymysql.connections import Connection

from wrackline.producers.contract.trials import (
    LEFT_S,
    URL_UNREADABLE,
    LogPace,
    Measures,
    Trial,
    trial_stamp,
)
from wrackline.producers.failpoints import reach
from wrackline.producers.kit.readable import readable
from wrackline.producers.sources.mysql.chunks.mark_settings import signal_table
from wrackline.producers.sources.mysql.connect import tls
from wrackline.producers.sources.mysql.connect.connect import MySqlServer, query_dicts
from wrackline.producers.sources.mysql.connect.quoting import literal, table_name
from wrackline.producers.sources.mysql.connect.server_errors import RIGHTS, translate_errors
from wrackline.producers.sources.mysql.connect.server_facts import Flavour, MySqlServerFacts, facts_of
from wrackline.producers.sources.mysql.events import event_kinds, table_map
from wrackline.producers.sources.mysql.events.events import HEADER, Frames
from wrackline.producers.sources.mysql.events.packed_events import plain_events
from wrackline.producers.sources.mysql.events.packed_numbers import packed_number
from wrackline.producers.sources.mysql.heartbeat import MySqlHeartbeat
from wrackline.producers.sources.mysql.log.dump import DumpReader, dump_from, file_creation_time
from wrackline.producers.sources.mysql.log.dump_refusals import LOG_ENDED
from wrackline.producers.sources.mysql.log.packets import Packets
from wrackline.producers.sources.mysql.rows.rows import ROW_IMAGE
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.redaction import Redactor, Secret
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

LOG_UNSEEN = define(
    "mysql.log_unseen",
    OperatorNeeded,
    "a row that was written into {table} did not come in the log as a row",
    hint="see how the server logs it: SELECT @@global.binlog_format, @@global.binlog_row_image;"
    " SHOW BINARY LOG STATUS, on MariaDB SHOW MASTER STATUS: binlog_do_db and binlog_ignore_db; and connect"
    " to the server itself, not through a proxy: database.hostname, database.port",
)
ADMIN_REFUSED = define(
    "mysql.admin_refused",
    OperatorNeeded,
    "the fix could not be run: {reason}",
    hint="check the URL: mysql://<user>:<password>@<host>:<port>; or run the statement by hand",
)

PATIENCE_S: Final = 10.0
_HOUR_S: Final = 3600
_FILES: Final = 8  # of the log, whose beginnings are asked for
_ROWS = event_kinds.ROWS - {event_kinds.PARTIAL_UPDATE_ROWS}
_FIRST_V2 = event_kinds.WRITE_ROWS_V2


class MySqlTrials:
    """Tries one server; each trial has connections of its own."""

    def __init__(self, server: MySqlServer, settings: Values) -> None:
        self._server, self._settings = server, settings
        name = hashlib.sha256(settings.text("name").encode()).hexdigest()
        self._rows = f"wrackline-trial-{name[:8]}-"
        self._row = f"{self._rows}{trial_stamp(time.time(), random.getrandbits(32))}"  # 42 characters

    def trials(self) -> Sequence[Trial]:
        """Return the trials."""
        return (
            Trial("login", "two log-ins at once, with TLS as set", self._log_in),
            Trial("log", "the log is sent to us, and a row of ours is found in it", self._find_row),
        )

    def clock_ms(self) -> int:
        """Ask the server."""
        with self._asking("show its clock") as connection:
            [row] = query_dicts(connection, "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED) AS now")
        return int(row["now"])

    def log_pace(self) -> LogPace:
        """Count the bytes of the log since an hour ago, by the files that were begun since."""
        with self._asking("list its log") as connection:
            facts = facts_of(connection)
            files = query_dicts(connection, "SHOW BINARY LOGS")
            [clock] = query_dicts(connection, "SELECT UNIX_TIMESTAMP() AS now")
        written, age = 0, 0
        for row in list(reversed(files))[:_FILES]:
            written += int(row["File_size"])
            age = int(clock["now"]) - file_creation_time(
                self._server.connect(), self._reader(), str(row["Log_name"])
            )
            if age >= _HOUR_S:
                break
        keep = "SET PERSIST" if facts.flavour is Flavour.MYSQL else "SET GLOBAL"
        return LogPace(
            written / age if age > 0 else None,
            float(age),
            facts.log_limit[1] if facts.log_limit else None,
            facts.log_kept_s or None,
            f"{keep} binlog_expire_logs_seconds = {{seconds}}",
        )

    def mend(self, admin: Secret, statement: str) -> None:
        """Run it, with TLS as the pipeline has it."""
        password = Secret("")
        try:
            given = urlsplit(admin.reveal())
            password, port = Secret(unquote(given.password or "")), given.port
            with pymysql.connect(
                host=given.hostname or self._server.login.host,
                port=port or int(self._server.login.port),
                user=unquote(given.username or ""),
                password=password.reveal(),
                autocommit=True,
                connect_timeout=int(PATIENCE_S),
                ssl=tls.context(self._settings),
                ssl_disabled=tls.mode(self._settings) == tls.DISABLED,
            ) as connection:
                query_dicts(connection, "SET lock_wait_timeout = 5")
                query_dicts(connection, statement)
        except (pymysql.err.Error, OSError, RuntimeError) as exc:
            words = str(exc.args[-1]) if exc.args else type(exc).__name__
            reason = Redactor([admin, password]).clean(words)
        except ValueError:
            reason = URL_UNREADABLE
        else:
            return
        raise ADMIN_REFUSED(reason=reason)

    def _log_in(self) -> Measures:
        with self._server.connect() as first, self._server.connect():
            [row] = query_dicts(first, "SHOW SESSION STATUS LIKE 'Ssl_cipher'")
        return {"tls": "yes" if row["Value"] else "no"}

    def _find_row(self) -> Measures:
        with self._asking("try its log") as connection:
            facts = facts_of(connection)
            shown = query_dicts(connection, facts.log_status)
            file, offset = str(shown[0]["File"]), int(shown[0]["Position"])
            began = time.monotonic()
            table = self._written(connection, facts)
        packets = dump_from(self._server.connect(), self._reader(), file, offset)
        with closing(packets):
            events = _events(packets, self._settings.integer("max.row.bytes"))
            if table is None:
                next(events)
            elif not list(_rows_of(table, events, mariadb=facts.flavour is Flavour.MARIADB)):
                raise LOG_UNSEEN(table=table)
        written = "no" if table is None else str(table)
        return {"seconds": round(time.monotonic() - began, 3), "written": written}

    def _written(self, connection: "Connection[Any]", facts: MySqlServerFacts) -> TableId | None:
        """Write a row and remove it; None where no row of ours can be written and removed."""
        table = signal_table(self._settings, facts)
        if self._settings.flag("read.only"):
            return None
        if table is None or not _may_delete(connection, table):
            with closing(MySqlHeartbeat(self._server, self._settings)) as heartbeat:
                heartbeat.beat()
            return None
        gone = f"DELETE FROM {table_name(table)} WHERE id = {literal(self._row)}"  # noqa: S608 - quoted
        before = f"{self._rows}{trial_stamp(time.time() - LEFT_S, 0)}"
        left = f"id > {literal(self._rows)} AND id < {literal(before)}"
        query_dicts(connection, f"DELETE FROM {table_name(table)} WHERE {left}")  # noqa: S608 - quoted
        try:
            kind = "snapshot-window-close"  # of a window that nobody has: a running pipeline passes it by
            insert = f"INSERT INTO {table_name(table)} (id, type, data) VALUES (%s, %s, %s)"  # noqa: S608
            query_dicts(connection, insert, self._row, kind, "{}")
            reach("probe_signal")
        finally:
            query_dicts(connection, gone)
        return table

    def _reader(self) -> DumpReader:
        number = 1 << 31 | random.getrandbits(31)
        return DumpReader(
            number, uuid.uuid4(), PATIENCE_S, self._settings.integer("max.row.bytes"), waits=False
        )

    @contextmanager
    def _asking(self, doing: str) -> Iterator["Connection[Any]"]:
        with self._server.connect_to_ask() as connection, translate_errors(connection, doing):
            yield connection


def _may_delete(connection: "Connection[Any]", table: TableId) -> bool:
    try:
        query_dicts(connection, f"EXPLAIN DELETE FROM {table_name(table)} WHERE id = ''")  # noqa: S608
    except pymysql.err.MySQLError as exc:
        if exc.args[0] in RIGHTS:
            return False
        raise
    return True


Event = tuple[bytes, int, int]


def _events(packets: Packets, most: int) -> Iterator[Event]:
    """Yield the plain events of a dump that ends where the log ends, each without its checksum."""
    frames, deadline = Frames(), time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            event = packets.take()
        except WracklineError as error:
            if error.code == LOG_ENDED.code:
                return
            raise
        if event is None:
            readable([packets], PATIENCE_S)
            packets.fill()
            continue
        data, at, end = event
        body = frames.body_end(data, at, end)
        if data[at + 4] in event_kinds.PACKED:
            yield from plain_events(data, at, body, most)
        else:
            yield data, at, body


def _rows_of(table: TableId, events: Iterator[Event], *, mariadb: bool) -> Iterator[int]:
    """Yield the kind of each event that has rows of this table; rows in part are refused."""
    number: bytes | None = None
    for data, at, end in events:
        kind, body = data[at + 4], at + HEADER
        if kind == event_kinds.TABLE_MAP and _named(data, body) == (table.schema, table.name):
            table_map.parse(data[body:end], mariadb=mariadb)
            number = data[body : body + 6]
        elif kind in _ROWS and number == data[body : body + 6]:
            if not _is_whole(data, body, end, kind):
                raise ROW_IMAGE(table=table)
            yield kind


def _named(data: bytes, body: int) -> tuple[str, str]:
    """Return the database and the name that a table map begins with."""
    at = body + 8
    names = []
    for _ in range(2):
        size = data[at]
        names.append(data[at + 1 : at + 1 + size].decode(errors="replace"))
        at += size + 2
    return names[0], names[1]


def _is_whole(data: bytes, body: int, end: int, kind: int) -> bool:
    """Whether rows have all columns of their table: the bits of its first image are all set."""
    at = body + 8
    if kind >= _FIRST_V2:
        at += struct.unpack_from("<H", data, at)[0]
    count, at = packed_number(data, at, end)
    bits = int.from_bytes(data[at : at + (count + 7) // 8], "little")
    return bits & (1 << count) - 1 == (1 << count) - 1
