"""Requests a server's log, as a replica does: PyMySQL lacks this, but has opened the connection.

    SET @… (what we can read) -> COM_REGISTER_SLAVE -> COM_BINLOG_DUMP | COM_BINLOG_DUMP_GTID -> packets

MariaDB takes GTIDs from a variable of the session and has one command for both; MySQL has two.  A variable
that a server does not know does no harm, so both get the same variables.  We always announce that we accept
checksums: a file that was written without them is sent without them.
"""

import socket
import struct
import uuid
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

import pymysql
from pymysql.constants import COMMAND

from wrackline.producers.kit.readable import readable
from wrackline.producers.sources.mysql.connect.connect import is_mariadb
from wrackline.producers.sources.mysql.connect.server_errors import account_of
from wrackline.producers.sources.mysql.events import event_kinds
from wrackline.producers.sources.mysql.events.gtids import AnyGtids, MariaDbGtids
from wrackline.producers.sources.mysql.log.dump_refusals import LOG_ENDED, log_refused
from wrackline.producers.sources.mysql.log.packets import Packets
from wrackline.producers.sources.mysql.log.position import MOST_OFFSET, PLACE_TOO_HIGH

Connection: TypeAlias = "pymysql.Connection[pymysql.cursors.Cursor]"

FIRST_EVENT = 4  # behind the four bytes at the beginning of each file
_NO_WAITING = 1  # a flag of both: the dump ends where the log ends
_HEARTBEAT_V2 = 2  # a flag of MySQL: a heartbeat has its place in 64 bits
_CAPABILITY = 4  # of MariaDB: the reader understands its GTID events
_PATIENCE_S = 600  # how long the server waits for our next read
_ANSWER_S = 10


@dataclass(frozen=True, slots=True)
class DumpReader:
    """Our identity on the server; one id and UUID for each stream, or the server ends the older stream."""

    server_id: int
    uuid: uuid.UUID
    heartbeat_s: float
    most_event_bytes: int = 1 << 30
    waits: bool = True  # at the log's end for more; otherwise the dump ends there


def dump_from(connection: Connection, reader: DumpReader, file: str, offset: int) -> Packets:
    """Start the log from a place on."""
    if offset > MOST_OFFSET:
        raise PLACE_TOO_HIGH(file=file, offset=offset)
    flags = _flags(reader, mariadb=is_mariadb(connection))
    command = struct.pack("<IHI", offset, flags, reader.server_id) + file.encode()
    return _flow(connection, reader, COMMAND.COM_BINLOG_DUMP, command)


def dump_after(connection: Connection, reader: DumpReader, gtids: AnyGtids) -> Packets:
    """Start the log, without the transactions of this set."""
    if isinstance(gtids, MariaDbGtids):
        flags = _flags(reader, mariadb=True)
        command = struct.pack("<IHI", FIRST_EVENT, flags, reader.server_id)
        return _flow(connection, reader, COMMAND.COM_BINLOG_DUMP, command, str(gtids))
    held = gtids.encoded()
    flags = _flags(reader, mariadb=False)
    command = struct.pack("<HIIQI", flags, reader.server_id, 0, FIRST_EVENT, len(held)) + held
    return _flow(connection, reader, COMMAND.COM_BINLOG_DUMP_GTID, command)


def file_creation_time(connection: Connection, reader: DumpReader, file: str) -> int:
    """Return when a file was begun, in seconds of the server's clock, as its first event says."""
    packets = dump_from(connection, reader, file, FIRST_EVENT)
    try:
        while True:
            event = packets.take()
            if event is None:
                readable([packets], _ANSWER_S)
                if not packets.fill():
                    raise LOG_ENDED(reason=f"{file} does not begin")
            elif event[0][event[1] + 4] == event_kinds.FORMAT_DESCRIPTION:
                return int.from_bytes(event[0][event[1] : event[1] + 4], "little")
    finally:
        packets.close()


class _DriverConnection(Protocol):
    """What we use of PyMySQL's connection beyond its public interface, because there is no other way."""

    _sock: socket.socket

    def _execute_command(self, command: int, sql: bytes) -> None: ...
    def _read_packet(self) -> object: ...


def _flags(reader: DumpReader, *, mariadb: bool) -> int:
    heartbeat = 0 if mariadb else _HEARTBEAT_V2  # MariaDB's flag 2 means something else
    return heartbeat if reader.waits else heartbeat | _NO_WAITING


def _flow(
    connection: Connection, reader: DumpReader, command: int, body: bytes, mariadb_gtids: str | None = None
) -> Packets:
    """Register us and send the command; from its first answer on, `Packets` owns the socket.

    If that fails, the connection is closed.
    """
    driver = cast("_DriverConnection", connection)
    user = account_of(connection)
    try:
        _introduce(connection, reader, mariadb_gtids)
        # id, then host, user, password and port as SHOW REPLICAS would show them, rank, the source's id
        registered = struct.pack("<IBBBHII", reader.server_id, 0, 0, 0, 0, 0, 0)
        driver._execute_command(COMMAND.COM_REGISTER_SLAVE, registered)  # noqa: SLF001 see _DriverConnection
        driver._read_packet()  # noqa: SLF001 see _DriverConnection
        driver._execute_command(command, body)  # noqa: SLF001 see _DriverConnection
    except pymysql.MySQLError as exc:
        number, words = (*exc.args, 0, "")[:2]
        refused = log_refused(number if isinstance(number, int) else 0, str(words), user)
    else:
        wire = driver._sock  # noqa: SLF001 see _DriverConnection
        return Packets(wire, connection.close, user=user, most=reader.most_event_bytes)
    connection.close()
    raise refused


def _introduce(connection: Connection, reader: DumpReader, mariadb_gtids: str | None) -> None:
    period, name = int(reader.heartbeat_s * 1e9), str(reader.uuid)
    with connection.cursor() as cursor:
        cursor.execute(
            "SET @master_heartbeat_period = %s, @source_heartbeat_period = %s,"
            " @master_binlog_checksum = 'CRC32', @source_binlog_checksum = 'CRC32',"
            " @slave_uuid = %s, @replica_uuid = %s, @mariadb_slave_capability = %s,"
            " SESSION net_write_timeout = %s",
            (period, period, name, name, _CAPABILITY, _PATIENCE_S),
        )
        if mariadb_gtids is not None:
            cursor.execute(
                "SET @slave_connect_state = %s, @slave_gtid_strict_mode = 1,"
                " @slave_gtid_ignore_duplicates = 0",
                (mariadb_gtids,),
            )
