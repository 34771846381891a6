"""What docs/postgresql.md says that the log contains of partitions, and what it does not."""

import time
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.majors import MAJORS, server_of
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.control.local.stack.servers import PostgresServer
from wrackline.control.local.stack.stack import Stack
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Fault, Rows, Shape, Step, Truncate
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.producers.sources.postgres.stream import PgStream

TABLES = """
CREATE TABLE parts (a int PRIMARY KEY, v text) PARTITION BY RANGE (a);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (10) TO (20);
CREATE TABLE ends (id int PRIMARY KEY)"""


@pytest.fixture(scope="module", params=MAJORS)
def postgres(stack: Stack, request: pytest.FixtureRequest) -> PostgresServer:
    """The servers of every major."""
    return server_of(stack, request)


@pytest.fixture
def told(database: Database) -> Iterator["Told"]:
    """A database with a partitioned table, and its log."""
    with psycopg.connect(database.dsn, autocommit=True) as session:
        session.execute(TABLES)
        around = Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
        source = PgSource(settings_of(database.dsn, **{"table.include.list": "public.(parts|ends)"}), around)
        with closing(source):
            (partition,) = source.partitions()
            yield Told(session, source.stream(partition, source.tables(partition), None))


class Told:
    """Runs statements and says what the log makes of them."""

    def __init__(self, session: psycopg.Connection[tuple[object, ...]], stream: PgStream) -> None:
        self._session, self._stream = session, stream
        self._ends: set[int] = set()  # refs of the table whose row says that there is no more
        self._asked = 0

    def of(self, *statements: str) -> str:
        """Return the operations, a letter each."""
        for statement in statements:
            self._session.execute(statement.encode())
        self._session.execute("INSERT INTO ends VALUES (%s)", [self._asked])
        self._asked += 1
        seen: list[str] = []
        deadline = time.monotonic() + 30
        while "end" not in seen:
            assert time.monotonic() < deadline, seen
            batch = self._stream.poll(time.monotonic() + 0.2)
            for step in batch.steps if batch else ():
                seen += self._operations(step)
        assert seen[-1] == "end"
        return "".join(seen[:-1])

    def _operations(self, step: Step) -> list[str]:
        match step:
            case Fault():
                raise step.error
            case Shape() if step.table.id.name == "ends":
                self._ends.add(step.ref)
            case Rows():
                return ["end" if row[0] in self._ends else row[1] for row in step.rows]
            case Truncate():
                return ["t"]
            case _:
                pass
        return []


def test_rows_of_partitions_come_and_go_as_the_page_says(told: Told) -> None:
    """T-P24."""
    assert (
        told.of("INSERT INTO parts VALUES (1, 'a'), (11, 'b'); INSERT INTO parts_1 VALUES (2, 'c')") == "ccc"
    )
    assert told.of("UPDATE parts SET v = 'x' WHERE a = 1") == "u"
    assert told.of("UPDATE parts SET a = 12 WHERE a = 2") == "dc"
    assert told.of("TRUNCATE parts_1") == ""
    assert told.of("TRUNCATE parts") == "t"
    assert told.of("INSERT INTO parts VALUES (1, 'a'), (11, 'b')") == "cc"
    assert told.of("ALTER TABLE parts DETACH PARTITION parts_1", "DELETE FROM parts_1") == ""
    assert told.of("INSERT INTO parts_1 VALUES (3, 'late')") == ""
    assert told.of("ALTER TABLE parts ATTACH PARTITION parts_1 FOR VALUES FROM (0) TO (10)") == ""
    assert told.of("UPDATE parts SET v = 'y' WHERE a = 3") == "u"  # of a row that was never inserted
    assert told.of("DROP TABLE parts_2") == ""


def test_rows_deleted_before_their_partition_is_detached_are_reported(told: Told) -> None:
    assert told.of("INSERT INTO parts VALUES (1, 'a'), (2, 'b')") == "cc"
    assert told.of("DELETE FROM parts_1", "ALTER TABLE parts DETACH PARTITION parts_1") == "dd"
