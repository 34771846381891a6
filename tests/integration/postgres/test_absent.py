"""A table that is gone at a start: dropped, or only out of sight."""

import time
from contextlib import closing

import psycopg

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.tables.table import TableId


def test_only_a_captured_name_of_which_there_is_no_table_is_absent(database: Database) -> None:
    names = ("there", "hidden", "leaf", "dropped", "left_out")
    tables = [TableId(database.name, "public", name) for name in names]
    with psycopg.connect(database.dsn, autocommit=True) as sql:
        sql.execute("CREATE TABLE there (id int PRIMARY KEY)")
        sql.execute("CREATE UNLOGGED TABLE hidden (id int PRIMARY KEY)")
        sql.execute("CREATE TABLE root (id int PRIMARY KEY) PARTITION BY RANGE (id)")
        sql.execute("CREATE TABLE leaf PARTITION OF root FOR VALUES FROM (0) TO (9)")
    settings = settings_of(database.dsn, **{"table.exclude.list": "public.left_out"})
    around = Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
    with closing(PgSource(settings, around)) as source:
        absent = source.absent(source.partitions()[0], tables)
    assert [table.name for table in absent] == ["dropped"]
