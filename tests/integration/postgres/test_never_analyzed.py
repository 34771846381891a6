"""Tables of which nobody knows how many rows they have, and how wide: they are loaded and read at once."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.test_spans import ROWS, read_in_parts
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import ChunkReader, Surroundings
from wrackline.producers.snapshot.work_items import SnapshotLimits
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.tables.table import TableId

KEPT_SO = "WITH (autovacuum_enabled = false)"
TABLES = f"""
CREATE TABLE narrow (id int PRIMARY KEY, note text) {KEPT_SO};
INSERT INTO narrow SELECT i, 'x' FROM generate_series(1, {ROWS}) AS i;
CREATE TABLE days (day date, id int, PRIMARY KEY (day, id)) PARTITION BY RANGE (day);
CREATE TABLE old PARTITION OF days FOR VALUES FROM (MINVALUE) TO ('2026-01-01') {KEPT_SO};
CREATE TABLE new PARTITION OF days FOR VALUES FROM ('2026-01-01') TO (MAXVALUE) {KEPT_SO};
INSERT INTO days SELECT date '2025-06-01' + i % 400, i FROM generate_series(1, {ROWS}) AS i;
CREATE TABLE grown (id int PRIMARY KEY) {KEPT_SO};
INSERT INTO grown SELECT generate_series(1, 1000); ANALYZE grown;
INSERT INTO grown SELECT generate_series(1001, {ROWS});
CREATE TABLE few (id int PRIMARY KEY) {KEPT_SO};
INSERT INTO few SELECT generate_series(1, 100)"""
WIDE, MANY = 400_000, 100  # bytes, rows: far more than a chunk may hold


@pytest.fixture
def reader(database: Database) -> Iterator[ChunkReader]:
    """A reader of a database without tables."""
    around = Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
    with closing(PgSource(settings_of(database.dsn), around)) as source:
        reader = source.reader(source.partitions()[0])
        yield reader
        reader.close()


def test_a_table_that_was_never_analyzed_is_read_in_parts_too(
    database: Database, reader: ChunkReader
) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as made:
        made.execute(TABLES)
        unknown = made.execute("SELECT relname FROM pg_class WHERE relkind = 'r' AND reltuples = -1")
        assert {"narrow", "old", "new", "few"} <= {name for (name,) in unknown}
    for name, key in (("narrow", ("id",)), ("days", ("day", "id")), ("grown", ("id",))):
        parts = read_in_parts(reader, TableId(database.name, "public", name), key)
        assert len(frozenset().union(*parts)) == sum(map(len, parts)) == ROWS, name
        assert len(parts) == 8, name
        assert max(map(len, parts)) < ROWS / 2, name
    assert len(read_in_parts(reader, TableId(database.name, "public", "few"), ("id",))) == 1


def test_a_first_chunk_of_very_wide_rows_stays_within_its_share(
    database: Database, reader: ChunkReader
) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as made:
        made.execute("CREATE TABLE wide (id int PRIMARY KEY, text text)")
        made.execute(
            "INSERT INTO wide SELECT i, repeat('x', %s) FROM generate_series(1, %s) AS i", [WIDE, MANY]
        )
    limits = SnapshotLimits()
    first = ChunkRequest(  # as it is made while nobody knows how wide a row is
        TableId(database.name, "public", "wide"),
        ("id",),
        most_rows=limits.chunk_rows,
        most_bytes=limits.share,
    )
    chunk = reader.read(first)
    held = sum(part.size for part in chunk.slices)
    assert limits.share <= held < limits.share + WIDE + 100
    assert not chunk.complete
    rest = reader.read(replace(first, after=chunk.slices[-1].upto, most_bytes=WIDE * MANY))
    assert sum(len(part.rows) for one in (chunk, rest) for part in one.slices) == MANY
