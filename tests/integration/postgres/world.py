"""The source suite's world on a real PostgreSQL: changes become SQL, events are decoded by fastavro."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path

import psycopg
from psycopg import conninfo, sql

from tests.fixtures.servers import Database, drop_slots
from wrackline.producers.contract.source_plugin import MarkKind, Source, Surroundings
from wrackline.producers.contract.steps import Position
from wrackline.producers.sources.postgres.config import SETTINGS
from wrackline.producers.sources.postgres.log.position import PgPosition, lsn_number
from wrackline.producers.sources.postgres.plugin import PLUGIN
from wrackline.producers.sources.postgres.rows.source_record import CONNECTOR, FIELDS
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry as Settings
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition, TableSchema
from wrackline.testing.sources.schema_ids import SchemaIds
from wrackline.testing.sources.source_world import (
    Ability,
    Change,
    ColumnAdded,
    Delete,
    Elsewhere,
    Insert,
    Said,
    Truncated,
    Update,
    orders,
)

TABLES = """
CREATE TABLE orders (
  shop text NOT NULL, number integer NOT NULL, label text, big text, PRIMARY KEY (shop, number));
ALTER TABLE orders ALTER COLUMN big SET STORAGE EXTERNAL;
ALTER TABLE orders ALTER COLUMN shop TYPE text COLLATE "C";
CREATE TABLE elsewhere (id bigserial PRIMARY KEY);
CREATE TABLE signals (id varchar(80) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))"""
STRATEGIES = {MarkKind.FENCE: "fence", MarkKind.MESSAGE: "message", MarkKind.SIGNAL: "insert_insert"}


def settings_of(dsn: str, **more: str) -> Values:
    """Settings for a database of the local stack; one of ours that is given empty is left out."""
    parts = conninfo.conninfo_to_dict(dsn)
    ours = {
        "name": "test",
        "connector.class": "postgres",
        "topic.prefix": "server",
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "schema.registry.url": "http://127.0.0.1:1",
        "database.hostname": str(parts["host"]),
        "database.port": str(parts["port"]),
        "database.user": str(parts["user"]),
        "database.dbname": str(parts["dbname"]),
        "database.sslmode": "disable",
        "slot.name": f"slot_{parts['dbname']}",
    }
    given = {name: text for name, text in (ours | more).items() if text or name not in ours}
    reading = Settings(CORE, SETTINGS).read(given, Resolver(Allowed(folders=(Path("/"),)), {}))
    assert reading.values is not None, reading.problems
    return reading.values


class PgRegistry(SchemaIds):
    """Registers PostgreSQL's envelopes."""

    def __init__(self) -> None:
        super().__init__(CONNECTOR, FIELDS)


class PgWorld:
    """One database with the suite's tables."""

    abilities = frozenset(Ability)
    most_batch_bytes = 6_000

    def __init__(self, database: Database, kind: MarkKind = MarkKind.FENCE) -> None:
        self._database = database
        self._sql = psycopg.connect(database.dsn, autocommit=True)
        self._sql.execute(TABLES)
        self._registry = PgRegistry()
        self._hidden: dict[str, tuple[psycopg.Connection[tuple[object, ...]], threading.Thread]] = {}
        around = Surroundings(
            time.monotonic,
            lambda: time.time_ns() // 1_000_000,
            self._registry.register,
            self.most_batch_bytes,
        )
        more = {
            "table.include.list": "public.orders",
            "incremental.snapshot.watermarking.strategy": STRATEGIES[kind],
            "status.update.interval.ms": "100",
        }
        if kind is MarkKind.SIGNAL:
            more["signal.data.collection"] = "public.signals"
        nulls = {"unavailable.value.placeholder": ""}  # the suite reads values as the contract names them
        self.settings = settings_of(database.dsn, **nulls, **more, **self.named())
        self.source: Source = PLUGIN.open(self.settings, around)

    def named(self) -> dict[str, str]:
        """The settings that say what is read, beside those of any database."""
        return {}

    def close(self) -> None:
        """End every connection of ours."""
        for name in list(self._hidden):
            self.show(self.source.partitions()[0], name)
        self.source.close()
        self._sql.close()

    def orders(self, partition: SourcePartition) -> TableSchema:
        return orders(partition)

    def now(self) -> float:
        return time.monotonic()

    def session_of(self, partition: SourcePartition) -> psycopg.Connection[tuple[object, ...]]:
        """The session that writes to a database."""
        assert partition.database == self._database.name
        return self._sql

    def commit(self, partition: SourcePartition, *changes: Change, hidden: bool = False) -> str:
        if hidden:
            return self._commit_hidden(changes)
        session = self.session_of(partition)
        with session.transaction():
            for change in changes:
                _run(session, change)
            return _xid(session)

    def _commit_hidden(self, changes: tuple[Change, ...]) -> str:
        """Commit while a synchronous standby is waited for that is not there: logged, and not visible."""
        self._sql.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        self._sql.execute("SELECT pg_reload_conf()")
        _wait(self._commits_wait)
        session = psycopg.connect(self._database.dsn, autocommit=False)
        session.execute("SET synchronous_commit = on")
        for change in changes:
            _run(session, change)
        name = _xid(session)
        waiting = threading.Thread(target=session.commit)
        waiting.start()
        pid = session.info.backend_pid
        _wait(lambda: _waits_for_standby(self._sql, pid))
        self._hidden[name] = session, waiting
        return name

    def _commits_wait(self) -> bool:
        """Try it in another database, whose log nobody reads: the setting shows before it is obeyed."""
        with psycopg.connect(self._database.server.dsn, autocommit=True) as probe:
            pid = probe.info.backend_pid
            trying = threading.Thread(
                target=probe.execute, args=("SELECT pg_logical_emit_message(true, 'probe', '')",)
            )
            trying.start()
            _wait(lambda: not trying.is_alive() or _waits_for_standby(self._sql, pid))
            held = trying.is_alive()
            self._sql.execute("SELECT pg_cancel_backend(%s)", [pid])
            trying.join(30)
        return held

    def show(self, partition: SourcePartition, transaction: str) -> None:
        del partition
        session, waiting = self._hidden.pop(transaction)
        self._sql.execute("ALTER SYSTEM RESET synchronous_standby_names")
        self._sql.execute("SELECT pg_reload_conf()")
        waiting.join(30)
        assert not waiting.is_alive()
        session.close()

    def key(self, raw: bytes) -> dict[str, object]:
        return self._registry.decode(raw)

    def value(self, raw: bytes) -> dict[str, object]:
        return self._registry.decode(raw)

    def told(self, partition: SourcePartition) -> Position | None:
        """The position that was last confirmed to the slot; the server may show it a moment later."""
        query = "SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE database = %s"
        lsn = _one(self._sql, query, partition.database)
        return None if lsn is None else PgPosition(1, lsn_number(str(lsn)))


