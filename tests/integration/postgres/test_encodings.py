"""Databases whose text is not UTF-8: what can't be carried is refused, and its bytes are never shown."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import psycopg
import pytest

from tests.fixtures.servers import Database, drop_slots
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.control.local.stack.servers import PostgresServer
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Rows
from wrackline.producers.sources.postgres.check.check import check
from wrackline.producers.sources.postgres.connect.connect import PgServer
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.producers.sources.postgres.stream import PgStream
from wrackline.schemas.errors import Definite, OperatorNeeded

TABLE = "CREATE TABLE notes (id int PRIMARY KEY, note text)"
Made = Callable[[str], Database]


@pytest.fixture
def encoded(postgres: PostgresServer, database: Database) -> Iterator[Made]:
    """Makes a database of an encoding."""
    name = f"{database.name}_e"
    with psycopg.connect(postgres.dsn, autocommit=True) as admin:

        def made(encoding: str) -> Database:
            how = f"ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
            admin.execute(f"CREATE DATABASE {name} {how}".encode())
            one = Database(name, postgres.database_dsn(name), postgres)
            with psycopg.connect(one.dsn, autocommit=True) as sql:
                sql.execute(TABLE)
            return one

        yield made
        drop_slots(admin, name)
        admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())


def source_of(database: Database) -> tuple[PgSource, PgRegistry]:
    registry = PgRegistry()
    return PgSource(
        settings_of(database.dsn), Surroundings(time.monotonic, lambda: 0, registry.register)
    ), registry


def poll_on(stream: PgStream) -> None:
    """Poll until it raises."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        stream.poll(time.monotonic() + 0.2)


def test_a_database_without_an_encoding_is_refused_before_anything_is_made(encoded: Made) -> None:
    database = encoded("SQL_ASCII")
    source, _ = source_of(database)
    (partition,) = source.partitions()
    for ask in (lambda: source.tables(partition), lambda: source.reader(partition)):
        with pytest.raises(OperatorNeeded) as caught:
            ask()
        assert caught.value.code == "pg.no_encoding"
    settings = settings_of(database.dsn)
    [finding] = check(PgServer(settings), settings, [])
    assert finding.id == "pg.no_encoding"
    with psycopg.connect(database.dsn) as sql:
        assert sql.execute("SELECT FROM pg_publication").rowcount == 0
        left = "SELECT FROM pg_stat_activity WHERE application_name = 'wrackline server' AND datname = %s"
        assert sql.execute(left, [database.name]).rowcount == 0


def test_another_encoding_arrives_as_utf_8_both_ways(encoded: Made) -> None:
    """T-T07."""
    database = encoded("LATIN1")
    source, registry = source_of(database)
    with closing(source):
        (partition,) = source.partitions()
        stream = source.stream(partition, source.tables(partition), None)
        with psycopg.connect(database.dsn, autocommit=True) as sql:
            sql.execute("INSERT INTO notes VALUES (1, 'Zürich')")
        rows: list[bytes] = []
        end = time.monotonic() + 30
        while not rows:
            assert time.monotonic() < end
            batch = stream.poll(time.monotonic() + 0.2)
            rows = [
                row[3]
                for step in (batch.steps if batch else ())
                if isinstance(step, Rows)
                for row in step.rows
            ]
        assert registry.decode(rows[0])["after"] == {"id": 1, "note": "Zürich"}
        (table,) = source.tables(partition)
        (slice_,) = source.reader(partition).read(ChunkRequest(table, ("id",))).slices
        assert "Zürich".encode() in slice_.rows[0][1]


def test_a_text_that_has_no_utf_8_ends_the_stream_for_good_and_a_chunk_for_its_table(encoded: Made) -> None:
    database = encoded("WIN1252")
    source, _ = source_of(database)
    with closing(source):
        (partition,) = source.partitions()
        (table,) = source.tables(partition)
        stream = source.stream(partition, [table], None)
        with psycopg.connect(database.dsn, autocommit=True) as sql:
            sql.execute("INSERT INTO notes VALUES (1, chr(129))")  # no letter of WIN1252
        with pytest.raises(Definite) as ended:
            poll_on(stream)
        assert ended.value.code == "pg.log_unreadable"
        with pytest.raises(OperatorNeeded) as refused:
            source.reader(partition).read(ChunkRequest(table, ("id",)))
        assert refused.value.code == "pg.value_refused"
        for error in (ended.value, refused.value):
            assert "0x81" not in str(error)
