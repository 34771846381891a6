"""A source whose stream is opened again and again, as after each error, keeps nothing of the earlier ones."""

import gc
import time
import weakref

import psycopg

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.sources.postgres.source import PgSource


def test_a_stream_that_was_closed_is_let_go(database: Database) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as sql:
        sql.execute("CREATE TABLE t (id bigint PRIMARY KEY)")
    source = PgSource(
        settings_of(database.dsn, **{"table.include.list": "public.t"}),
        Surroundings(time.monotonic, lambda: 0, PgRegistry().register),
    )
    (partition,) = source.partitions()
    closed = []
    for _ in range(2):
        stream = source.stream(partition, source.tables(partition), None)
        stream.close()
        closed.append(weakref.ref(stream))
        del stream
    gc.collect()
    assert [one() for one in closed] == [None, None]
    left_open = source.stream(partition, source.tables(partition), None)
    source.close()
    with psycopg.connect(database.dsn, autocommit=True) as sql:
        end = time.monotonic() + 10
        while sql.execute(
            "SELECT FROM pg_replication_slots WHERE active AND database = current_database()"
        ).rowcount:
            assert time.monotonic() < end, "the stream that the caller left open holds its slot"
    left_open.close()
