"""What all contenders of a bench share: a broker, and a database with the table `orders`.

with kafka() as bootstrap, postgres() as at  ->  running servers of the local stack; stopped at the end
"""

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pymysql

from bench.address import Address
from bench.peers.slot import PUBLICATION, connect
from bench.workloads import orders
from wrackline.control.stack import mariadb as mariadb_edition
from wrackline.control.stack.binlog_server import BinlogServer
from wrackline.control.stack.kafka import Kafka
from wrackline.control.stack.postgres import Postgres

POSTGRES_MAJOR = 15
DATABASE = "shop"


@contextmanager
def kafka() -> Iterator[str]:
    """Start a broker; its address for clients."""
    with _folder() as folder:
        server = Kafka(folder)
        server.process.start()
        try:
            yield server.bootstrap
        finally:
            server.process.stop()


@contextmanager
def postgres() -> Iterator[Address]:
    """Start PostgreSQL with an empty table, published."""
    with _folder() as folder:
        server = Postgres(folder, POSTGRES_MAJOR)
        server.process.start()
        try:
            at = Address(server.port, "postgres", "", "postgres")
            with connect(at) as session:
                session.execute(orders.POSTGRES_TABLE)
                session.execute(f"create publication {PUBLICATION} for table {orders.TABLE}")
            yield at
        finally:
            server.process.stop()


@contextmanager
def mariadb() -> Iterator[Address]:
    """Start MariaDB with an empty table."""
    with _folder() as folder:
        server = BinlogServer(folder, mariadb_edition.of_central())
        server.process.start()
        try:
            with closing(_session(Address(server.port, server.user, server.password, "mysql"))) as session:
                session.query(f"create database {DATABASE} character set utf8mb4")
            at = Address(server.port, server.user, server.password, DATABASE)
            with closing(_session(at)) as session:
                session.query(orders.MYSQL_TABLE)
            yield at
        finally:
            server.process.stop()


def fill_postgres(at: Address, rows: int) -> None:
    """Put the rows there, settled as a table in use is."""
    with connect(at) as session:
        session.execute(orders.postgres_insert(1, rows))
        session.execute(f"vacuum (freeze, analyze) {orders.TABLE}")


def change_postgres(at: Address, changes: int) -> None:
    """Write the backlog: half inserts, half updates."""
    with connect(at) as session:
        for first, last in orders.transactions(changes):
            session.execute(orders.postgres_insert(first, last))
            session.execute(orders.update(first, last))


def fill_mysql(at: Address, rows: int) -> None:
    """Put the rows there; without the log, which nobody reads before a snapshot."""
    with closing(_session(at)) as session:
        session.query("set session sql_log_bin = 0")
        for first, last in orders.spans(rows):
            session.query(orders.mysql_insert(first, last))


def change_mysql(at: Address, changes: int) -> None:
    """Write the backlog: half inserts, half updates."""
    with closing(_session(at)) as session:
        for first, last in orders.transactions(changes):
            session.query(orders.mysql_insert(first, last))
            session.query(orders.update(first, last))


def _session(at: Address) -> "pymysql.Connection[pymysql.cursors.Cursor]":
    return pymysql.connect(
        host="127.0.0.1",
        port=at.port,
        user=at.user,
        password=at.password,
        database=at.database,
        autocommit=True,
        init_command="set time_zone = '+00:00'",
    )


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="wrackline-bench-") as folder:
        yield Path(folder)
