"""What a session or an administrator can do to the log while it is read: on each server."""

from collections.abc import Iterator

import pymysql
import pytest

from tests.integration.mysql.source_world import MySqlWorld
from tests.integration.mysql.world import root
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.source_plugin import LogStream
from wrackline.producers.contract.steps import Fault, Reshaped, Step
from wrackline.producers.sources.mysql.connect.server_facts import Flavour
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.tables.table import SourcePartition
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import events, open_stream, places, read, read_batches

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
    """The codes, and what repairs them."""
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
    """T-M08."""
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
    """T-M08."""
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


def test_a_server_that_names_no_columns_any_more_stops_the_stream_until_it_does_again(
    server: MysqlServer, world: MySqlWorld, partition: SourcePartition, stream: LogStream
) -> None:
    began = places(read(world, stream, world.commit(partition, row("a", 1))))[-1]
    elsewhere(server, world, "SET GLOBAL binlog_row_metadata = MINIMAL", "FLUSH TABLES")
    try:
        last = world.commit(partition, row("b", 1))
        with pytest.raises(OperatorNeeded) as raised:
            read(world, stream, last)
    finally:
        elsewhere(server, world, "SET GLOBAL binlog_row_metadata = FULL", "FLUSH TABLES")
    assert raised.value.code == "mysql.metadata_off"
    assert "SET GLOBAL binlog_row_metadata = FULL" in raised.value.hint
    again = open_stream(world, partition, began.saved())
    assert [code for code, _ in faults(until_fault(world, again))] == ["mysql.metadata_minimal"]
    again.close()


def test_a_session_that_logs_statements_stops_the_stream(
    server: MysqlServer, world: MySqlWorld, partition: SourcePartition, stream: LogStream
) -> None:
    """T-M09."""
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


@pytest.mark.parametrize("image", ["NOBLOB", "FULL_NODUP"])
def test_a_row_image_that_leaves_out_what_did_not_change_ends_its_table(
    server: MysqlServer, world: MySqlWorld, partition: SourcePartition, stream: LogStream, image: str
) -> None:
    world.commit(partition, row("a", 1, big="kept"))
    try:
        elsewhere(server, world, f"SET binlog_row_image = {image}", "UPDATE orders SET label = 'other'")
    except pymysql.err.OperationalError:
        pytest.skip(f"there is no {image} yet")
    steps = until_fault(world, stream)
    assert keys(world, steps) == [("a", 1)]
    assert [code for code, _ in faults(steps)] == ["mysql.row_image"]


def test_changed_parts_of_a_json_document_are_whole_documents(
    server: MysqlServer, world: MySqlWorld, partition: SourcePartition
) -> None:
    if world.facts.flavour is Flavour.MARIADB:
        pytest.skip("its JSON is text")
    before = """'{"a": [1, 2], "zz": "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"}'"""
    world.run("ALTER TABLE orders ADD COLUMN j json", "SET @before = " + before)
    world.run("INSERT INTO orders (shop, number, j) VALUES ('a', 1, @before), ('a', 2, @before)")
    world.run("COMMIT")
    stream = open_stream(world, partition)
    change = "UPDATE orders SET j = JSON_SET(j, '$.a[0]', 'x') WHERE number = "
    options = "SET binlog_row_value_options = PARTIAL_JSON"
    elsewhere(server, world, options, f"{change} 1", "SET binlog_transaction_compression = ON", f"{change} 2")
    steps = read(world, stream, world.commit(partition, row("b", 1)))
    stream.close()
    [row_of] = world.run("SELECT DISTINCT CAST(j AS char) AS j FROM orders WHERE shop = 'a'")
    told = [event.after["j"] for event in events(world, steps) if event.after and event.op == "u"]
    assert told == [row_of["j"]] * 2


