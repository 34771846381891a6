"""Tables that others inherit from: their own rows are read, as the log has them, and partitions' rows."""

import time
from contextlib import closing

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.row_chunks import Chunk, ChunkRequest
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.tables.table import TableId

pytestmark = pytest.mark.servers

TABLES = """
CREATE TABLE towns (id int PRIMARY KEY, note text);
CREATE TABLE capitals (PRIMARY KEY (id)) INHERITS (towns);
INSERT INTO towns SELECT n, 'town' FROM generate_series(1, 10) n;
INSERT INTO capitals SELECT n, 'capital' FROM generate_series(6, 30) n;
CREATE TABLE parts (id int PRIMARY KEY, note text) PARTITION BY RANGE (id);
CREATE TABLE low PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (5);
CREATE TABLE high PARTITION OF parts FOR VALUES FROM (5) TO (MAXVALUE);
INSERT INTO parts SELECT n, 'part' FROM generate_series(1, 10) n;
ANALYZE"""


def rows_of(chunk: Chunk) -> int:
    return sum(len(part.rows) for part in chunk.slices)


@pytest.mark.parametrize("name", ["towns", "parts"])
def test_a_table_is_read_as_the_log_describes_it(database: Database, name: str) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as made:
        made.execute(TABLES)
    around = Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
    table = TableId(database.name, "public", name)
    with closing(PgSource(settings_of(database.dsn), around)) as source:
        reader = source.reader(source.partitions()[0])
        request = ChunkRequest(table, ("id",))
        assert (rows_of(reader.read(request)), reader.last_key(request)) == (10, ("10",))
        assert reader.expected(request) == 10
        with closing(reader.whole(table)) as whole:
            assert rows_of(whole.next(ChunkRequest(table, ()))) == 10
        reader.close()
