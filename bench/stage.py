"""What all contenders of a bench share: servers of the local stack, and the table `orders` in one of them.

with servers() as stack: at = postgres(stack); fill_postgres(at, rows)   ->  stopped and deleted at the end
"""

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from shutil import which

import pymysql

from bench.address import Address
from bench.peers.slot import PUBLICATION, connect, drop_slots
from bench.workloads import lineitem as tpch
from bench.workloads import orders
from wrackline.control.local.stack.stack import Stack

DATABASE = "shop"


@contextmanager
def servers() -> Iterator[Stack]:
    """Open a stack in a folder that goes away with it."""
    with tempfile.TemporaryDirectory(prefix="wrackline-bench-") as folder, Stack(folder) as stack:
        yield stack


def postgres(stack: Stack) -> Address:
    """Start PostgreSQL with an empty table."""
    at = Address(stack.postgres().port, "postgres", "", "postgres")
    make_postgres_table(at)
    return at


def new_database(at: Address, name: str) -> Address:
    """Make another, empty database on the same server."""
    with connect(at) as session:
        session.execute(f"create database {name}")
    return at._replace(database=name)


def lineitem(stack: Stack, rows: int) -> Address:
    """Start PostgreSQL with a database that has TPC-H's table, published."""
    at = new_database(Address(stack.postgres().port, "postgres", "", "postgres"), "tpch")
    make_lineitem(at)
    with connect(at) as session:
        session.execute(tpch.insert(0, rows - 1, rows))
        session.execute(f"vacuum (freeze, analyze) {tpch.TABLE}")
    return at


def make_lineitem(at: Address) -> None:
    """Create TPC-H's table, published."""
    with connect(at) as session:
        session.execute(tpch.CREATE)
        session.execute(f"create publication {PUBLICATION} for table {tpch.TABLE}")


@contextmanager
def copied_database(at: Address) -> Iterator[Address]:
    """Copy a database that nobody uses; drop the copy with its slots at the end."""
    name = f"copy_{secrets.token_hex(4)}"
    with connect(at._replace(database="postgres")) as session:
        session.execute(f"create database {name} template {at.database} strategy file_copy")
        try:
            yield at._replace(database=name)
        finally:
            drop_slots(at, name)
            session.execute(f"drop database {name} with (force)")


def binlog_servers(stack: Stack) -> Iterator[tuple[str, Address]]:
    """Start MariaDB, and MySQL where its packages can be had, each with an empty table."""
    kinds = {"mariadb": stack.mariadb}
    if which("apt-get"):
        kinds["mysql"] = stack.mysql
    for kind, start in kinds.items():
        server = start()
        at = Address(server.port, server.user, server.password, DATABASE)
        make_mysql_table(at)
        yield kind, at


def make_postgres_table(at: Address) -> None:
    """Create the table, published."""
    with connect(at) as session:
        session.execute(orders.POSTGRES_TABLE)
        session.execute(f"create publication {PUBLICATION} for table {orders.TABLE}")


def make_mysql_table(at: Address) -> None:
    """Create the database and the table."""
    with closing(mysql_session(at._replace(database="mysql"))) as session:
        session.query(f"create database {at.database} character set utf8mb4")
    with closing(mysql_session(at)) as session:
        session.query(orders.MYSQL_TABLE)


def fill_postgres(at: Address, rows: int) -> None:
    """Put the rows there, settled as in a table that is in use."""
    with connect(at) as session:
        session.execute(orders.postgres_insert(1, rows))
        session.execute(f"vacuum (freeze, analyze) {orders.TABLE}")


def change_postgres(at: Address, changes: int) -> None:
    """Write the backlog: half inserts, half updates."""
    with connect(at) as session:
        for first, last in orders.transactions(changes):
            session.execute(orders.postgres_insert(first, last))
            session.execute(orders.update(first, last))


def fill_mysql(at: Address, rows: int, *, logged: bool = False) -> None:
    """Put the rows there; into the log only where it is read, which nobody does before a snapshot."""
    with closing(mysql_session(at)) as session:
        session.query(f"set session sql_log_bin = {int(logged)}")
        for first, last in orders.spans(rows):
            session.query(orders.mysql_insert(first, last))


def change_mysql(at: Address, changes: int) -> None:
    """Write the backlog: half inserts, half updates."""
    with closing(mysql_session(at)) as session:
        for first, last in orders.transactions(changes):
            session.query(orders.mysql_insert(first, last))
            session.query(orders.update(first, last))


def mysql_session(at: Address) -> "pymysql.Connection[pymysql.cursors.Cursor]":
    """Open a session in UTC that commits each statement."""
    return pymysql.connect(
        host="127.0.0.1",
        port=at.port,
        user=at.user,
        password=at.password,
        database=at.database,
        autocommit=True,
        init_command="set time_zone = '+00:00'",
    )
