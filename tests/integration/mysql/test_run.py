"""`wrackline run` over a server with many databases, killed in mid stream: each topic is its table."""

import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pymysql
import pytest

from tests.fixtures.tiers import alternatives
from tests.integration.mysql.pipes import Pipe
from tests.integration.mysql.world import FLAVOURS, OF_PATH, WITHOUT_GTIDS, root
from tests.integration.running.world import wait_until
from wrackline.control.local.stack.servers import Broker, MysqlServer, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

pytestmark = pytest.mark.servers

ROWS = 6_000
EACH = 7  # rows of a transaction
Made = Callable[..., Pipe]


SIGNALS = """
incremental.snapshot.watermarking.strategy = "insert_insert"
signal.data.collection = "{prefix}_a.signals"
"""


@pytest.fixture(params=alternatives([*FLAVOURS, OF_PATH]))
def made(
    request: pytest.FixtureRequest,
    started: Callable[[str], MysqlServer],
    tmp_path: Path,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
) -> Iterator[Made]:
    """Make a pipeline over each server, under its own kind; without GTIDs rows are read by signal rows."""
    pipes: list[Pipe] = []
    server, signals = started(request.param), request.param == WITHOUT_GTIDS

    def make(mode: str = "no_data", more: str = "") -> Pipe:
        kind = request.param.split()[0]
        more += SIGNALS.format(prefix=topic_prefix) if signals else ""
        pipes.append(Pipe(tmp_path, kind, server, kafka, registry, topic_prefix, mode=mode, more=more))
        if signals:
            columns = "id varchar(80) PRIMARY KEY, type varchar(32), data varchar(2048)"
            pipes[-1].execute(f"CREATE TABLE {topic_prefix}_a.signals ({columns})")
        return pipes[-1]

    yield make
    for pipe in pipes:
        pipe.close()


def write(pipe: Pipe) -> None:
    """Insert all rows into both tables, some at a time, as one transaction of both."""
    with root(pipe.server, database=pipe.databases[0]) as writing, writing.cursor() as cursor:
        writing.autocommit(False)
        for first in range(0, ROWS, EACH):
            for number in range(first, min(first + EACH, ROWS)):
                for database in pipe.databases:
                    cursor.execute(f"INSERT INTO {database}.orders VALUES (%s, %s)", (number, "n" * 150))
            writing.commit()


def ids(pipe: Pipe, database: str) -> Counter[int]:
    """How often each row is there, and its seqs rise."""
    found: Counter[int] = Counter()
    last = ""
    for event in pipe.events(database, "orders"):
        assert event.seq > last
        last = event.seq
        source = event.value["source"]
        assert (source["db"], source["connector"]) == (database, pipe.kind)
        found[event.value["after"]["id"]] += 1
    return found


@pytest.mark.full
def test_killed_in_mid_stream_every_row_is_there_once(made: Made) -> None:
    pipe = made()
    for database in pipe.databases:
        pipe.execute(f"CREATE TABLE {database}.orders (id int PRIMARY KEY, note varchar(200))")

    def arrived() -> int:
        return sum(len(pipe.records(database, "orders")) for database in pipe.databases)

    running = pipe.run()
    writing = threading.Thread(target=write, args=[pipe])
    writing.start()
    for killed in range(1, 4):
        least = killed * ROWS // 3
        wait_until(lambda: arrived() >= least)  # noqa: B023 - at once
        assert running.stop(signal.SIGKILL) == -signal.SIGKILL
        running = pipe.run()
    writing.join()
    wait_until(lambda: arrived() >= 2 * ROWS)
    assert running.stop() == Exit.OK
    for database in pipe.databases:
        assert ids(pipe, database) == dict.fromkeys(range(ROWS), 1)


STORIES = {
    "orders": [
        "ALTER TABLE orders ADD COLUMN more varchar(20)",
        "ALTER TABLE orders ADD COLUMN filled int NOT NULL DEFAULT 5",
        "ALTER TABLE orders CHANGE note remark varchar(300)",
    ],
    "others": [
        "CREATE TABLE IF NOT EXISTS new_one (id int PRIMARY KEY, n int)",
        "INSERT INTO new_one SELECT id, id + 1 FROM still",
        "CREATE TABLE made_of (PRIMARY KEY (id)) SELECT id, note FROM still",
        "RENAME TABLE new_one TO renamed_one",
        "UPDATE renamed_one SET n = n + 100 WHERE id < 50",
        "TRUNCATE TABLE emptied",
        "INSERT INTO emptied VALUES (1, 'behind')",
        "DROP TABLE anew",
        "CREATE TABLE anew (id int PRIMARY KEY, other varchar(20))",
        "INSERT INTO anew VALUES (2, 'second life')",
        "RENAME TABLE swap_a TO swapped, swap_b TO swap_a, swapped TO swap_b",
        "UPDATE swap_a SET note = 'was b' WHERE id = 1",
        "ALTER TABLE parted DROP PARTITION p2",
        "ALTER TABLE parted TRUNCATE PARTITION p1",
        "INSERT INTO parted VALUES (3, 'behind')",
        "ALTER TABLE parted EXCHANGE PARTITION p3 WITH TABLE part",
        "UPDATE part SET note = 'was parted' WHERE id = 150",
    ],
}
KEPT = (
    *("orders", "pairs", "still", "renamed_one", "made_of", "emptied", "anew"),
    *("swap_a", "swap_b", "parted", "part"),
)


