"""Statements by chance over a few tables: what a server may log, without a word about what that will be.

    seed -> tables -> inserts, updates (of keys too), deletes, truncates, transactions with savepoints, DDL

A statement may fail (a key that is there, a value that does not fit): then the server has left nothing of it,
and the log must say nothing.  Values are each type's extremes; the rows are the server's, so what a statement
meets is not known here.  The last thing is one row in each table, so that the log's last shapes are today's.
"""

import random
from dataclasses import dataclass, field
from typing import Any, Final

import pymysql
from pymysql.connections import Connection

from tests.integration.mysql.test_rows import BYTES, NUMBERS, OF_MARIADB, OF_MYSQL, TEXTS, TIMES, literal
from tests.integration.mysql.world import root
from wrackline.control.local.stack.servers import MysqlServer

_KEYS: Final = (
    ("id int", "PRIMARY KEY (id)"),
    ("id bigint unsigned, part varchar(12)", "PRIMARY KEY (part, id)"),
    ("id int, part varchar(12) COLLATE utf8mb4_general_ci", "PRIMARY KEY (id, part)"),
    ("id smallint NOT NULL", "UNIQUE KEY (id)"),
)
_PARTS: Final = ("a", "A", "ä", "zz", "", "😀")
_NOT_READ: Final = ("0000-05-06",)  # no day of Python's
_UNSAID: Final = ("compressed", "utf16", "enum('é'")  # what the other decoder can't be asked
_IDS: Final = 40
_BIG: Final = 200_000
_PLAIN: Final = ("int", "varchar(20)", "bigint unsigned", "decimal(10,2)", "datetime(6)", "text")


@dataclass
class _Table:
    name: str
    key: tuple[str, ...]
    columns: dict[str, str] = field(default_factory=dict)


