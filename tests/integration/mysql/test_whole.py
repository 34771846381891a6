"""A table without a key is read as of one place of the log, also beside those who write to it."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from threading import Event

import pytest

from tests.integration.mysql.logged import Logged
from tests.integration.mysql.rows_world import World, int_of, rows_of, table
from tests.integration.mysql.test_marks import reading
from wrackline.producers.contract.row_chunks import Chunk, ChunkRequest
from wrackline.producers.contract.source_plugin import WholeRead
from wrackline.producers.sources.mysql.chunks.marks import MySqlFence
from wrackline.producers.sources.mysql.chunks.read_session import MySqlReadSession
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.table import TableId

pytestmark = pytest.mark.servers

ROUNDS = 15
LOGS = "CREATE TABLE shop.t (id int)"
RIGHTS = {
    "mysql": ("RELOAD, REPLICATION CLIENT ON *.*", "SELECT ON shop.*", "LOCK TABLES ON shop.*"),
    "mariadb": ("RELOAD ON *.*", "SELECT ON shop.*"),
}


def test_a_whole_read_has_what_lies_before_its_place_and_nothing_else(world: World) -> None:
    world.run(LOGS)
    found = []
    logged: list[Logged] = []
    with reading(world) as (reader, log):
        for _ in range(ROUNDS):
            read = reader.whole(table("t"))
            found.append(_all(read, most_rows=100))
            read.close()
            logged += log()
    assert len({mark.place for _, mark in found}) == ROUNDS
    assert len(found[-1][0]) > ROUNDS
    for rows, mark in found:
        assert sorted(rows) == sorted(one.row for one in logged if one.begin < mark.place)
        assert not [one for one in logged if one.begin < mark.place < one.end]


def test_no_two_reads_of_a_quiet_server_are_at_one_place(world: World) -> None:
    world.run(LOGS)
    with closing(world.reader()) as reader:
        places = []
        for _ in range(3):
            read = reader.whole(table("t"))
            places.append(_all(read)[1].place)
            read.close()
    assert places == sorted(set(places))


def test_writers_of_the_table_wait_no_longer_than_its_place_is_sought(world: World) -> None:
    world.run(LOGS, "INSERT INTO shop.t VALUES (1), (2), (3)")
    with closing(world.reader()) as reader:
        read = reader.whole(table("t"))
        first = read.next(ChunkRequest(table("t"), (), most_rows=1))
        world.run("SET SESSION lock_wait_timeout = 1", "INSERT INTO shop.t VALUES (4)")
        assert not first.complete
        assert len(_all(read)[0]) == 2
        read.close()


def test_a_table_that_is_being_read_is_not_truncated(world: World) -> None:
    world.run(LOGS, "INSERT INTO shop.t VALUES (1), (2), (3)")
    with closing(world.reader()) as reader:
        read = reader.whole(table("t"))
        with pytest.raises(Exception, match="Lock wait timeout"):
            world.run("SET SESSION lock_wait_timeout = 1", "TRUNCATE TABLE shop.t")
        assert len(_all(read)[0]) == 3
        read.close()
        world.run("SET SESSION lock_wait_timeout = 5", "TRUNCATE TABLE shop.t")


def test_a_writer_that_does_not_end_lets_the_read_be_tried_again(world: World) -> None:
    if world.mariadb:
        pytest.skip("MariaDB locks nothing")
    world.run(LOGS)
    with closing(world.reader()) as reader, world.root(autocommit=False) as other, other.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(Transient) as caught:
            reader.whole(table("t"))
        assert caught.value.code == "mysql.server_lost"
        other.rollback()
        reader.whole(table("t")).close()


def test_a_lock_whose_holder_is_silent_is_let_go(world: World) -> None:
    if world.mariadb:
        pytest.skip("MariaDB locks nothing")
    world.run(LOGS)

    class Frozen:
        """Asks what the table is only when it can be written to."""

        def describe(self, wanted: TableId) -> Projection:
            world.run("SET SESSION lock_wait_timeout = 30", "INSERT INTO shop.t VALUES (1)")
            return world.session().catalogue.describe(wanted)

    def begin() -> MySqlReadSession:
        return replace(world.session(), catalogue=Frozen())

    whole = replace(world.whole(), begin=begin)
    with pytest.raises(Transient) as caught:
        whole(table("t"), Event())
    assert caught.value.code == "mysql.server_lost"
    assert world.run("SELECT id FROM shop.t") == [(1,)], "the lock stood on"


def test_each_right_that_is_missing_is_named_with_its_grant(world: World) -> None:
    world.run(LOGS, "DROP USER IF EXISTS reader", "CREATE USER reader", "GRANT SELECT ON shop.* TO reader")
    world.user = "reader"
    rights = RIGHTS["mariadb" if world.mariadb else "mysql"]
    with closing(world.reader()) as reader:
        for _ in range(len(rights)):
            try:
                reader.whole(table("t")).close()
                break
            except OperatorNeeded as error:
                grant = error.hint.partition("as an administrator: ")[2].partition(";")[0]
                assert grant.startswith("GRANT ")
                world.run(grant)
    with closing(world.reader()) as reader:
        reader.whole(table("t")).close()
    world.run("DROP USER reader")


@pytest.mark.parametrize("ended", ["given up", "closed"])
def test_a_read_that_is_left_leaves_nothing_on_the_server(world: World, ended: str) -> None:
    world.run(LOGS, "INSERT INTO shop.t SELECT 1 FROM information_schema.columns")
    world.run("INSERT INTO shop.t SELECT a.id FROM shop.t a, shop.t b LIMIT 1000000")
    with closing(world.reader()) as reader:
        read = reader.whole(table("t"))
        read.next(ChunkRequest(table("t"), (), most_rows=10))
        if ended == "given up":
            read.give_up()
            with pytest.raises(Transient):
                _all(read)
        read.close()
        _until(lambda: not world.run("SHOW PROCESSLIST") or len(_reading(world)) == 0)


def _reading(world: World) -> list[object]:
    return [row for row in world.run("SHOW FULL PROCESSLIST") if "`id` FROM `shop`" in str(row[7])]


def _all(read: WholeRead, most_rows: int = 1_000_000) -> tuple[list[int], MySqlFence]:
    """Read it to its end."""
    rows: list[int] = []
    while True:
        chunk: Chunk = read.next(ChunkRequest(table("t"), (), most_rows=most_rows, slice_rows=1_000))
        rows += map(int_of, rows_of(chunk))
        assert isinstance(chunk.mark, MySqlFence)
        if chunk.complete:
            return rows, chunk.mark


def _until(true: Callable[[], bool]) -> None:
    waiting = Event()
    for _ in range(200):
        if true():
            return
        waiting.wait(0.05)
    raise TimeoutError("it does not come about")
