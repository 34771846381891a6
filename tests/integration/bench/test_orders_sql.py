"""The workload's SQL on real servers gives Python's rows, and a backlog of the size asked for."""

from collections.abc import Callable
from contextlib import closing

import pytest

from bench import stage
from bench.address import Address
from bench.peers.drain import drain
from bench.peers.slot import connect, held
from bench.workloads.orders import Order, orders, text_values
from tests.fixtures.servers import Database
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.control.local.stack.stack import Stack

ROWS = 3_000
SOME = f"select * from orders where id <= {ROWS} order by id"
SLOTS = "select slot_name from pg_replication_slots where database = current_database()"
CHANGES_WAITING = """
select count(*) from pg_logical_slot_peek_binary_changes(
  %s, null, null, 'proto_version', '1', 'publication_names', 'bench')
where get_byte(data, 0) in (73, 85, 68)"""


@pytest.fixture
def empty(database: Database) -> Address:
    """An empty table in a PostgreSQL database of the test's own."""
    at = Address(database.server.port, "postgres", "", database.name)
    stage.make_postgres_table(at)
    return at


def test_postgres_makes_the_same_rows_and_texts(empty: Address) -> None:
    stage.fill_postgres(empty, ROWS)
    texts = ", ".join(f"{name}::text as text_{name}" for name in Order._fields)
    with connect(empty) as session:
        assert [Order(*row) for row in session.execute(SOME)] == list(orders(1, ROWS))
        made = session.execute(f"select {texts} from orders order by id").fetchall()
        assert [list(row) for row in made] == [text_values(order) for order in orders(1, ROWS)]


@pytest.mark.full
def test_a_backlog_can_be_drained_again_and_leaves_no_copy_behind(empty: Address) -> None:
    with held(empty) as backlog:
        stage.change_postgres(empty, ROWS)
        for _ in range(2):
            assert drain("changes_per_s", empty, backlog, ROWS).values["changes_per_s"] > 0
        with connect(empty) as session:
            slots = session.execute(SLOTS).fetchall()
            assert slots == [(backlog,)]
            (changes,) = session.execute(CHANGES_WAITING, [backlog]).fetchone() or (0,)
            assert changes == ROWS


@pytest.mark.parametrize("family", [Stack.mariadb, pytest.param(Stack.mysql, marks=pytest.mark.deep)])
def test_mariadb_and_mysql_make_the_same_rows(
    stack: Stack, topic_prefix: str, family: Callable[[Stack], MysqlServer]
) -> None:
    server = family(stack)
    at = Address(server.port, server.user, server.password, topic_prefix)
    stage.make_mysql_table(at)
    stage.fill_mysql(at, ROWS)
    with closing(stage.mysql_session(at)) as session, session.cursor() as cursor:
        cursor.execute(SOME)
        made = [Order(*row) for row in cursor.fetchall()]
    # its moments come without their zone
    assert made == [order._replace(placed_at=order.changed_at) for order in orders(1, ROWS)]
