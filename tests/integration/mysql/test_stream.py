"""What a stream does where a log is cut, changed or left: on each server."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.integration.mysql.source_world import MySqlWorld
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.source_plugin import Edge, MarkKind
from wrackline.producers.contract.steps import (
    Appeared,
    Fault,
    Renamed,
    Reshaped,
    Rows,
    Signal,
    Step,
    Vanished,
)
from wrackline.producers.sources.mysql.connect.server_facts import Flavour
from wrackline.schemas.errors import Definite, Transient
from wrackline.schemas.tables.table import SourcePartition
from wrackline.testing.sources.log_suite import BIG, row
from wrackline.testing.sources.reading import events, open_stream, places, read, row_changes

pytestmark = pytest.mark.servers
ELSEWHERE = "01234567-89ab-cdef-0123-456789abcdef"
Made = Callable[..., MySqlWorld]


@pytest.fixture
def made(server: MysqlServer) -> Iterator[Made]:
    """Make worlds on the server, which end with the test."""
    worlds: list[MySqlWorld] = []

    def make(kind: MarkKind = MarkKind.FENCE) -> MySqlWorld:
        worlds.append(MySqlWorld(server, kind))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


def partition_of(world: MySqlWorld) -> SourcePartition:
    """The only one."""
    return world.source.partitions()[0]


def keys(world: MySqlWorld, steps: Sequence[Step]) -> list[tuple[object, ...] | None]:
    """The keys of the rows."""
    return [event.key for event in events(world, steps)]


def test_another_server_continues_by_gtid_in_an_epoch_of_its_own(made: Made) -> None:
    """T-M05."""
    world = made()
    partition = partition_of(world)
    stream = open_stream(world, partition)
    first = world.commit(partition, *(row("a", number, big=BIG) for number in range(5)))
    steps = read(world, stream, first)
    stream.close()
    second = world.commit(partition, row("b", 1))
    cut = next(step.upto for step in steps if isinstance(step, Rows))
    for place in (cut, places(steps)[-1]):
        saved = {**place.saved(), "server": ELSEWHERE}
        again = open_stream(world, partition, saved)
        later = read(world, again, second)
        again.close()
        out = [event for event in events(world, steps) if event.upto <= place]
        assert len(out) in {2, 5}
        assert keys(world, later) == [("a", number) for number in range(len(out), 5)] + [("b", 1)]
        assert min(event.seq for event in events(world, later)) > max(e.seq for e in events(world, steps))
        ends = places(later)[-1].saved()
        assert (ends["epoch"], ends["server"]) == (2, world.facts.identity)


def test_what_a_session_logged_under_another_servers_number_is_there(made: Made) -> None:
    world = made()
    if world.facts.flavour is Flavour.MYSQL:
        pytest.skip("MySQL's GTIDs have no server's number")
    partition = partition_of(world)
    stream = open_stream(world, partition)
    world.run("SET SESSION server_id = 77")  # as what replays a log does
    saved = places(read(world, stream, world.commit(partition, row("a", 1))))[-1].saved()
    stream.close()
    assert "-77-" in str(saved["mariadb_gtids"])
    again = open_stream(world, partition, saved)
    assert keys(world, read(world, again, world.commit(partition, row("a", 2)))) == [("a", 2)]
    again.close()


def test_a_server_of_the_same_port_and_network_card_is_another(made: Made) -> None:
    world = made()
    if world.facts.flavour is Flavour.MYSQL:
        pytest.skip("MySQL's server_uuid is made by chance")
    partition = partition_of(world)
    stream = open_stream(world, partition)
    saved = places(read(world, stream, world.commit(partition, row("a", 1))))[-1].saved()
    stream.close()
    number = world.facts.variables["server_id"]
    world.run("SET GLOBAL server_id = 4000000000")  # all that distinguishes it from another container, say
    try:
        again = open_stream(world, partition, saved)
        steps = read(world, again, world.commit(partition, row("a", 2)))
        again.close()
    finally:
        world.run(f"SET GLOBAL server_id = {number}")
    assert keys(world, steps) == [("a", 2)]
    assert [place.saved()["epoch"] for place in places(steps)][-1] == 2


def test_a_server_that_lacks_what_was_read_is_waited_for(made: Made) -> None:
    world = made()
    partition = partition_of(world)
    stream = open_stream(world, partition)
    saved = places(read(world, stream, world.commit(partition, row("a", 1))))[-1].saved()
    name = "mariadb_gtids" if world.facts.flavour is Flavour.MARIADB else "gtids"
    had = str(saved[name])
    more = f"{had.rpartition('-')[0]}-999999999"
    with pytest.raises(Transient, match="does not have everything"):
        open_stream(world, partition, {**saved, "server": ELSEWHERE, name: more})
    with pytest.raises(Definite, match="lacks transactions"):
        open_stream(world, partition, {**saved, name: more})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"file": "binlog.999999"}, "has no binlog.999999"),
        ({"offset": 4_000_000_000}, "ends before"),
        ({"begun": 7}, "was created at"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_place_of_another_history_is_definite(made: Made, changed: dict[str, Any], said: str) -> None:
    world = made()
    partition = partition_of(world)
    stream = open_stream(world, partition)
    saved = places(read(world, stream, world.commit(partition, row("a", 1))))[-1].saved()
    assert saved["begun"]
    with pytest.raises(Definite, match=said):
        read(world, open_stream(world, partition, {**saved, **changed}), world.commit(partition, row("a", 2)))


def test_a_purged_file_is_definite(made: Made) -> None:
    """T-M04."""
    world = made()
    partition = partition_of(world)
    stream = open_stream(world, partition)
    saved = places(read(world, stream, world.commit(partition, row("a", 1))))[-1].saved()
    stream.close()
    world.run("FLUSH BINARY LOGS")
    world.commit(partition, row("a", 2))
    last = str(world._log()["File"])
    end = time.monotonic() + 20
    while any(str(row["Log_name"]) < last for row in world.run("SHOW BINARY LOGS")):
        assert time.monotonic() < end  # a dump may hold a file for a moment after it ended
        world.run(f"PURGE BINARY LOGS TO '{last}'")
    with pytest.raises(Definite, match="is gone"):
        open_stream(world, partition, saved)


def test_the_log_continues_in_the_next_file(made: Made) -> None:
    """T-M03."""
    world = made()
    partition = partition_of(world)
    stream = open_stream(world, partition)
    first = world.commit(partition, row("a", 1))
    world.run("FLUSH BINARY LOGS")
    second = world.commit(partition, row("a", 2))
    steps = read(world, stream, first, second)
    assert keys(world, steps) == [("a", 1), ("a", 2)]
    assert str(places(steps)[0].saved()["file"]) < str(places(steps)[-1].saved()["file"])
    again = open_stream(world, partition, places(steps)[0].saved())
    assert keys(world, read(world, again, second))[-1:] == [("a", 2)]


def test_rows_of_the_signal_table_are_signals(made: Made) -> None:
    world = made(MarkKind.SIGNAL)
    partition = partition_of(world)
    stream = open_stream(world, partition)
    world.run("INSERT INTO signals VALUES ('s1', 'execute-snapshot', '{\"ä\": 1}'), ('s2', 'log', NULL)")
    world.run("UPDATE signals SET type = 'x'", "DELETE FROM signals")
    name = world.commit(partition, row("a", 1))
    steps = read(world, stream, name)
    said = [(step.id, step.type, step.data) for step in steps if isinstance(step, Signal)]
    assert said == [("s1", "execute-snapshot", '{"ä": 1}'), ("s2", "log", "")]
    assert keys(world, steps) == [("a", 1)]


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        (
            "n bigint AUTO_INCREMENT PRIMARY KEY, {id}, at datetime NOT NULL DEFAULT now(), {type}, {data}",
            True,
        ),
        ("{data}, {type}, {id}, more int", True),
        ("one varchar(80) PRIMARY KEY, two varchar(32), three varchar(2048)", False),
    ],
)
def test_a_signal_tables_own_columns_may_be_anywhere(made: Made, columns: str, *, named: bool) -> None:
    """Of one that names them otherwise they are the first three (T-W20)."""
    world = made(MarkKind.SIGNAL)
    partition = partition_of(world)
    texts = {"id": "ID varchar(80)", "type": "type varchar(32)", "data": "data varchar(2048)"}
    world.run("DROP TABLE signals", f"CREATE TABLE signals ({columns.format(**texts)})")
    stream = open_stream(world, partition)
    if named:
        reader = world.source.reader(partition)
        mark = reader.marks.set("c", Edge.OPEN)
        reader.close()
    world.run(f"INSERT INTO signals {'(id, type, data)' if named else ''} VALUES ('s1', 'log', '{{}}')")
    steps = read(world, stream, world.commit(partition, row("a", 1)))
    said = [step for step in steps if isinstance(step, Signal)]
    assert [(step.id, step.type, step.data) for step in said[-1:]] == [("s1", "log", "{}")]
    assert not named or [mark.passed(step) for step in said] == [True, False]


def test_a_row_that_cannot_be_carried_leaves_its_table_out_and_no_other(made: Made) -> None:
    world, other = made(), made()
    partition = partition_of(world)
    world.run("ALTER TABLE orders ADD COLUMN due datetime")
    stream = open_stream(world, partition)
    world.run("INSERT INTO orders (shop, number, due) VALUES ('a', 1, '2026-01-01')")
    world.run("SET SESSION sql_mode = ''")
    world.run("INSERT INTO orders (shop, number, due) VALUES ('a', 2, 0), ('a', 3, 0)")
    name = world.commit(partition, row("a", 4))
    steps = read(world, stream, name)
    (fault,) = [step for step in steps if isinstance(step, Fault)]
    assert (fault.table, fault.error.code) == (world.orders(partition).id, "mysql.value_unfit")
    assert "2026" not in str(fault.error)
    assert keys(world, steps) == [("a", 1)]
    neighbours = open_stream(other, partition)
    assert keys(other, read(other, neighbours, other.commit(partition, row("n", 1)))) == [("n", 1)]


def test_table_changes_come_in_their_place_in_the_log(made: Made) -> None:
    world = made()
    partition = partition_of(world)
    stream = open_stream(world, partition)
    orders = world.orders(partition).id
    other = orders._replace(name="others")
    altered, renamed, created = (
        "ALTER TABLE orders MODIFY label varchar(300)",
        "RENAME TABLE orders TO others",
        "CREATE TABLE orders LIKE others",
    )
    world.run(altered, renamed, created)
    name = world.commit(partition, row("a", 1))
    world.run("DROP TABLE others")
    steps = read(world, stream, name)
    coming = [step for step in steps if isinstance(step, Appeared | Vanished | Renamed | Reshaped)]
    assert coming == [
        Reshaped(orders, refresh=True, ddl=altered),
        Vanished(orders, renamed, dropped=True),  # its new name is not captured
        Appeared(orders, complete=True, ddl=created),
    ]
    assert other not in world.source.tables(partition)
    assert len(row_changes(steps)) == 1


def test_the_server_lets_go_of_a_dump_that_is_closed(made: Made) -> None:
    world = made()
    partition = partition_of(world)
    stream = open_stream(world, partition)
    read(world, stream, world.commit(partition, row("a", 1)))
    assert len(dumps(world)) == 1
    stream.close()
    end = time.monotonic() + 20
    while dumps(world):
        assert time.monotonic() < end


def dumps(world: MySqlWorld) -> list[dict[str, Any]]:
    """The threads that send the log."""
    return [row for row in world.run("SHOW PROCESSLIST") if str(row["Command"]).startswith("Binlog Dump")]


def test_a_new_stream_reports_its_position_at_once(made: Made) -> None:
    world = made()
    partition = partition_of(world)
    stream = open_stream(world, partition)
    batch = stream.poll(world.now())
    assert batch is not None
    began = places(batch.steps)[0].saved()
    stream.close()
    name = world.commit(partition, row("a", 1))
    again = open_stream(world, partition, began)
    assert keys(world, read(world, again, name)) == [("a", 1)]
    again.close()