def test_rows_that_a_foreign_key_changes_are_in_the_log_where_the_server_is_said_to_log_them(
    world: MySqlWorld, partition: SourcePartition
) -> None:
    """T-M11."""
    world.run(
        "CREATE TABLE parents (id int PRIMARY KEY)",
        "CREATE TABLE kids (id int PRIMARY KEY, up int, CONSTRAINT k FOREIGN KEY (up) REFERENCES parents (id)"
        " ON DELETE CASCADE ON UPDATE CASCADE)",
        "INSERT INTO parents VALUES (1)",
        "INSERT INTO kids VALUES (7, 1)",
        "COMMIT",
    )
    kids = world.orders(partition).id._replace(name="kids")
    stream = world.source.stream(partition, [kids, world.orders(partition).id], None)
    world.run("UPDATE parents SET id = 2", "COMMIT", "DELETE FROM parents", "COMMIT")
    steps = read(world, stream, world.commit(partition, row("b", 1)))
    stream.close()
    told = [(event.op, event.key) for event in events(world, steps)]
    logged = [("u", (7,)), ("d", (7,))] if world.facts.cascades_logged else []
    assert told == [*logged, ("c", ("b", 1))]


def test_rows_that_are_logged_and_rolled_back_are_not_delivered(
    server: MysqlServer, world: MySqlWorld, partition: SourcePartition
) -> None:
    """MariaDB logs rows with their ROLLBACK where the transaction made or dropped a temporary table."""
    began = places(read(world, open_stream(world, partition), world.commit(partition, row("a", 0))))[-1]
    insert = "INSERT INTO orders (shop, number) VALUES"
    elsewhere(
        server,
        world,
        "BEGIN",
        "SAVEPOINT early",
        f"{insert} ('a', 1)",
        "CREATE TEMPORARY TABLE one (id int)",
        "SAVEPOINT s",
        f"{insert} ('a', 2), ('a', 3)",
        "ROLLBACK TO s",
        f"{insert} ('a', 4)",
        "COMMIT",
        "BEGIN",
        f"{insert} ('a', 5)",
        "DROP TEMPORARY TABLE one",
        "ROLLBACK",
        "BEGIN",
        "SAVEPOINT early",
        f"{insert} ('a', 6)",
        "CREATE TEMPORARY TABLE two (id int)",
        "ROLLBACK TO early",
        f"{insert} ('a', 7)",
        "COMMIT",
        "XA START 'x'",
        f"{insert} ('a', 8)",
        "SELECT 1" if world.facts.flavour is Flavour.MYSQL else "CREATE TEMPORARY TABLE three (id int)",
        "SAVEPOINT s",
        f"{insert} ('a', 9)",
        "ROLLBACK TO s",
        "XA END 'x'",
        "XA PREPARE 'x'",
        "XA COMMIT 'x'",
    )
    last = world.commit(partition, row("b", 1))
    while True:
        stream = open_stream(world, partition, began.saved())
        try:
            steps = read(world, stream, last)
            break
        except Transient as error:
            assert error.code == "mysql.rolled_back"  # noqa: PT017 - where the log came in pieces
        finally:
            stream.close()
    assert keys(world, steps) == [("a", 1), ("a", 4), ("a", 7), ("a", 8), ("b", 1)]
    rows = world.run("SELECT shop, number FROM orders WHERE number > 0 ORDER BY shop, number")
    assert keys(world, steps) == [tuple(one.values()) for one in rows]


def test_rows_that_no_rollback_undoes_are_delivered(
    server: MysqlServer, world: MySqlWorld, partition: SourcePartition
) -> None:
    """A table without transactions keeps its rows, and the log has them in a transaction of their own.

    T-M09.
    """
    if world.facts.flavour is Flavour.MYSQL:
        pytest.skip("with GTIDs it lets nobody do so")
    world.run("CREATE TABLE notes (id int PRIMARY KEY) ENGINE = MyISAM", "COMMIT")
    notes, orders = world.orders(partition).id._replace(name="notes"), world.orders(partition).id
    stream = world.source.stream(partition, [notes, orders], None)
    elsewhere(
        server,
        world,
        "BEGIN",
        "INSERT INTO orders (shop, number) VALUES ('a', 1)",
        "INSERT INTO notes VALUES (1)",
        "CREATE TEMPORARY TABLE passing (id int)",
        "INSERT INTO notes VALUES (2)",
        "INSERT INTO orders (shop, number) VALUES ('a', 2)",
        "ROLLBACK",
    )
    steps = read(world, stream, world.commit(partition, row("b", 1)))
    stream.close()
    assert [event.key for event in events(world, steps)] == [(1,), (2,), ("b", 1)]
