"""Keys of types whose order is an extension's: chunks lose no row where its schema is not in the path."""

import itertools
import time
from contextlib import closing

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.row_chunks import Bound, ChunkRequest
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.sources.postgres.source import PgSource

TABLE = """
CREATE SCHEMA hidden; CREATE EXTENSION citext SCHEMA hidden; CREATE EXTENSION hstore SCHEMA hidden;
CREATE DOMAIN mail AS hidden.citext;
CREATE TABLE letters (id int, "to" mail, tags hidden.hstore, PRIMARY KEY (id, "to", tags));
INSERT INTO letters SELECT n, t, g FROM generate_series(1, 3) n,
    unnest('{a,B,c,D,Z}'::text[]) t, unnest('{"a=>1","b=>2"}'::hidden.hstore[]) g"""
NAMES = ("id", "to", "tags")
KEYS = [
    (number, to, tags) for number, to, tags in itertools.product((1, 2, 3), "aBcDZ", ('"a"=>"1"', '"b"=>"2"'))
]


@pytest.mark.parametrize("names", [NAMES, ("to", "id", "tags"), ("tags", "id", "to")])
def test_chunks_of_any_size_walk_the_whole_table(database: Database, names: tuple[str, ...]) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as made:
        made.execute(TABLE)
    registry = PgRegistry()
    around = Surroundings(time.monotonic, lambda: 0, registry.register)
    source = PgSource(settings_of(database.dsn), around)
    with closing(source):
        (partition,) = source.partitions()
        (table,) = source.tables(partition)
        reader = source.reader(partition)
        for size in (1, 7, 100):
            found: list[tuple[object, ...]] = []
            after: Bound | None = None
            complete = False
            upto = reader.last_key(ChunkRequest(table, names))
            while not complete:
                chunk = reader.read(ChunkRequest(table, names, after=after, upto=upto, most_rows=size))
                rows = [registry.decode(key) for part in chunk.slices for key, _ in part.rows if key]
                found += [tuple(row[name] for name in NAMES) for row in rows]
                after = chunk.slices[-1].upto if chunk.slices else after
                complete = chunk.complete
                assert len(found) <= len(KEYS)
            assert sorted(found) == sorted(KEYS)
        only: tuple[Bound, ...] = tuple(
            tuple({"id": "2", "to": to, "tags": '"a"=>"1"'}[name] for name in names) for to in ("b", "z")
        )
        chunk = reader.read(ChunkRequest(table, names, only=only))
        chosen = [registry.decode(key)["to"] for part in chunk.slices for key, _ in part.rows if key]
        assert sorted(map(str, chosen)) == ["B", "Z"]
