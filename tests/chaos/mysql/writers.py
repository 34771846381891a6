"""Writers in the manner of sysbench's oltp_read_write, each committed change of theirs on record.

In: a server, a database.  Out: two tables whose rows carry a write counter `n`, and a ledger with one line
for each event that the topics must hold.  Triggers write the ledger in the transaction that they speak of, so
what is committed, rolled back or lost with the server, the ledger says the same; nobody captures it.
`n` is UUID_SHORT(), which a server only counts up, also over a restart; it is taken while the row is locked,
so for one key it only grows.
"""

import contextlib
import random
from contextlib import AbstractContextManager
from typing import Any

import pymysql
from pymysql.connections import Connection

from tests.chaos.write_threads import WriteThreads
from tests.integration.mysql.world import root
from wrackline.control.local.stack.servers import MysqlServer

TABLES = ("sbtest1", "sbtest2")
_ROWS = 300  # keys that are there at first, in each table
_GONE = (pymysql.OperationalError, pymysql.InterfaceError, pymysql.InternalError, OSError)
_LEDGER = """
CREATE TABLE ledger (at bigint AUTO_INCREMENT PRIMARY KEY, name varchar(20) NOT NULL, id bigint NOT NULL,
    op char(1) NOT NULL, n bigint unsigned NOT NULL)"""
_TABLE = """
CREATE TABLE {0} (id bigint PRIMARY KEY, n bigint unsigned NOT NULL, k int NOT NULL DEFAULT 0,
    c varchar(120), pad longtext, KEY (k))"""
_MADE = """
CREATE TRIGGER {0}_made AFTER INSERT ON {0} FOR EACH ROW
    INSERT INTO ledger (name, id, op, n) VALUES ('{0}', NEW.id, 'c', NEW.n)"""
_DELETED = """
CREATE TRIGGER {0}_deleted AFTER DELETE ON {0} FOR EACH ROW
    INSERT INTO ledger (name, id, op, n) VALUES ('{0}', OLD.id, 'd', OLD.n)"""
_CHANGED = """
CREATE TRIGGER {0}_changed AFTER UPDATE ON {0} FOR EACH ROW BEGIN
    IF NEW.id <> OLD.id THEN
        INSERT INTO ledger (name, id, op, n) VALUES ('{0}', OLD.id, 'd', OLD.n), ('{0}', NEW.id, 'c', NEW.n);
    ELSE
        INSERT INTO ledger (name, id, op, n) VALUES ('{0}', NEW.id, 'u', NEW.n);
    END IF;
END"""


def make_tables(session: "Connection[Any]") -> None:
    """Make the tables and the ledger in the session's database."""
    with session.cursor() as cursor:
        cursor.execute(_LEDGER)
        for table in TABLES:
            cursor.execute(_TABLE.format(table))
            for trigger in (_MADE, _DELETED, _CHANGED):
                cursor.execute(trigger.format(table))


class Writer:
    """One session; it alone has keys of its remainder, so no two of them wait for each other for long."""

    def __init__(
        self, server: MysqlServer, database: str, number: int, of: int, chance: random.Random
    ) -> None:
        self._number, self._of, self._chance = number, of, chance
        self._sql = root(server, database=database, connect_timeout=5)
        self._run("SET innodb_lock_wait_timeout = 5")
        for table in TABLES:
            self._run(
                f"INSERT IGNORE INTO {table} (id, n, c) VALUES "
                + ", ".join(f"({key}, UUID_SHORT(), 'first')" for key in range(number + of, _ROWS, of))
            )
        self._sql.autocommit(False)

    def close(self) -> None:
        """Leave."""
        with contextlib.suppress(pymysql.MySQLError):
            self._sql.close()

    def transaction(self) -> bool:
        """Write one transaction; whether it was committed."""
        chance = self._chance
        for _ in range(chance.choice((1, 1, 2, 4))):
            self._some()
        if chance.random() < 0.1:
            self._run("SAVEPOINT here")
            self._some()
            self._run("ROLLBACK TO here")
        if chance.random() < 0.1:
            self._sql.rollback()
            return False
        self._sql.commit()
        return True

    def _some(self) -> None:
        """Do what oltp_read_write does to a table, or change a key."""
        chance, table = self._chance, self._chance.choice(TABLES)
        one, other = (self._key() for _ in range(2))
        self._run(f"SELECT c FROM {table} WHERE id = {one}")
        self._run(f"UPDATE {table} SET n = UUID_SHORT(), k = k + 1 WHERE id = {one}")
        text = f"REPEAT('c', {chance.randrange(120)})"
        self._run(f"UPDATE {table} SET n = UUID_SHORT(), c = {text} WHERE id = {other}")
        self._run(f"DELETE FROM {table} WHERE id = {other}")
        if chance.random() < 0.8:
            pad = f"REPEAT('p', {chance.choice((10, 60, 300, 20_000))})"
            self._run(f"INSERT INTO {table} (id, n, pad) VALUES ({other}, UUID_SHORT(), {pad})")
        elif one != other:
            self._run(f"UPDATE {table} SET id = {other}, n = UUID_SHORT() WHERE id = {one}")

    def _key(self) -> int:
        return self._chance.randrange(1, _ROWS // self._of) * self._of + self._number

    def _run(self, statement: str) -> None:
        with self._sql.cursor() as cursor:
            cursor.execute(statement)


class Writers(WriteThreads):
    """Several of them over one database."""

    gone = _GONE

    def __init__(self, server: MysqlServer, database: str, seed: int, count: int, pace: float) -> None:
        super().__init__(seed, count, pace)
        self._server, self._database = server, database

    def opened(self, number: int, of: int, chance: random.Random) -> AbstractContextManager[Writer]:
        """Open one."""
        return contextlib.closing(Writer(self._server, self._database, number, of, chance))
