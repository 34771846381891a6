"""A large table is read in parts: each row in exactly one, in any order that the server has for its key."""

import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import ChunkReader, Surroundings
from wrackline.producers.reading.key_ranges import cut_ranges
from wrackline.producers.snapshot.work_items import Plan, Ticket
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.tables.table import TableId

ROWS = 110_000
# Keys whose order is not that of their bytes; a key that may be null; a table whose partitions alone are
# analyzed, as autovacuum does it.
TABLES = f"""
CREATE COLLATION german (provider = icu, locale = 'de-DE');
CREATE TABLE words (word text COLLATE german, n numeric, id uuid, PRIMARY KEY (word, n, id));
INSERT INTO words SELECT (array['a', 'A', 'ä', 'b', 'Z', '', E'\\\\', '"'])[1 + i % 8], -(i % 1000) / 10.0,
    md5(i::text)::uuid FROM generate_series(1, {ROWS}) AS i;
CREATE TABLE days (day date, id int, PRIMARY KEY (day, id)) PARTITION BY RANGE (day);
CREATE TABLE old PARTITION OF days FOR VALUES FROM (MINVALUE) TO ('2026-01-01');
CREATE TABLE new PARTITION OF days FOR VALUES FROM ('2026-01-01') TO (MAXVALUE);
INSERT INTO days SELECT date '2025-06-01' + i % 400, i FROM generate_series(1, {ROWS}) AS i;
CREATE TABLE chosen (id int PRIMARY KEY, kind text);
INSERT INTO chosen SELECT i, CASE WHEN i % 3 > 0 THEN i::text END FROM generate_series(1, {ROWS}) AS i;
CREATE TABLE small (id int PRIMARY KEY);
INSERT INTO small SELECT generate_series(1, 100);
ANALYZE words; ANALYZE old; ANALYZE new; ANALYZE chosen; ANALYZE small"""


def test_the_parts_of_a_table_hold_each_row_once(database: Database) -> None:
    """T-W03."""
    with psycopg.connect(database.dsn, autocommit=True) as made:
        made.execute(TABLES)
    around = Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
    with closing(PgSource(settings_of(database.dsn), around)) as source:
        reader = source.reader(source.partitions()[0])
        for name, key in (
            ("words", ("word", "n", "id")),
            ("days", ("day", "id")),
            ("chosen", ("kind", "id")),
        ):
            parts = read_in_parts(reader, TableId(database.name, "public", name), key)
            assert sum(map(len, parts)) == ROWS, name
            assert len(frozenset().union(*parts)) == ROWS, name
            assert len(parts) == 8
            assert max(map(len, parts)) < ROWS / 2, name
        small = read_in_parts(reader, TableId(database.name, "public", "small"), ("id",))
        assert list(map(len, small)) == [100]
        reader.close()


GUESSED = """
CREATE TABLE known (id int PRIMARY KEY, kind int);
INSERT INTO known SELECT i, i % 10 FROM generate_series(1, 2000) AS i;
CREATE TABLE unknown (LIKE known INCLUDING ALL);
INSERT INTO unknown SELECT * FROM known;
CREATE TABLE halves (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE low PARTITION OF halves FOR VALUES FROM (MINVALUE) TO (1001);
CREATE TABLE high PARTITION OF halves FOR VALUES FROM (1001) TO (MAXVALUE);
CREATE TABLE never PARTITION OF halves DEFAULT;
INSERT INTO halves SELECT id FROM known;
CREATE TABLE nothing (LIKE known INCLUDING ALL);
ANALYZE known; ANALYZE low; ANALYZE nothing"""


def test_how_many_rows_to_expect_is_the_planner_s_guess_and_unknown_before_it_has_looked(
    database: Database,
) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as made:
        made.execute(GUESSED)
        around = Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
        with closing(PgSource(settings_of(database.dsn), around)) as source:
            reader = source.reader(source.partitions()[0])

            def guess(name: str, **wanted: Any) -> int | None:
                table = TableId(database.name, "public", name)
                return reader.expected(ChunkRequest(table, ("id",), **wanted))

            assert guess("known") == 2000
            assert guess("unknown") is None
            assert guess("halves") is None, "one of its halves was never looked at"
            made.execute("ANALYZE high")
            assert guess("halves") == 2000
            assert guess("known", after=("500",), upto=("1000",)) == pytest.approx(500, rel=0.1)
            assert guess("known", condition="kind = 3") == pytest.approx(200, rel=0.3)
            assert guess("nothing") == 0
            reader.close()


def read_in_parts(reader: ChunkReader, table: TableId, key: tuple[str, ...]) -> Sequence[frozenset[bytes]]:
    """Read each span with one statement, and return its rows' keys."""
    parts = []
    for span in cut_ranges(reader, Plan(Ticket("run/1"), table, ()), key, 2):
        request = ChunkRequest(table, key, span.after, span.upto, most_rows=ROWS + 1, most_seconds=60.0)
        chunk = reader.read(request)
        assert chunk.complete
        parts.append(frozenset(found for part in chunk.slices for found, _ in part.rows if found))
    return parts