class Workload:
    """One seed's statements over one database."""

    def __init__(self, server: MysqlServer, database: str, seed: int) -> None:
        self._chance, self._made = random.Random(seed), 0
        self._connection: Connection[Any] = root(server, database=database)
        self._run("SET time_zone = '+00:00', NAMES utf8mb4, innodb_lock_wait_timeout = 2")
        self._run("SELECT version()")
        mariadb = "MariaDB" in self._answer()
        types = {**NUMBERS, **TIMES, **TEXTS, **BYTES, **(OF_MARIADB if mariadb else OF_MYSQL)}
        self._values = {
            name: [one for one in held if one not in _NOT_READ]
            for name, held in types.items()
            if not any(map(name.count, _UNSAID))
        }
        self.failed = 0
        self._tables = [self._table(at) for at in range(len(_KEYS))]

    def run(self, statements: int) -> None:
        """Run about so many."""
        chance = self._chance
        left = statements
        while left > 0:
            what = chance.random()
            if what < 0.72:
                self._run(self._change())
                left -= 1
            elif what < 0.94:
                left -= self._transaction()
            else:
                self._reshape()
                left -= 1

    def end(self) -> None:
        """Write the last rows."""
        for table in self._tables:
            self._run(f"DELETE FROM {table.name} WHERE id = 7")
            self._run(f"INSERT INTO {table.name} ({', '.join(table.key)}) VALUES {self._keys(table, 7)}")
        self._connection.close()

    def _run(self, statement: str) -> None:
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(statement)
                self._rows = cursor.fetchall()
        except (pymysql.IntegrityError, pymysql.DataError, pymysql.OperationalError):
            self.failed += 1

    def _answer(self) -> str:
        return str(self._rows[0][0])

    def _table(self, kind: int) -> _Table:
        """Make a table of several types, a few of them wide."""
        self._made += 1
        keys, constraint = _KEYS[kind]
        types = self._chance.sample(sorted(self._values), 8)
        columns = {f"c{self._made}_{i}": type_ for i, type_ in enumerate(types)}
        listed = ", ".join(f"{name} {type_} NULL" for name, type_ in columns.items())
        made = _Table(f"t{self._made}", ("id", "part") if "part" in keys else ("id",), columns)
        self._run(f"CREATE TABLE {made.name} ({keys}, {listed}, big longtext, {constraint})")
        return made

    def _value(self, type_: str) -> str:
        held = self._values.get(type_)
        if held is None or self._chance.random() < 0.2:
            return "NULL"
        return literal(self._chance.choice(held))

    def _keys(self, table: _Table, number: int | None = None) -> str:
        chance = self._chance
        made = [str(chance.randrange(_IDS) if number is None else number)]
        if "part" in table.key:
            made.append(literal("z" if number is not None else chance.choice(_PARTS)))
        return f"({', '.join(made)})"

    def _change(self) -> str:
        """Return a statement that changes rows, or none."""
        chance, table = self._chance, self._chance.choice(self._tables)
        what = chance.random()
        if what < 0.5:
            return self._insert(table)
        some = f"id % {chance.randrange(2, 9)} = {chance.randrange(3)}"
        if what < 0.75:
            sets = [f"{name} = {self._value(table.columns[name])}" for name in self._some(table)]
            if chance.random() < 0.2:
                sets.append(f"big = REPEAT('b', {chance.randrange(_BIG)})")
            return f"UPDATE {table.name} SET {', '.join(sets) or 'big = NULL'} WHERE {some}"
        if what < 0.87:
            moved = "id = id + 1" if chance.random() < 0.5 else f"id = {chance.randrange(_IDS)}"
            return f"UPDATE {table.name} SET {moved} WHERE {some} ORDER BY id DESC"
        return f"DELETE FROM {table.name} WHERE {some}"

    def _insert(self, table: _Table) -> str:
        chance = self._chance
        names = self._some(table)
        rows = []
        for _ in range(chance.choice((1, 1, 1, 3, 30))):
            cells = [self._value(table.columns[name]) for name in names]
            rows.append(f"({', '.join([self._keys(table)[1:-1], *cells])})")
        verb, end = chance.choice((("INSERT", ""), ("REPLACE", ""), ("INSERT IGNORE", ""), ("INSERT", None)))
        if end is None:
            end = " ON DUPLICATE KEY UPDATE big = 'again'"
        return f"{verb} INTO {table.name} ({', '.join([*table.key, *names])}) VALUES {', '.join(rows)}{end}"

    def _some(self, table: _Table) -> list[str]:
        return self._chance.sample(sorted(table.columns), self._chance.randrange(len(table.columns) + 1))

    def _transaction(self) -> int:
        """Run several statements as one, or none of them, or some."""
        chance, count = self._chance, self._chance.randrange(2, 9)
        self._run("BEGIN")
        for number in range(count):
            if chance.random() < 0.3:
                self._run(f"SAVEPOINT s{number}")
            self._run(self._change())
            if chance.random() < 0.15:
                self._run(f"ROLLBACK TO s{chance.randrange(number + 1)}")
        self._run(chance.choice(("COMMIT", "COMMIT", "COMMIT", "ROLLBACK")))
        return count

    def _reshape(self) -> None:
        """Change what tables there are, or one's columns."""
        chance = self._chance
        at = chance.randrange(len(self._tables))
        table = self._tables[at]
        self._made += 1
        name, new = chance.choice(sorted(table.columns)) if table.columns else "", f"n{self._made}"
        match chance.randrange(10):
            case 0 | 1:
                self._run(f"TRUNCATE TABLE {table.name}")
            case 2:
                table.columns[new] = chance.choice(_PLAIN)
                self._run(f"ALTER TABLE {table.name} ADD COLUMN {new} {table.columns[new]} NULL")
            case 3:
                table.columns[new] = "int"
                first = chance.choice(("", " FIRST"))
                self._run(f"ALTER TABLE {table.name} ADD COLUMN {new} int NOT NULL DEFAULT 5{first}")
            case 4 if len(table.columns) > 2:
                del table.columns[name]
                self._run(f"ALTER TABLE {table.name} DROP COLUMN {name}")
            case 5 if name:
                table.columns[new] = table.columns.pop(name)
                self._run(f"ALTER TABLE {table.name} RENAME COLUMN {name} TO {new}")
            case 6:
                self._run(f"RENAME TABLE {table.name} TO {new}")
                table.name = new
            case 7:
                self._run(f"DROP TABLE {table.name}")
                self._tables[at] = self._table(at)
            case 8:
                self._run(f"CREATE INDEX {new} ON {table.name} (id, big(9))")
            case _:
                self._run("FLUSH BINARY LOGS")