class TwoDatabasesWorld(PgWorld):
    """The same with a second database beside it, in one source."""

    def named(self) -> dict[str, str]:
        self._other = f"{self._database.name}_b"
        self._sql.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self._other)))
        self._beside = psycopg.connect(self._database.server.database_dsn(self._other), autocommit=True)
        self._beside.execute(TABLES)
        return {"database.dbname": "", "database.names": f"{self._database.name},{self._other}"}

    def session_of(self, partition: SourcePartition) -> psycopg.Connection[tuple[object, ...]]:
        return self._beside if partition.database == self._other else super().session_of(partition)

    def close(self) -> None:
        self.source.close()
        self._beside.close()
        drop_slots(self._sql, self._other)
        self._sql.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(self._other)))
        super().close()


def _waits_for_standby(session: psycopg.Connection[tuple[object, ...]], pid: int) -> bool:
    return _one(session, "SELECT wait_event FROM pg_stat_activity WHERE pid = %s", pid) == "SyncRep"


def _run(session: psycopg.Connection[tuple[object, ...]], change: Change) -> None:
    match change:
        case Insert():
            columns = sql.SQL(", ").join(map(sql.Identifier, change.values))
            marks = sql.SQL(", ").join(sql.Placeholder() * len(change.values))
            statement = sql.SQL("INSERT INTO orders ({}) VALUES ({})").format(columns, marks)
            session.execute(statement, list(change.values.values()))
        case Update():
            _update(session, change.key, change.values)
        case Delete():
            session.execute("DELETE FROM orders WHERE shop = %s AND number = %s", change.key)
        case Truncated():
            session.execute("TRUNCATE orders")
        case ColumnAdded():
            session.execute(
                sql.SQL("ALTER TABLE orders ADD COLUMN {} text").format(sql.Identifier(change.name))
            )
        case Said():
            session.execute("SELECT pg_logical_emit_message(true, %s, %b)", [change.prefix, change.content])
        case Elsewhere():
            session.execute("INSERT INTO elsewhere DEFAULT VALUES")


def _update(
    session: psycopg.Connection[tuple[object, ...]], key: tuple[str, int], values: Mapping[str, object]
) -> None:
    sets = sql.SQL(", ").join(sql.SQL("{} = %s").format(sql.Identifier(name)) for name in values)
    statement = sql.SQL("UPDATE orders SET {} WHERE shop = %s AND number = %s").format(sets)
    session.execute(statement, [*values.values(), *key])


def _xid(session: psycopg.Connection[tuple[object, ...]]) -> str:
    """The transaction's name in the log: its low 32 bits."""
    return str(int(str(_one(session, "SELECT pg_current_xact_id()::text"))) % (1 << 32))


def _one(session: psycopg.Connection[tuple[object, ...]], query: str, *values: object) -> object:
    row = session.execute(query.encode(), values).fetchone()
    return None if row is None else row[0]


def _wait(met: object) -> None:
    """Poll a condition until it holds."""
    assert callable(met)
    end = time.monotonic() + 30
    while not met():
        assert time.monotonic() < end, "the server did not get there"
        time.sleep(0.01)
