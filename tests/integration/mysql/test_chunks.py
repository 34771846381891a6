"""What a chunk is on real servers: its limits, its conditions, its cuts, its end at any moment."""

import time
from contextlib import closing
from dataclasses import replace
from threading import Timer

import pytest

from tests.integration.mysql.rows_world import World, int_of, rows_of, table, walked
from wrackline.producers.contract.row_chunks import Chunk, ChunkRequest
from wrackline.producers.sources.mysql.chunks.chunks import MySqlRowQueries
from wrackline.producers.sources.mysql.connect.statement_rows import Connection
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient

pytestmark = pytest.mark.servers

ALL = ChunkRequest(table("t"), ("id",))
SERIES = "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {}) SELECT n FROM s"


def test_a_row_of_many_packets_comes_whole(world: World) -> None:
    sizes = (0, 1, (1 << 24) - 6, (1 << 24) - 5, (1 << 24) - 4, 1 << 24, 5, 1 << 25, 250, 251, 65_536)
    world.run("CREATE TABLE shop.t (id int PRIMARY KEY, b longblob)")
    for number, size in enumerate(sizes):
        world.run(f"INSERT INTO shop.t VALUES ({number}, repeat('x', {size}))")
    with closing(world.reader()) as reader:
        rows = rows_of(reader.read(replace(ALL, most_bytes=1 << 30, most_seconds=60)))
        assert [len(row.rstrip(b"x")) for row in rows] == [
            len(row) - size for row, size in zip(rows, sizes, strict=True)
        ]
        assert [len(row) - size in range(7, 16) for row, size in zip(rows, sizes, strict=True)] == [
            True
        ] * len(sizes)


def test_a_chunk_ends_with_the_row_that_fills_it_and_the_next_continues_there(world: World) -> None:
    world.run("CREATE TABLE shop.t (id int PRIMARY KEY, b blob)", _filled("n, repeat('x', 1000)", 1_000))
    with closing(world.reader()) as reader:
        first = reader.read(replace(ALL, most_bytes=100_000, slice_bytes=30_000, slice_rows=25))
        assert not first.complete
        assert 95 <= len(rows_of(first)) <= 101
        assert [len(part.rows) for part in first.slices][:3] == [25, 25, 25]
        assert sum(part.size for part in first.slices) >= 100_000
        whole = rows_of(first) + walked(reader, replace(ALL, after=first.slices[-1].upto, most_rows=700))
        assert whole == world.selected("SELECT * FROM shop.t ORDER BY id")


def test_a_slow_chunk_ends_early_with_what_it_has(world: World) -> None:
    world.run("CREATE TABLE shop.t (id int PRIMARY KEY, b longblob)", _filled("n, repeat('x', 100000)", 300))
    with closing(world.reader()) as reader:
        chunk = reader.read(replace(ALL, most_seconds=0.0, most_bytes=1 << 30))
        assert 0 < len(rows_of(chunk)) < 300
        assert not chunk.complete
        assert rows_of(reader.read(replace(ALL, only=(("300",),)))) == world.selected(
            "SELECT * FROM shop.t LIMIT 299, 1"
        )


@pytest.mark.parametrize("leaves", ["given up", "ended early"])
def test_what_is_left_does_not_go_on_at_the_server(world: World, leaves: str) -> None:
    world.run("CREATE TABLE shop.t (id int PRIMARY KEY, b longblob)", _filled("n, repeat('x', 50000)", 1_000))
    with closing(world.reader()) as reader:
        if leaves == "ended early":
            reader.read(replace(ALL, most_bytes=1))
            _until_nobody_reads(world)
            return
        with world.root() as other, other.cursor() as cursor:
            cursor.execute("LOCK TABLES t WRITE")  # the statement waits for it, and would do so for long
            Timer(0.3, reader.give_up).start()
            with pytest.raises(Transient) as caught:
                reader.read(ALL)
            assert caught.value.code == "mysql.server_lost"
            assert reader.closed
            _until_nobody_reads(world)


def test_a_chunk_leaves_the_table_free(world: World) -> None:
    """T-W21."""
    world.run("CREATE TABLE shop.t (id int PRIMARY KEY)", "INSERT INTO shop.t VALUES (1)")
    with closing(world.reader()) as reader:
        assert reader.read(ALL).complete
        world.run("SET SESSION lock_wait_timeout = 1", "ALTER TABLE shop.t ADD COLUMN v int")
        world.run("INSERT INTO shop.t VALUES (2, 3)")
        chunk = reader.read(ALL)
        assert [column.name for column in chunk.shape.columns] == ["id", "v"]
        assert len(rows_of(chunk)) == 2


def test_a_servers_limit_on_statements_is_not_the_chunks(world: World) -> None:
    world.run("CREATE TABLE shop.t (id int PRIMARY KEY)", "INSERT INTO shop.t VALUES (1)")
    limit = "max_statement_time = {}" if world.mariadb else "max_execution_time = {}000"
    world.run(f"SET GLOBAL {limit.format(1)}")
    try:
        with closing(world.reader()) as reader, world.root() as other, other.cursor() as cursor:
            cursor.execute("LOCK TABLES t WRITE")  # the statement waits for it, longer than it may
            lets_go = Timer(2, lambda: cursor.execute("UNLOCK TABLES"))
            lets_go.start()
            assert _ids(reader.read(ALL)) == [1]
            lets_go.join()
    finally:
        world.run(f"SET GLOBAL {limit.format(0)}")


def test_a_chunk_sees_what_was_committed_before_it(world: World) -> None:
    world.run("CREATE TABLE shop.t (id int PRIMARY KEY)")
    with closing(world.reader()) as reader:
        for number in range(1, 5):
            world.run(f"INSERT INTO shop.t VALUES ({number})")
            assert _ids(reader.read(ALL)) == list(range(1, number + 1))