def prepare(pipe: Pipe) -> None:
    """Make the tables and their first rows."""
    pipe.execute(f"USE {pipe.databases[0]}")
    pipe.execute("CREATE TABLE orders (id int PRIMARY KEY, note varchar(200), written int)")
    pipe.execute("CREATE TABLE pairs (shop varchar(20), number int, written int, PRIMARY KEY (shop, number))")
    for name in ("still", "emptied", "anew", "swap_a", "swap_b"):
        pipe.execute(f"CREATE TABLE {name} (id int PRIMARY KEY, note varchar(40))")
        fill(pipe, f"INSERT INTO {name} VALUES (%s, %s)", [(row, name) for row in range(1, 200)])
    pipe.execute("CREATE TABLE part (id int PRIMARY KEY, note varchar(40))")
    pipe.execute(
        "CREATE TABLE parted (id int PRIMARY KEY, note varchar(40)) PARTITION BY RANGE (id)"
        " (PARTITION p1 VALUES LESS THAN (50), PARTITION p2 VALUES LESS THAN (100),"
        " PARTITION p3 VALUES LESS THAN (200), PARTITION p4 VALUES LESS THAN MAXVALUE)"
    )
    fill(pipe, "INSERT INTO parted VALUES (%s, %s)", [(row, "parted") for row in range(1, 300)])
    fill(pipe, "INSERT INTO part VALUES (%s, %s)", [(row, "part") for row in range(160, 190)])
    fill(pipe, "INSERT INTO orders VALUES (%s, 'first', 0)", [(row,) for row in range(1, ROWS)])
    pairs = [(f"shop {row % 7}", row) for row in range(1, ROWS // 2)]
    fill(pipe, "INSERT INTO pairs VALUES (%s, %s, 0)", pairs)


def fill(pipe: Pipe, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Insert many rows at once."""
    with pipe.sql.cursor() as cursor:
        cursor.executemany(statement, rows)


def churn(pipe: Pipe, ended: threading.Event) -> None:
    """Change rows of both large tables at random, each with a number that only rises."""
    chance = random.Random(7)
    counter = 0
    with root(pipe.server, database=pipe.databases[0]) as writing, writing.cursor() as cursor:
        writing.autocommit(False)
        while not ended.is_set():
            for _ in range(chance.randint(1, 5)):
                counter += 1
                row = chance.randint(1, ROWS + 500)
                pair = (f"shop {chance.randint(0, 6)}", chance.randint(1, ROWS // 2))
                match chance.randint(0, 5):
                    case 0:
                        cursor.execute("DELETE FROM orders WHERE id = %s", [row])
                    case 1:
                        cursor.execute("DELETE FROM pairs WHERE shop = %s AND number = %s", pair)
                    case 2:
                        cursor.execute(
                            "UPDATE pairs SET written = %s, shop = %s WHERE number = %s LIMIT 1",
                            (counter, "moved", pair[1]),
                        )
                    case 3:
                        cursor.execute("REPLACE INTO pairs VALUES (%s, %s, %s)", (*pair, counter))
                    case _:
                        cursor.execute(
                            "INSERT INTO orders (id, written) VALUES (%s, %s)"
                            " ON DUPLICATE KEY UPDATE written = VALUES(written)",
                            (row, counter),
                        )
            if chance.random() < 0.1:
                writing.rollback()
            else:
                writing.commit()
            time.sleep(0.005)


def tell(pipe: Pipe, story: list[str]) -> None:
    """Run statements of the schema, with time in between; a busy table is asked again."""
    with root(pipe.server, database=pipe.databases[0]) as telling, telling.cursor() as cursor:
        for statement in story:
            for _ in range(20):
                try:
                    cursor.execute(statement)
                    break
                except pymysql.err.OperationalError as error:
                    if error.args[0] not in {1205, 1213}:
                        raise
            time.sleep(0.4)


@pytest.mark.full  # test_killed_while_reading.py is in the gate
@pytest.mark.parametrize("made", alternatives([*FLAVOURS, WITHOUT_GTIDS, OF_PATH]), indirect=True)
def test_rows_that_exist_and_all_that_becomes_of_them_survive_three_kills(made: Made) -> None:
    pipe = made(mode="initial", more='incremental.snapshot.chunk.size = "500"')
    prepare(pipe)
    database = pipe.databases[0]
    ended = threading.Event()
    threads = [threading.Thread(target=churn, args=[pipe, ended])]
    threads += [threading.Thread(target=tell, args=[pipe, story]) for story in STORIES.values()]
    running = pipe.run()
    for thread in threads:
        thread.start()
    for killed in range(1, 4):
        least = killed * ROWS // 4
        wait_until(lambda: len(pipe.records(database, "orders")) >= least)  # noqa: B023 - at once
        assert running.stop(signal.SIGKILL) == -signal.SIGKILL
        running = pipe.run()
    for thread in threads[1:]:
        thread.join()
    ended.set()
    threads[0].join()
    left = set(KEPT)

    def same() -> bool:
        left.difference_update(
            [table for table in left if pipe.folded(database, table) == pipe.table(database, table)]
        )
        return not left

    try:
        wait_until(same, look=1.0, patience=90)
    except AssertionError:
        differ = [f"{name}: {pipe.difference(database, name)}" for name in sorted(left)]
        pytest.fail("\n".join([running.output[-3000:], *differ]), pytrace=False)
    assert running.stop() == Exit.OK
    told = [change for change in pipe.schema_changes() if change[2]]
    texts = [ddl or "" for _, _, ddl in told]
    for statement in (
        "ALTER TABLE orders CHANGE note remark varchar(300)",
        "RENAME TABLE new_one TO renamed_one",
    ):
        assert statement in texts
    assert ("CREATE", "made_of") in {(kind, table) for kind, table, _ in told}


def test_killed_between_prepare_and_commit_the_rows_are_there_once(made: Made) -> None:
    pipe = made()
    for database in pipe.databases:
        pipe.execute(f"CREATE TABLE {database}.orders (id int PRIMARY KEY, note varchar(200))")

    def arrived() -> int:
        return sum(len(pipe.records(database, "orders")) for database in pipe.databases)

    running = pipe.run()
    xid = f"'{pipe.prefix}'"
    with root(pipe.server) as session, session.cursor() as cursor:
        cursor.execute(f"XA START {xid}")
        for number in range(3):
            for database in pipe.databases:
                cursor.execute(f"INSERT INTO {database}.orders VALUES ({number}, 'prepared')")
        cursor.execute(f"XA END {xid}")
        cursor.execute(f"XA PREPARE {xid}")
        for database in pipe.databases:
            pipe.execute(f"INSERT INTO {database}.orders VALUES (3, 'between')")
        wait_until(lambda: arrived() == 2)
        assert running.stop(signal.SIGKILL) == -signal.SIGKILL
        cursor.execute(f"XA COMMIT {xid}")
        running = pipe.run()
    wait_until(lambda: arrived() == 8)
    assert running.stop() == Exit.OK
    for database in pipe.databases:
        assert ids(pipe, database) == dict.fromkeys(range(4), 1)


@pytest.mark.full
def test_what_was_logged_and_taken_back_is_in_no_topic(made: Made) -> None:
    """MariaDB logs a transaction with its ROLLBACK, where it made a temporary table."""
    pipe = made()
    [database, _] = pipe.databases
    pipe.execute(f"CREATE TABLE {database}.orders (id int PRIMARY KEY, note varchar(200))")
    running = pipe.run()
    with root(pipe.server, database=database) as session, session.cursor() as cursor:
        for number in range(0, 20, 2):
            cursor.execute(f"INSERT INTO orders VALUES ({number}, 'stays')")
            cursor.execute("BEGIN")
            cursor.execute(f"INSERT INTO orders VALUES ({number + 1}, 'goes')")
            cursor.execute(f"CREATE TEMPORARY TABLE passing_{number} (id int)")
            cursor.execute("ROLLBACK")
    wait_until(lambda: len(pipe.records(database, "orders")) >= 10)
    assert running.stop() == Exit.OK
    assert ids(pipe, database) == dict.fromkeys(range(0, 20, 2), 1)


def purge(pipe: Pipe) -> None:
    """Leave the server without a log of what was written so far; a file that is still read would stay."""
    pipe.execute("FLUSH BINARY LOGS")
    newest = str(pipe.execute("SHOW BINARY LOGS")[-1][0])

    def purged() -> bool:
        pipe.execute(f"PURGE BINARY LOGS TO '{newest}'")
        return str(pipe.execute("SHOW BINARY LOGS")[0][0]) == newest

    wait_until(purged)


@pytest.mark.full
def test_when_needed_reads_all_again_where_the_log_was_purged_and_a_copy_ends_equal(made: Made) -> None:
    pipe = made(mode="when_needed")
    database = pipe.databases[0]
    pipe.execute(f"CREATE TABLE {database}.orders (id int PRIMARY KEY, note varchar(200))")
    fill(pipe, f"INSERT INTO {database}.orders VALUES (%s, 'first')", [(row,) for row in range(30)])

    def same() -> bool:
        return pipe.folded(database, "orders") == pipe.table(database, "orders")

    running = pipe.run()
    wait_until(same)
    assert running.stop() == Exit.OK
    pipe.execute(f"DELETE FROM {database}.orders WHERE id < 10")
    pipe.execute(f"UPDATE {database}.orders SET note = 'unseen' WHERE id = 11")
    purge(pipe)
    running = pipe.run()
    running.says("[snapshot.read_anew]")
    assert "[mysql.log_purged]" in running.output
    wait_until(same)
    assert [event.op for event in pipe.events(database, "orders")] == ["r"] * 30 + ["t"] + ["r"] * 20
    pipe.execute(f"INSERT INTO {database}.orders VALUES (100, 'later')")
    wait_until(same)
    assert running.stop() == Exit.OK
