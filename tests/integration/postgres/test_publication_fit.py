"""A publication of somebody else's that leaves out, in silence, what is to be copied stops the start."""

import time
from contextlib import closing

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.majors import MAJORS, server_of
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.control.stack.servers import PostgresServer
from wrackline.control.stack.stack import Stack
from wrackline.producers.plugin import Surroundings
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.errors import OperatorNeeded

NAME = 'of "others"'
TABLES = """
CREATE TABLE "or ders" (id int PRIMARY KEY, note text, price int);
ALTER TABLE "or ders" REPLICA IDENTITY FULL;
CREATE TABLE parts (a int PRIMARY KEY) PARTITION BY RANGE (a);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (9)"""
VIA_ROOT = "WITH (publish_via_partition_root = true)"


@pytest.fixture(scope="module", params=MAJORS)
def postgres(stack: Stack, request: pytest.FixtureRequest) -> PostgresServer:
    """The servers of every major."""
    return server_of(stack, request)


def start(database: Database, **more: str) -> None:
    """Open a stream as a pipeline does, and leave no slot."""
    around = Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
    settings = settings_of(database.dsn, **{"publication.name": NAME, **more})
    with closing(PgSource(settings, around)) as source:
        (partition,) = source.partitions()
        source.stream(partition, source.tables(partition), None).close()


def slots(session: psycopg.Connection[tuple[object, ...]]) -> object:
    return session.execute(
        "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()"
    ).fetchall()


@pytest.mark.parametrize(
    ("made", "code", "settings"),
    [
        (
            'FOR TABLE "or ders", parts WITH (publish = insert, publish_via_partition_root = true)',
            "pg.publication_skips",
            {"skipped.operations": "u,d,t"},
        ),
        ('FOR TABLE "or ders", parts', "pg.publication_leaves", {"table.include.list": "public.or ders"}),
        (
            f'FOR TABLE "or ders" (note), parts {VIA_ROOT}',
            "pg.publication_key",
            {
                "message.key.columns": "public.or ders:note",
                "column.exclude.list": "public.or ders.(id|price)",
            },
        ),
        (
            f'FOR TABLE "or ders" (id, note), parts {VIA_ROOT}',
            "pg.publication_column",
            {"column.exclude.list": "public.or ders.price"},
        ),
    ],
)
def test_what_would_be_left_out_in_silence_is_refused_until_it_is_mended_or_meant(
    database: Database, made: str, code: str, settings: dict[str, str]
) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as session:
        session.execute(TABLES)
        create = f'CREATE PUBLICATION "of ""others""" {made}'.encode()
        session.execute(create)
        with pytest.raises(OperatorNeeded) as caught:
            start(database)
        assert caught.value.code == code
        assert slots(session) == []
        start(database, **settings)  # where it is meant
        for statement in caught.value.hint.partition("owner: ")[2].split("; ")[:2]:
            if statement.startswith("ALTER"):
                session.execute(statement.encode())
        start(database)


@pytest.mark.parametrize(
    "made", ['FOR TABLE "or ders" WHERE (id > 5), parts', 'FOR TABLE "or ders" (id, note, price), parts']
)
def test_what_somebody_may_have_meant_is_not_refused(database: Database, made: str) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as session:
        session.execute(TABLES)
        session.execute(f'CREATE PUBLICATION "of ""others""" {made} {VIA_ROOT}'.encode())
        start(database)