def test_conditions_are_the_servers_own_comparison(world: World) -> None:
    world.run(
        "CREATE TABLE shop.t (id int PRIMARY KEY, a varchar(9) COLLATE utf8mb4_general_ci, e enum('z','a'),"
        " d date, b varbinary(9), f bit(1), n decimal(9,2))",
        "INSERT INTO shop.t VALUES (1, 'Ab', 'z', '2026-01-01', x'00ff', 1, 1.5),"
        " (2, 'b', 'a', '2026-02-01', '', 0, 2), (3, null, null, null, null, null, null),"
        " (4, 'it''s', 'z', '2026-01-15', 'x', 1, -1)",
    )
    asked = {
        "a = 'aB'": [1],
        "A = 'ab' OR a LIKE 'it''_'": [1, 4],
        "a <> 'ab'": [2, 4],
        "e > 'z'": [2],
        "e < 'a'": [1, 4],
        "d BETWEEN '2026-01-01' AND '2026-01-31'": [1, 4],
        "b = '0x00ff'": [1],
        "f = TRUE AND n < 0": [4],
        "n IN (1.50, 2, NULL)": [1, 2],
        "a IS NULL": [3],
        "n <= 1.5": [1, 4],
        "id > 2": [3, 4],
    }
    with closing(world.reader()) as reader:
        for condition, ids in asked.items():
            chunk = reader.read(replace(ALL, condition=condition))
            assert [int(part.upto[0] or 0) for part in chunk.slices] == ids[-1:], condition
            assert len(rows_of(chunk)) == len(ids), condition


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("nope = 1", "mysql.condition_column"),
        ("id = 'x'", "mysql.condition_value"),
        ("id = '1 OR 1'", "mysql.condition_value"),
        ("sleep(1)", "condition.refused"),
    ],
)
def test_a_condition_that_says_nothing_is_refused(world: World, condition: str, code: str) -> None:
    world.run("CREATE TABLE shop.t (id int PRIMARY KEY)")
    with closing(world.reader()) as reader, pytest.raises((OperatorNeeded, Definite)) as caught:
        reader.read(replace(ALL, condition=condition))
    assert caught.value.code == code


def test_cuts_part_a_large_table_and_guesses_are_near(world: World) -> None:
    deeper = "max_recursive_iterations" if world.mariadb else "cte_max_recursion_depth"
    world.run(
        f"SET SESSION {deeper} = 200000",
        "CREATE TABLE shop.t (id int, k int, PRIMARY KEY (id, k))",
        _filled("n * 3, n", 80_000),
        "ANALYZE TABLE shop.t",
    )
    request = ChunkRequest(table("t"), ("id", "k"))
    with closing(world.reader()) as reader:
        cuts = reader.cuts(request, 4)
        places = [int(cut[0] or 0) for cut in cuts]
        assert len(cuts) == 3
        assert all(abs(place - 60_000 * part) < 10 for part, place in enumerate(places, 1))
        assert 60_000 < (reader.expected(request) or 0) < 100_000
        part = replace(request, after=cuts[0], upto=cuts[1])
        assert 10_000 < (reader.expected(part) or 0) < 60_000
        assert len(walked(reader, part)) == 20_000


def test_a_small_table_and_one_whose_key_is_no_number_are_not_cut(world: World) -> None:
    world.run("CREATE TABLE shop.t (id int PRIMARY KEY, v varchar(9) UNIQUE)", _filled("n, n", 500))
    with closing(world.reader()) as reader:
        assert reader.cuts(ALL, 4) == ()
        assert reader.cuts(ChunkRequest(table("t"), ("v",)), 4) == ()
        assert reader.last_key(replace(ALL, condition="id > 1000")) is None
        assert reader.last_key(replace(ALL, upto=("77",))) == ("77",)


def test_a_missing_table_and_a_missing_right_say_who_acts(world: World) -> None:
    world.run("CREATE TABLE shop.t (id int PRIMARY KEY)", "DROP USER IF EXISTS reader", "CREATE USER reader")
    world.run("GRANT SELECT ON shop.* TO reader")
    world.user = "reader"
    with closing(world.reader()) as reader:
        reader.read(ALL)
        world.run("REVOKE SELECT ON shop.* FROM reader", "GRANT INSERT ON shop.* TO reader")
        with pytest.raises(OperatorNeeded) as caught:
            reader.read(ALL)
        assert caught.value.code == "mysql.right_missing"
        assert "GRANT SELECT ON `shop`.`t` TO 'reader'" in caught.value.hint
    world.run("DROP USER reader")


def test_a_server_that_goes_away_is_asked_again(world: World) -> None:
    """T-W14."""
    world.run("CREATE TABLE shop.t (id int PRIMARY KEY)")
    reader = world.reader()
    assert isinstance(reader.queries, MySqlRowQueries)
    world.run(f"KILL {_number_of(reader.queries.session.connection)}")
    with pytest.raises(Transient) as caught:
        reader.read(ALL)
    assert caught.value.code == "mysql.server_lost"
    assert reader.closed
    reader.close()


def _number_of(connection: Connection) -> int:
    return int(connection.thread_id())  # type: ignore[no-untyped-call]


def _until_nobody_reads(world: World) -> None:
    end = time.monotonic() + 5
    while any("FROM `shop`.`t`" in str(row[7]) for row in world.run("SHOW FULL PROCESSLIST")):
        assert time.monotonic() < end


def _filled(values: str, rows: int) -> str:
    return f"INSERT INTO shop.t SELECT {values} FROM ({SERIES.format(rows)}) series"


def _ids(chunk: Chunk) -> list[int]:
    return [int_of(row) for row in rows_of(chunk)]
