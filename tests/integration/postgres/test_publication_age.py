"""A publication that is younger than the log: PostgreSQL 18 skips what it should send, and only warns."""

import time
from contextlib import closing

import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.majors import MAJORS, server_of
from tests.integration.postgres.pipes import SETUP, Pipe
from wrackline.control.local.stack.servers import PostgresServer
from wrackline.control.local.stack.stack import Stack
from wrackline.schemas.errors import Definite

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module", params=MAJORS)
def postgres(stack: Stack, request: pytest.FixtureRequest) -> PostgresServer:
    """The servers of every major."""
    return server_of(stack, request)


@pytest.fixture
def pipe(database: Database) -> Pipe:
    """A pipeline that has published one row."""
    made = Pipe(database.dsn, f"slot_{database.name}")
    made.sql(SETUP)
    source, stream = made.open()
    stream.close()
    source.close()
    made.sql("INSERT INTO orders VALUES (1)")
    made.pull(1)
    return made


@pytest.mark.parametrize(
    ("before", "more"),
    [("DROP PUBLICATION wrackline", {}), ("SELECT 1", {"publication.name": "Other"})],
    ids=["made again", "another name"],
)
def test_what_was_written_before_a_publication_was_made_is_never_silently_left_out(
    pipe: Pipe, before: str, more: dict[str, str]
) -> None:
    pipe.sql("ALTER ROLE current_user SET client_min_messages = error")
    try:
        pipe.sql(before, "INSERT INTO orders VALUES (2)")
        pipe.more |= more
        error = pipe.refused()
    finally:
        pipe.sql("ALTER ROLE current_user RESET client_min_messages")
    assert (error.code, type(error)) == ("pg.publication_late", Definite)
    assert f'publication "{more.get("publication.name", "wrackline")}" did not exist then' in error.sentence
    assert f"pg_drop_replication_slot('{pipe.slot}')" in error.hint
    pipe.repairs(error)


def test_a_publication_that_is_made_while_nothing_is_written_continues_the_log(pipe: Pipe) -> None:
    pipe.sql("DROP PUBLICATION wrackline")
    source, stream = pipe.open()
    with closing(source), closing(stream):
        pipe.sql("INSERT INTO orders VALUES (2)")
        deadline = time.monotonic() + 30
        rows = 0
        while not rows:
            assert time.monotonic() < deadline
            batch = stream.poll(time.monotonic() + 0.2)
            rows += 0 if batch is None else sum(len(getattr(step, "rows", ())) for step in batch.steps)
