"""Asks a server for its log, as a replica does: what PyMySQL lacks, over a connection that it has opened.

    SET @… (what we can read) -> COM_REGISTER_SLAVE -> COM_BINLOG_DUMP | COM_BINLOG_DUMP_GTID -> packets

MariaDB knows GTIDs by a variable of the session and has one command for both; MySQL has two.  A variable
that a server does not know does no harm, so both get the same.  That checksums may come is always said: a
file that was written without them is sent without them.
"""

import select
import socket
import struct
import uuid
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

import pymysql
from pymysql.constants import COMMAND

from wrackline.producers.sources.mysql import kinds
from wrackline.producers.sources.mysql.connect import is_mariadb
from wrackline.producers.sources.mysql.dump_refusals import LOG_ENDED, log_refused
from wrackline.producers.sources.mysql.gtids import AnyGtids, MariaDbGtids
from wrackline.producers.sources.mysql.packets import Packets
from wrackline.producers.sources.mysql.position import MOST_OFFSET, PLACE_TOO_HIGH
from wrackline.producers.sources.mysql.server_errors import account_of

Connection: TypeAlias = "pymysql.Connection[pymysql.cursors.Cursor]"

FIRST_EVENT = 4  # behind the four bytes that each file begins with
_NO_WAITING = 1  # a flag of both: the dump ends where the log does
_HEARTBEAT_V2 = 2  # a flag of MySQL's: a heartbeat tells its place in 64 bits
_CAPABILITY = 4  # of MariaDB: what understands its GTID events
_PATIENCE_S = 600  # how long the server waits for us to read on
_ANSWER_S = 10


@dataclass(frozen=True, slots=True)
class Reader:
    """Who we are to the server; one id and UUID a stream, or the server ends the older one."""

    server_id: int
    uuid: uuid.UUID
    heartbeat_s: float
    most_event_bytes: int = 1 << 30
    waits: bool = True  # at the log's end for more; else the dump ends there


def dump_from(connection: Connection, reader: Reader, file: str, offset: int) -> Packets:
    """Let the log flow from a place on."""
    if offset > MOST_OFFSET:
        raise PLACE_TOO_HIGH(file=file, offset=offset)
    flags = _flags(reader, mariadb=is_mariadb(connection))
    command = struct.pack("<IHI", offset, flags, reader.server_id) + file.encode()
    return _flow(connection, reader, COMMAND.COM_BINLOG_DUMP, command)


def dump_after(connection: Connection, reader: Reader, gtids: AnyGtids) -> Packets:
    """Let the log flow, without the transactions of this set."""
    if isinstance(gtids, MariaDbGtids):
        flags = _flags(reader, mariadb=True)
        command = struct.pack("<IHI", FIRST_EVENT, flags, reader.server_id)
        return _flow(connection, reader, COMMAND.COM_BINLOG_DUMP, command, str(gtids))
    held = gtids.encoded()
    flags = _flags(reader, mariadb=False)
    command = struct.pack("<HIIQI", flags, reader.server_id, 0, FIRST_EVENT, len(held)) + held
    return _flow(connection, reader, COMMAND.COM_BINLOG_DUMP_GTID, command)


def begun(connection: Connection, reader: Reader, file: str) -> int:
    """Return when a file was begun, in seconds of the server's clock, as its first event says."""
    packets = dump_from(connection, reader, file, FIRST_EVENT)
    try:
        while True:
            event = packets.take()
            if event is None:
                select.select([packets], [], [], _ANSWER_S)
                if not packets.fill():
                    raise LOG_ENDED(reason=f"{file} does not begin")
            elif event[0][event[1] + 4] == kinds.FORMAT_DESCRIPTION:
                return int.from_bytes(event[0][event[1] : event[1] + 4], "little")
    finally:
        packets.close()


class _Driver(Protocol):
    """What we use of PyMySQL's connection beside its public face, for it has no other way."""

    _sock: socket.socket

    def _execute_command(self, command: int, sql: bytes) -> None: ...
    def _read_packet(self) -> object: ...


def _flags(reader: Reader, *, mariadb: bool) -> int:
    heartbeat = 0 if mariadb else _HEARTBEAT_V2  # MariaDB's flag 2 asks for something else
    return heartbeat if reader.waits else heartbeat | _NO_WAITING


def _flow(
    connection: Connection, reader: Reader, command: int, body: bytes, mariadb_gtids: str | None = None
) -> Packets:
    """Introduce us and send the command; from its first answer on the socket is the packets'.

    Where that fails the connection is closed.
    """
    driver = cast("_Driver", connection)
    user = account_of(connection)
    try:
        _introduce(connection, reader, mariadb_gtids)
        # id, then host, user, password and port that SHOW REPLICAS would show, rank, the source's id
        registered = struct.pack("<IBBBHII", reader.server_id, 0, 0, 0, 0, 0, 0)
        driver._execute_command(COMMAND.COM_REGISTER_SLAVE, registered)  # noqa: SLF001 see _Driver
        driver._read_packet()  # noqa: SLF001 see _Driver
        driver._execute_command(command, body)  # noqa: SLF001 see _Driver
    except pymysql.MySQLError as exc:
        number, words = (*exc.args, 0, "")[:2]
        refused = log_refused(number if isinstance(number, int) else 0, str(words), user)
    else:
        wire = driver._sock  # noqa: SLF001 see _Driver
        return Packets(wire, connection.close, user=user, most=reader.most_event_bytes)
    connection.close()
    raise refused


def _introduce(connection: Connection, reader: Reader, mariadb_gtids: str | None) -> None:
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
