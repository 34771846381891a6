"""Keys that the database takes for equal and that are written in two ways: two keys, in log and chunk alike.

Keys are compared byte for byte, in the window and in Kafka.  So an update that only respells the key has
to take the old one away, and the row that a chunk reads must bear the key that the log last gave it.
"""

import time
from contextlib import closing

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import RowChange, Rows
from wrackline.producers.sources.postgres.source import PgSource

MADE = """
CREATE EXTENSION citext; CREATE EXTENSION hstore;
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"""


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("numeric", "1.0", "1.00"),
        ("double precision", "'0'", "'-0'"),
        ("real", "'0'", "'-0'"),
        ("citext", "'a'", "'A'"),
        ("text COLLATE loose", "'a'", "'A'"),
        ("interval", "'1 day'", "'24 hours'"),
        ("jsonb", "'1.0'", "'1.00'"),
        ("numeric[]", "'{1.0}'", "'{1.00}'"),
    ],
)
def test_an_equal_key_in_another_spelling_is_another_key(
    database: Database, kind: str, before: str, after: str, identity: str
) -> None:
    registry = PgRegistry()
    with psycopg.connect(database.dsn, autocommit=True) as session:
        session.execute(MADE)
        session.execute(f"CREATE TABLE t (k {kind} PRIMARY KEY, v int)".encode())
        session.execute(f"ALTER TABLE t REPLICA IDENTITY {identity}".encode())
        assert session.execute(f"SELECT {before}::{kind} = {after}::{kind}".encode()).fetchone() == (True,)
        around = Surroundings(time.monotonic, lambda: 0, registry.register)
        source = PgSource(settings_of(database.dsn, **{"table.include.list": "public.t"}), around)
        with closing(source):
            (partition,) = source.partitions()
            (table,) = source.tables(partition)
            stream = source.stream(partition, [table], None)
            session.execute(f"INSERT INTO t VALUES ({before}, 1)".encode())
            session.execute(f"UPDATE t SET k = {after}".encode())
            session.execute("UPDATE t SET v = 2")
            changes: list[RowChange] = []
            deadline = time.monotonic() + 30
            while len(changes) < 4:
                assert time.monotonic() < deadline, changes
                batch = stream.poll(time.monotonic() + 0.2)
                for step in batch.steps if batch else ():
                    changes += step.rows if isinstance(step, Rows) else ()
            (slice_,) = source.reader(partition).read(ChunkRequest(table, ("k",))).slices
    operations, keys = [change[1] for change in changes], [change[2] for change in changes]
    assert operations == ["c", "d", "c", "u"]
    first, gone, made, updated = keys
    assert first == gone
    assert gone != made
    assert made == updated == slice_.rows[0][0]
