"""With read.only nothing is written into the database, and what would have to be is refused."""

import time
from contextlib import closing

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.source_plugin import Edge, Surroundings
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.errors import WracklineError

STRATEGY = "incremental.snapshot.watermarking.strategy"


def opened(database: Database, **settings: str) -> PgSource:
    around = Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
    return PgSource(settings_of(database.dsn, **{"read.only": "true", **settings}), around)


def begin(source: PgSource) -> None:
    (partition,) = source.partitions()
    source.stream(partition, source.tables(partition), None).close()


def test_no_publication_is_made_and_none_is_added_to(database: Database) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as admin, closing(opened(database)) as source:
        admin.execute("CREATE TABLE orders (id int PRIMARY KEY); CREATE TABLE later (id int PRIMARY KEY)")
        with pytest.raises(WracklineError) as refused:
            begin(source)
        assert refused.value.code == "pg.publication_missing"
        assert "CREATE PUBLICATION" in refused.value.hint
        admin.execute("CREATE PUBLICATION wrackline FOR TABLE orders")
        with pytest.raises(WracklineError) as refused:
            begin(source)
        assert refused.value.code == "pg.publication_lacks"
        assert admin.execute("SELECT tablename FROM pg_publication_tables").fetchall() == [("orders",)]


@pytest.mark.parametrize("strategy", ["message", "insert_insert"])
def test_marks_that_are_written_are_refused(database: Database, strategy: str) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as admin:
        admin.execute("CREATE TABLE orders (id int PRIMARY KEY); CREATE PUBLICATION wrackline FOR ALL TABLES")
    with closing(opened(database, **{STRATEGY: strategy})) as source:
        with pytest.raises(WracklineError) as refused:
            begin(source)
        assert refused.value.code == "pg.marks_write"


@pytest.mark.parametrize(("read_only", "pushed"), [("true", 0), ("false", 1)])
def test_a_fence_pushes_nothing_into_the_log(database: Database, read_only: str, pushed: int) -> None:
    with (
        psycopg.connect(database.dsn, autocommit=True) as admin,
        closing(opened(database, **{"read.only": read_only})) as source,
    ):
        admin.execute("CREATE TABLE orders (id int PRIMARY KEY); CREATE PUBLICATION wrackline FOR ALL TABLES")
        (partition,) = source.partitions()
        reader = source.reader(partition)
        admin.execute("SELECT pg_create_logical_replication_slot('eye', 'pgoutput')")
        for number in range(20):  # the server's own writer may be quicker with some of them
            admin.execute("BEGIN; SET LOCAL synchronous_commit = off")
            admin.execute(f"INSERT INTO orders VALUES ({number})".encode())
            admin.execute("COMMIT")
            reader.marks.set("here", Edge.CLOSE)
        seen = admin.execute(
            "SELECT count(*) FROM pg_logical_slot_peek_binary_changes('eye', NULL, NULL, 'proto_version',"
            " '1',"
            " 'publication_names', 'wrackline', 'messages', 'true')"
            " WHERE position('wrackline.mark.push'::bytea IN data) > 0"
        ).fetchone()
        admin.execute("SELECT pg_drop_replication_slot('eye')")
        assert seen is not None
        assert min(int(str(seen[0])), 1) == pushed
