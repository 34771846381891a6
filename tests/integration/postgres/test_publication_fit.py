"""A user's own publication that silently omits what is to be copied stops the start."""

import time
from collections.abc import Sequence
from contextlib import closing

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.majors import MAJORS, server_of
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.control.local.stack.servers import PostgresServer
from wrackline.control.local.stack.stack import Stack
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Commit, Fault, Rows, Saved, Shape, Step
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


def read(
    database: Database, saved: Saved | None, session: psycopg.Connection[tuple[object, ...]]
) -> list[Step]:
    """Open a stream where it was left, and read all that is written now."""
    around = Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
    settings = settings_of(database.dsn, **{"publication.name": NAME})
    steps: list[Step] = []
    with closing(PgSource(settings, around)) as source:
        (partition,) = source.partitions()
        stream = source.stream(partition, source.tables(partition), saved)
        ((end,),) = session.execute(
            "SELECT pg_current_xact_id()::text FROM pg_logical_emit_message(true, 'end', '')"
        )
        deadline = time.monotonic() + 30
        while not any(isinstance(step, Commit) and step.transaction == end for step in steps):
            assert time.monotonic() < deadline, steps
            batch = stream.poll(time.monotonic() + 0.2)
            steps += batch.steps if batch else ()
    return steps


def told(steps: Sequence[Step]) -> list[str]:
    """Each row's table."""
    names = {step.ref: step.table.id.name for step in steps if isinstance(step, Shape)}
    return [names[row[0]] for step in steps if isinstance(step, Rows) for row in step.rows]


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
def test_a_publication_that_silently_omits_rows_is_refused_until_it_is_repaired_or_accepted(
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
def test_a_publication_that_may_be_intended_is_not_refused(database: Database, made: str) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as session:
        session.execute(TABLES)
        session.execute(f'CREATE PUBLICATION "of ""others""" {made} {VIA_ROOT}'.encode())
        start(database)


@pytest.mark.parametrize(
    ("became", "code"),
    [
        (['ALTER TABLE "or ders" ADD COLUMN size int'], "pg.publication_column"),
        (
            [
                'ALTER TABLE "or ders" DROP CONSTRAINT "or ders_pkey"',
                'ALTER TABLE "or ders" ADD COLUMN line int DEFAULT 1, ADD PRIMARY KEY (id, line)',
            ],
            "pg.publication_key",
        ),
    ],
)
def test_a_column_that_comes_and_is_in_no_list_sets_its_table_aside_and_the_others_go_on(
    database: Database, became: Sequence[str], code: str
) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as session:
        session.execute(TABLES)
        session.execute(
            f'CREATE PUBLICATION "of ""others""" FOR TABLE "or ders" (id, note, price), parts {VIA_ROOT}'
        )
        first = read(database, None, session)
        saved = next(step.position.saved() for step in first if isinstance(step, Commit))
        for statement in became:
            session.execute(statement.encode())
        session.execute("INSERT INTO \"or ders\" VALUES (1, '', 2)")
        session.execute("INSERT INTO parts VALUES (1)")
        steps = read(database, saved, session)
        faults = [(step.table.name, step.error.code) for step in steps if isinstance(step, Fault)]
        assert faults == [("or ders", code)]
        assert isinstance(steps[0], Fault)
        assert told(steps) == ["parts"]
        with pytest.raises(OperatorNeeded, match=code):
            start(database)  # with nothing copied so far, there is no check


def test_partitions_that_would_go_out_as_tables_are_refused_at_any_start(database: Database) -> None:
    """T-P24."""
    with psycopg.connect(database.dsn, autocommit=True) as session:
        session.execute(TABLES)
        session.execute(f'CREATE PUBLICATION "of ""others""" FOR TABLE "or ders", parts {VIA_ROOT}')
        first = read(database, None, session)
        saved = next(step.position.saved() for step in first if isinstance(step, Commit))
        session.execute('ALTER PUBLICATION "of ""others""" SET (publish_via_partition_root = false)')
        with pytest.raises(OperatorNeeded, match=r"pg\.publication_leaves"):
            read(database, saved, session)
