"""TPC-H's lineitem made by a real server: the same rows each time, in their ranges, and a whole backlog."""

import pytest

from bench import stage
from bench.address import Address
from bench.peers.slot import connect
from bench.workloads import lineitem
from tests.fixtures.servers import Database

pytestmark = pytest.mark.servers
ROWS = 4_000
RANGES = """
select min(l_quantity) = 1 and max(l_quantity) = 50, min(l_discount) = 0 and max(l_discount) = 0.1,
       min(l_tax) = 0 and max(l_tax) = 0.08,
       min(l_shipdate) > '1992-01-01' and max(l_shipdate) < '1998-12-02',
       bool_and(l_receiptdate between l_shipdate + 1 and l_shipdate + 30),
       bool_and((l_returnflag = 'N') = (l_receiptdate > '1995-06-17')),
       bool_and((l_linestatus = 'O') = (l_shipdate > '1995-06-17')),
       min(l_suppkey) >= 1 and max(l_suppkey) <= 10 and max(l_partkey) <= 200,
       count(distinct l_shipinstruct) = 4 and count(distinct l_shipmode) = 7,
       min(length(l_comment)) >= 10 and max(length(l_comment)) <= 43
from lineitem"""


@pytest.fixture
def empty(database: Database) -> Address:
    """An empty table in a PostgreSQL database of the test's own."""
    at = Address(database.server.port, "postgres", "", database.name)
    stage.make_lineitem(at)
    return at


def test_rows_are_those_of_their_numbers_and_in_the_ranges_of_the_specification(empty: Address) -> None:
    with connect(empty) as session:
        for piece in (ROWS // 2, 0):  # in whatever order they are made
            session.execute(lineitem.insert(piece, piece + ROWS // 2 - 1, ROWS))
        digest = session.execute(lineitem.postgres_digest()).fetchone()
        found = session.execute("select l_orderkey, l_linenumber from lineitem order by 1, 2").fetchall()
        assert found == [lineitem.key(number) for number in range(ROWS)]
        assert session.execute(RANGES).fetchone() == (True,) * 10
        session.execute("truncate lineitem")
        session.execute(lineitem.insert(0, ROWS - 1, ROWS))
        assert session.execute(lineitem.postgres_digest()).fetchone() == digest


def test_a_backlog_makes_as_many_changes_as_it_says_and_leaves_all_marks_their_rows(empty: Address) -> None:
    with connect(empty) as session:
        session.execute(lineitem.insert(0, ROWS - 1, ROWS))
        changes = lineitem.changes_of(ROWS, ROWS)
        made = [
            session.execute(one).rowcount for each in lineitem.transactions(ROWS, changes) for one in each
        ]
        assert made == [700, 200, 100] * (changes // 1_000)
        for number in (0, lineitem.most_marks(ROWS) - 1):
            assert session.execute(*lineitem.mark(number)).rowcount == 1
