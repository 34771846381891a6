"""What a session or an administrator can do to the log while it is read: on each server."""

from collections.abc import Iterator

import pytest

from tests.contract.log_suite import row
from tests.contract.reading import events, open_stream, read, read_batches
from tests.integration.mysql.source_world import MySqlWorld
from tests.integration.mysql.world import root
from wrackline.control.stack.servers import MysqlServer
from wrackline.producers.changes import Fault, Reshaped, Step
from wrackline.producers.plugin import LogStream
from wrackline.producers.sources.mysql.server_facts import Flavour
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.table import SourcePartition

pytestmark = pytest.mark.servers


@pytest.fixture
def world(server: MysqlServer) -> Iterator[MySqlWorld]:
    """A world on each server."""
    made = MySqlWorld(server)
    yield made
    made.close()


@pytest.fixture
def partition(world: MySqlWorld) -> SourcePartition:
    """The only one."""
    return world.source.partitions()[0]


@pytest.fixture
def stream(world: MySqlWorld, partition: SourcePartition) -> Iterator[LogStream]:
    """The log from now on."""
    made = open_stream(world, partition)
    yield made
    made.close()


def elsewhere(server: MysqlServer, world: MySqlWorld, *statements: str) -> None:
    """Run statements in a session of their own."""
    with root(server, database=world.database) as session, session.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def keys(world: MySqlWorld, steps: list[Step]) -> list[tuple[object, ...] | None]:
    return [event.key for event in events(world, steps)]


def until_fault(world: MySqlWorld, stream: LogStream) -> list[Step]:
    """Read until a table is given up, and what is sent with that."""
    batches = read_batches(world, stream, lambda steps: any(isinstance(step, Fault) for step in steps))
    return [step for batch in batches for step in batch.steps]


def faults(steps: list[Step]) -> list[tuple[str, str]]:
    """The codes, and what mends them."""
    return [(step.error.code, step.error.hint) for step in steps if isinstance(step, Fault)]


def test_an_alter_in_two_phases_is_one(
    server: MysqlServer, world: MySqlWorld, partition: SourcePartition, stream: LogStream
) -> None:
    if world.facts.flavour is Flavour.MYSQL:
        pytest.skip("two phases are MariaDB's")
    elsewhere(
        server,
        world,
        "SET binlog_alter_two_phase = 1",
        "ALTER TABLE orders MODIFY label varchar(300), ALGORITHM = COPY",
        "INSERT INTO orders (shop, number, label) VALUES ('a', 1, 'x'), ('a', 2, 'x')",
    )
    with pytest.raises(Exception, match="Duplicate entry"):
        elsewhere(server, world, "SET binlog_alter_two_phase = 1", "ALTER TABLE orders ADD UNIQUE (label)")
    steps = read(world, stream, world.commit(partition, row("b", 1)))
    assert sum(isinstance(step, Reshaped) for step in steps) == 1
    assert keys(world, steps) == [("a", 1), ("a", 2), ("b", 1)]


def test_a_compressed_transaction_is_whole(
    server: MysqlServer, world: MySqlWorld, partition: SourcePartition, stream: LogStream
) -> None:
    mariadb = world.facts.flavour is Flavour.MARIADB
    switch = "GLOBAL log_bin_compress" if mariadb else "SESSION binlog_transaction_compression"
    elsewhere(
        server,
        world,
        f"SET {switch} = ON",
        "BEGIN",
        "INSERT INTO orders (shop, number, big) VALUES ('a', 1, repeat('z', 3000))",
        "INSERT INTO orders (shop, number, big) VALUES ('a', 2, repeat('z', 3000))",
        "SAVEPOINT s",
        "UPDATE orders SET label = repeat('y', 3000) WHERE shop = 'a' AND number = 1",
        "COMMIT",
        f"SET {switch} = OFF",
    )
    steps = read(world, stream, world.commit(partition, row("b", 1)))
    assert [(event.op, event.key) for event in events(world, steps)] == [
        ("c", ("a", 1)),
        ("c", ("a", 2)),
        ("u", ("a", 1)),
        ("c", ("b", 1)),
    ]


def test_a_session_that_logs_less_of_a_row_ends_its_table(
    server: MysqlServer, world: MySqlWorld, partition: SourcePartition, stream: LogStream
) -> None:
    world.commit(partition, row("a", 1))
    elsewhere(
        server,
        world,
        "SET SESSION binlog_row_image = MINIMAL",
        "UPDATE orders SET label = 'other' WHERE number = 1",
    )
    world.commit(partition, row("b", 1))
    steps = until_fault(world, stream)
    assert keys(world, steps) == [("a", 1)]
    [(code, hint)] = faults(steps)
    assert code == "mysql.row_image"
    assert "SET GLOBAL binlog_row_image = FULL" in hint


def test_metadata_that_is_switched_off_ends_the_table(
    server: MysqlServer, world: MySqlWorld, partition: SourcePartition, stream: LogStream
) -> None:
    world.commit(partition, row("a", 1))
    elsewhere(server, world, "SET GLOBAL binlog_row_metadata = MINIMAL", "FLUSH TABLES")
    try:
        world.commit(partition, row("b", 1))
    finally:
        elsewhere(server, world, "SET GLOBAL binlog_row_metadata = FULL", "FLUSH TABLES")
    world.commit(partition, row("c", 1))
    steps = until_fault(world, stream)
    assert keys(world, steps) == [("a", 1)]
    [(code, hint)] = faults(steps)
    assert code == "mysql.metadata_minimal"
    assert "SET GLOBAL binlog_row_metadata = FULL" in hint


def test_a_session_that_logs_statements_stops_the_stream(
    server: MysqlServer, world: MySqlWorld, partition: SourcePartition, stream: LogStream
) -> None:
    world.commit(partition, row("a", 1))
    elsewhere(
        server,
        world,
        "SET SESSION binlog_format = STATEMENT",
        "UPDATE orders SET label = 'secret' WHERE number = 1",
    )
    last = world.commit(partition, row("b", 1))
    with pytest.raises(OperatorNeeded) as raised:
        read(world, stream, last)
    assert raised.value.code == "mysql.statement_logged"
    assert "binlog_format" in raised.value.hint
    assert "secret" not in str(raised.value)
