"""The workload's SQL on real servers gives Python's rows, and a backlog of the size asked for."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from bench import stage
from bench.address import Address
from bench.peers.drain import drain
from bench.peers.slot import connect, held
from bench.workloads.orders import Order, orders, text_values

pytestmark = pytest.mark.servers

ROWS = 3_000
SOME = f"select * from orders where id <= {ROWS} order by id"
CHANGES_WAITING = """
select count(*) from pg_logical_slot_peek_binary_changes(
  %s, null, null, 'proto_version', '1', 'publication_names', 'bench')
where get_byte(data, 0) in (73, 85, 68)"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Address]:
    with stage.servers() as stack:
        yield stage.postgres(stack)


def test_postgres_makes_the_same_rows_and_texts(postgres: Address) -> None:
    stage.fill_postgres(postgres, ROWS)
    texts = ", ".join(f"{name}::text as text_{name}" for name in Order._fields)
    with connect(postgres) as session:
        assert [Order(*row) for row in session.execute(SOME)] == list(orders(1, ROWS))
        made = session.execute(f"select {texts} from orders order by id").fetchall()
        assert [list(row) for row in made] == [text_values(order) for order in orders(1, ROWS)]
        session.execute("truncate orders")


def test_a_backlog_can_be_drained_again_and_leaves_no_copy_behind(postgres: Address) -> None:
    with held(postgres) as backlog:
        stage.change_postgres(postgres, ROWS)
        for _ in range(2):
            assert drain("changes_per_s", postgres, backlog, ROWS).values["changes_per_s"] > 0
        with connect(postgres) as session:
            slots = session.execute("select slot_name from pg_replication_slots").fetchall()
            assert slots == [(backlog,)]
            (changes,) = session.execute(CHANGES_WAITING, [backlog]).fetchone() or (0,)
            assert changes == ROWS


def test_mariadb_makes_the_same_rows() -> None:
    with stage.servers() as stack:
        at = stage.mariadb(stack)
        stage.fill_mysql(at, ROWS)
        with closing(stage.mysql_session(at)) as session, session.cursor() as cursor:
            cursor.execute(SOME)
            made = [Order(*row) for row in cursor.fetchall()]
    # its moments come without their zone
    assert made == [order._replace(placed_at=order.changed_at) for order in orders(1, ROWS)]
