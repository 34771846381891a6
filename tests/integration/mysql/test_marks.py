"""Marks under load: what a chunk saw lies before its mark, and what it did not see was named."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from threading import Event

import pytest

from tests.fakes.place import Place
from tests.integration.mysql.logged import Log, Logged
from tests.integration.mysql.rows_world import World, beside, int_of, rows_of, table
from wrackline.producers.contract.row_chunks import Chunk, ChunkRequest, Mark
from wrackline.producers.contract.source_plugin import Edge, MarkKind
from wrackline.producers.contract.steps import Commit, Progress, Signal
from wrackline.producers.sources.mysql.chunks.chunks import MySqlReader
from wrackline.producers.sources.mysql.chunks.marks import MySqlFence, query_rows
from wrackline.producers.sources.mysql.log.position import MySqlHistory, MySqlPosition
from wrackline.schemas.errors import OperatorNeeded

pytestmark = pytest.mark.servers

WRITERS = 6
ROUNDS = 60
EACH = 1_000_000  # rows' numbers of one writer
MOST = 1_000  # rows of one writer: a fast one would give each round more to look at than the one before
LATE = "SET GLOBAL binlog_group_commit_sync_delay = 20000"  # in the log for 20 ms before it is visible
ALL = ChunkRequest(table("t"), ("id",), most_rows=1_000_000, slice_rows=1_000_000, most_seconds=60)


@pytest.fixture(params=["ordered", "unordered"])
def busy(world: World, request: pytest.FixtureRequest) -> Iterator[World]:
    """A server with a table to write to, which commits in the log's order or not."""
    if world.mariadb and request.param == "unordered":
        pytest.skip("MariaDB knows one order")
    world.run("CREATE TABLE shop.t (id int PRIMARY KEY)")
    if not world.mariadb:
        world.run(f"SET GLOBAL binlog_order_commits = {'ON' if request.param == 'ordered' else 'OFF'}")
    yield world
    if not world.mariadb:
        world.run("SET GLOBAL binlog_order_commits = ON", "SET GLOBAL binlog_group_commit_sync_delay = 0")


