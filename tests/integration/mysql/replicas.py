"""A primary and a replica of it, which applies with several threads and writes a log of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.integration.mysql.world import run
from wrackline.control.local.stack import binlog_server, mariadb, mysql
from wrackline.control.local.stack.servers import MysqlServer

_MYSQL = ("--log-replica-updates=ON", "--replica-parallel-workers=4", "--replica-preserve-commit-order=OFF")
_MARIADB = ("--log-slave-updates=ON", "--slave-parallel-threads=4", "--slave-parallel-mode=optimistic")


@contextmanager
def replicated(flavour: str, folder: Path) -> Iterator[tuple[MysqlServer, MysqlServer]]:
    """Start both; nobody can write into the replica, the administrator neither."""
    edition = mysql.pinned_mysql() if flavour == "mysql" else mariadb.pinned_edition()
    more = _MYSQL if flavour == "mysql" else _MARIADB
    primary = binlog_server.server(folder / "primary", edition)
    second = replace(edition, settings=(*edition.settings, "--server-id=2", *more))
    replica = binlog_server.server(folder / "replica", second)
    try:
        for server in (primary, replica):
            server.process.start()
        follow(flavour, primary, replica)
        yield primary, replica
    finally:
        for server in (replica, primary):
            server.process.stop()


def follow(flavour: str, primary: MysqlServer, replica: MysqlServer) -> None:
    """Have the replica follow, and refuse all writes."""
    place = f"HOST = '127.0.0.1', {{0}}_PORT = {primary.port}, {{0}}_USER = 'root'"
    if flavour == "mysql":
        source = place.format("SOURCE")
        run(
            replica,
            f"CHANGE REPLICATION SOURCE TO SOURCE_{source}, SOURCE_AUTO_POSITION = 1,"
            " GET_SOURCE_PUBLIC_KEY = 1",
            "START REPLICA",
            "SET GLOBAL super_read_only = ON",
        )
        return
    source = place.format("MASTER")
    run(
        replica,
        f"CHANGE MASTER TO MASTER_{source}, MASTER_USE_GTID = slave_pos, MASTER_SSL = 0",
        "START SLAVE",
        "SET SESSION sql_log_bin = 0",
        "REVOKE READ_ONLY ADMIN ON *.* FROM root@localhost",
        "SET GLOBAL read_only = ON",
    )
