"""The source suite's world on a real server: changes become SQL, events are decoded by fastavro."""

import time
import uuid
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import pymysql

from tests.integration.mysql.held_commits import HeldCommits
from tests.integration.mysql.log_files import ask
from tests.integration.mysql.world import root, settings_of
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.source_plugin import MarkKind, Source, Surroundings
from wrackline.producers.contract.steps import Position
from wrackline.producers.sources.mysql.connect.server_facts import Flavour, facts_of
from wrackline.producers.sources.mysql.discover.shapes import identities
from wrackline.producers.sources.mysql.discover.types import column_type, parse
from wrackline.producers.sources.mysql.events.gtids import MySqlGtids
from wrackline.producers.sources.mysql.rows.source_record import FIELDS
from wrackline.producers.sources.mysql.source import PLUGIN
from wrackline.schemas.tables.table import Column, KeyKind, SourcePartition, TableId, TableSchema
from wrackline.testing.sources.schema_ids import SchemaIds
from wrackline.testing.sources.source_world import (
    KEY,
    Ability,
    Change,
    ColumnAdded,
    Delete,
    Elsewhere,
    Insert,
    Said,
    Truncated,
    Update,
)

TYPES = {"shop": "varchar(20)", "number": "int", "label": "text", "big": "longtext"}
TABLES = (
    "CREATE DATABASE {0} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    (
        "CREATE TABLE {0}.orders (shop varchar(20) NOT NULL, number int NOT NULL, label text, big longtext,"
        " PRIMARY KEY (shop, number))"
    ),
    "CREATE TABLE {0}.elsewhere (id bigint AUTO_INCREMENT PRIMARY KEY)",
    "CREATE TABLE {0}.signals (id varchar(80) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))",
)
STRATEGIES = {MarkKind.FENCE: "fence", MarkKind.SIGNAL: "insert_insert"}


class MySqlRegistry(SchemaIds):
    """Registers the envelopes of MySQL's family."""

    def __init__(self) -> None:
        super().__init__(PLUGIN.connector, FIELDS)


class MySqlWorld:
    """A database of the test's own on one server."""

    most_batch_bytes = 6_000

    def __init__(self, server: MysqlServer, kind: MarkKind = MarkKind.FENCE) -> None:
        self.database = f"t_{uuid.uuid4().hex[:10]}"
        self._sql = root(server)
        self.run(*(statement.format(self.database) for statement in TABLES), f"USE {self.database}")
        self._sql.autocommit(False)
        self.facts = facts_of(self._sql)
        # without GTIDs nobody can be asked what a SELECT shows, and marks are rows of ours instead
        self.abilities = frozenset({Ability.TRUNCATES, *([Ability.HIDDEN] if self.facts.gtids else [])})
        self._held = HeldCommits(lambda: root(server, database=self.database), self.facts.log_status)
        self._registry = MySqlRegistry()
        self.around = Surroundings(
            time.monotonic,
            lambda: time.time_ns() // 1_000_000,
            self._registry.register,
            self.most_batch_bytes,
        )
        more = {
            "table.include.list": f"{self.database}.orders",
            "incremental.snapshot.watermarking.strategy": STRATEGIES[kind],
            "connect.keep.alive.interval.ms": "2000",
        }
        if kind is MarkKind.SIGNAL:
            more["signal.data.collection"] = f"{self.database}.signals"
        self.settings = settings_of(server, **more)
        self.source: Source = PLUGIN.open(self.settings, self.around)

    def close(self) -> None:
        """End every connection of ours."""
        self.source.close()
        self._held.close()
        self.run(f"DROP DATABASE {self.database}")
        self._sql.close()

    def run(self, *statements: str) -> list[dict[str, Any]]:
        """Run statements; return the rows of the last."""
        found: list[tuple[Any, ...]] = []
        with self._sql.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            names = [column[0] for column in cursor.description or ()]
            found = list(cursor.fetchall())
        return [dict(zip(names, row, strict=True)) for row in found]

    def orders(self, partition: SourcePartition) -> TableSchema:
        del partition
        numbers = identities(TYPES)
        columns = tuple(
            Column(name, numbers[name], column_type(parse(written), column=name), name not in KEY)
            for name, written in TYPES.items()
        )
        return TableSchema(TableId(self.database, self.database, "orders"), columns, KEY, KeyKind.PRIMARY)

    def now(self) -> float:
        return time.monotonic()

    def commit(self, partition: SourcePartition, *changes: Change, hidden: bool = False) -> str:
        """Run them, a statement of the schema as a transaction of its own; return the last one's name."""
        del partition
        if hidden:
            return self._held.commit(lambda session: _run_all(session, changes))
        name = ""
        for alone, some in groupby(changes, lambda change: isinstance(change, Truncated | ColumnAdded)):
            for part in [[one] for one in some] if alone else [list(some)]:
                before = self._log()
                _run_all(self._sql, part)
                self._sql.commit()
                name = self._name(before)
        return name

    def show(self, partition: SourcePartition, transaction: str) -> None:
        del partition, transaction
        self._held.show()

    def key(self, raw: bytes) -> dict[str, object]:
        return self._registry.decode(raw)

    def value(self, raw: bytes) -> dict[str, object]:
        return self._registry.decode(raw)

    def told(self, partition: SourcePartition) -> Position | None:
        del partition
        return None

    def _log(self) -> dict[str, Any]:
        return self.run(self.facts.log_status)[0]

    def _name(self, before: Mapping[str, Any]) -> str:
        """What the log calls the transaction that was committed last; nobody else writes."""
        if self.facts.flavour is Flavour.MARIADB:
            return str(self.run("SELECT @@last_gtid AS gtid")[0]["gtid"])
        if not self.facts.gtids:
            return f"{before['File']}:{before['Position']}"
        had, has = (MySqlGtids.parse(str(one["Executed_Gtid_Set"])) for one in (before, self._log()))
        return str(had.missing(has))


def _run_all(session: "pymysql.connections.Connection[Any]", changes: Sequence[Change]) -> None:
    for change in changes:
        _run(session, change)


def _run(session: "pymysql.connections.Connection[Any]", change: Change) -> None:
    match change:
        case Insert(values):
            listed, marks = ", ".join(values), ", ".join(["%s"] * len(values))
            ask(session, f"INSERT INTO orders ({listed}) VALUES ({marks})", *values.values())
        case Update(key, values):
            sets = ", ".join(f"{name} = %s" for name in values)
            ask(session, f"UPDATE orders SET {sets} WHERE shop = %s AND number = %s", *values.values(), *key)
        case Delete(key):
            ask(session, "DELETE FROM orders WHERE shop = %s AND number = %s", *key)
        case Truncated():
            ask(session, "TRUNCATE TABLE orders")
        case ColumnAdded(name):
            ask(session, f"ALTER TABLE orders ADD COLUMN {name} text")
        case Elsewhere():
            ask(session, "INSERT INTO elsewhere VALUES ()")
        case Said():
            raise NotImplementedError