def test_what_a_chunk_saw_lies_before_its_mark(busy: World) -> None:
    with reading(busy) as (reader, log):
        chunks = [_marked(reader) for _ in range(ROUNDS)]
        ends = {one.row: one.end for one in log()}
    assert sum(len(saw) for saw, _ in chunks) > ROUNDS
    for saw, mark in chunks:
        assert isinstance(mark, MySqlFence)
        assert max((ends[row] for row in saw), default=mark.place) <= mark.place


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "READ COMMITTED"])
def test_a_chunk_of_mariadb_saw_all_before_its_place(world: World, isolation: str) -> None:
    """Whatever a session begins with: at READ COMMITTED its consistent snapshot is none."""
    if not world.mariadb:
        pytest.skip("MySQL's chunks have no place of their own")
    world.run("CREATE TABLE shop.t (id int PRIMARY KEY)")
    world.run(f"SET GLOBAL TRANSACTION ISOLATION LEVEL {isolation}")
    try:
        with reading(world) as (reader, log):
            chunks = [_marked(reader) for _ in range(ROUNDS)]
            logged = log()
    finally:
        world.run("SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    for saw, mark in chunks:
        assert isinstance(mark, MySqlFence)
        assert saw == {one.row for one in logged if one.end <= mark.place}


@pytest.mark.parametrize("visible", ["soon", "late"])
def test_what_was_streamed_and_is_not_seen_is_named(busy: World, visible: str) -> None:
    if visible == "late":
        if busy.mariadb:
            pytest.skip("MariaDB has nothing that keeps a logged transaction back")
        busy.run(LATE)
    hidden = 0
    with reading(busy) as (reader, log):
        streamed: list[Logged] = []
        for _ in range(ROUNDS):
            streamed += log()
            commits = [one.commit for one in streamed]
            unseen = {commit.position for commit in reader.marks.unseen(commits)}
            saw, _ = _marked(reader)
            assert {one.row for one in streamed if one.commit.position not in unseen} <= saw
            hidden += len(unseen)
    assert hidden or visible == "soon", "the gate had nothing to keep back"


def test_an_open_transaction_is_not_seen(world: World) -> None:
    world.run("CREATE TABLE shop.t (id int PRIMARY KEY)", "INSERT INTO shop.t VALUES (1)")
    with closing(world.reader()) as reader, world.root() as other:
        if not world.mariadb:
            pytest.skip("a GTID says it")
        mark = reader.marks.set("now", Edge.CLOSE)
        assert isinstance(mark, MySqlFence)
        begun = Commit("0-1-1", MySqlPosition(0, mark.place.file, mark.place.offset, 1), 0)
        ended = Commit("0-1-1", MySqlPosition(0, *mark.place), 0)
        assert reader.marks.unseen([begun, ended]) == [begun]
        with other.cursor() as cursor:
            cursor.execute("INSERT INTO t VALUES (2)")
        assert reader.marks.unseen([begun, ended]) == []


def test_what_was_streamed_before_a_restart_is_seen_once_all_is_that_was_logged_by_now(world: World) -> None:
    world.run("CREATE TABLE shop.t (id int PRIMARY KEY)", "INSERT INTO shop.t VALUES (1)")
    before = Commit(last_transaction(world), Place(0, 1), 0)
    with closing(world.reader()) as reader:
        assert list(reader.marks.unseen([before])) == []


def last_transaction(world: World) -> str:
    """The name of the last one that was committed."""
    with world.root() as connection:
        said = "@@gtid_binlog_pos" if world.mariadb else "CONCAT(@@server_uuid, ':1')"
        ((name,),) = query_rows(connection, f"SELECT {said}")
    return str(name)


def test_a_fence_is_passed_at_its_place_and_by_its_set_on_another_server(world: World) -> None:
    world.run("CREATE TABLE shop.t (id int PRIMARY KEY)")
    with closing(world.reader()) as reader:
        mark = reader.marks.set("now", Edge.CLOSE)
    assert isinstance(mark, MySqlFence)
    file, offset = mark.place
    for at, passed in (((file, offset), True), ((file, offset - 1), False), ((file + 1, 4), True)):
        assert mark.passed(Progress(MySqlPosition(0, *at, 0, MySqlHistory(mark.server, "b.1", 0)))) == passed
    assert not mark.passed(Progress(MySqlPosition(0, file, offset, 1)))
    if world.mariadb:
        return
    elsewhere = MySqlHistory("another", "b.1", 0)
    assert mark.gtids is not None
    assert mark.passed(Progress(MySqlPosition(0, 1, 4, 0, elsewhere, mark.gtids)))
    assert not mark.passed(Progress(MySqlPosition(0, file + 1, 4, 0, elsewhere, type(mark.gtids)())))


def test_a_signal_is_a_row_that_comes_back(world: World) -> None:
    world.run("CREATE TABLE shop.signals (id varchar(200) PRIMARY KEY, type varchar(64), data text)")
    world.kind = MarkKind.SIGNAL
    with closing(world.reader()) as reader:
        marks = [reader.marks.set("c-1", edge) for edge in (Edge.OPEN, Edge.CLOSE)]
    rows = world.run("SELECT id, type, data FROM shop.signals ORDER BY type")
    assert [kind for _, kind, _ in rows] == ["snapshot-window-close", "snapshot-window-open"]
    place = MySqlPosition(0, 1, 4)
    opened = [mark.passed(Signal(rows[1][0], rows[1][1], rows[1][2], place)) for mark in marks]
    assert opened == [True, False]


def test_without_gtids_a_fence_is_refused_and_a_signal_asks_nothing(world: World) -> None:
    if world.mariadb:
        pytest.skip("MariaDB needs no GTIDs")
    steps = ("ON_PERMISSIVE", "OFF_PERMISSIVE")
    world.run(*(f"SET GLOBAL gtid_mode = {step}" for step in steps))
    try:
        streamed = [Commit("binlog.000001:4", MySqlPosition(0, 1, 4), 0)]
        with closing(world.reader()) as reader, pytest.raises(OperatorNeeded) as caught:
            reader.marks.unseen(streamed)
        assert caught.value.code == "mysql.fence_without_gtids"
        world.kind = MarkKind.SIGNAL
        with closing(world.reader()) as reader:
            assert reader.marks.unseen(streamed) == ()
    finally:
        world.run(*(f"SET GLOBAL gtid_mode = {step}" for step in (steps[0], "ON")))


@contextmanager
def reading(world: World) -> Iterator[tuple[MySqlReader, Callable[[], list[Logged]]]]:
    """A reader and the log beside writers, each of whose transactions is one row."""

    def writer(first: int) -> Callable[[Event], None]:
        def write(stop: Event) -> None:
            with world.root() as connection, connection.cursor() as cursor:
                if not world.mariadb:
                    cursor.execute("SET SESSION binlog_rows_query_log_events = ON")
                for number in range(first, first + MOST):
                    cursor.execute(f"INSERT INTO t VALUES ({number}) /* row {number} */")
                    if stop.is_set():
                        return

        return write

    with world.root() as told, closing(world.reader()) as reader:
        log = Log(world, told)
        with beside(*(writer(EACH * number + 1) for number in range(WRITERS))):
            yield reader, log.more


def _marked(reader: MySqlReader) -> tuple[set[int], Mark]:
    """Read all rows, and set a mark behind them as the task does."""
    chunk: Chunk = reader.read(ALL)
    return {int_of(row) for row in rows_of(chunk)}, chunk.mark or reader.marks.set("c-1", Edge.CLOSE)
