"""The demo's shop on MariaDB counts what its log holds, and says each cell without a loss."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pymysql.connections import Connection

from tests.integration.mysql.world import root, run
from wrackline.control.local.demo.shops.mariadb import MariadbSession, MariadbShop
from wrackline.control.local.demo.shops.shop import DATABASE, StatementResult
from wrackline.control.local.stack.stack import Stack
from wrackline.producers.sources.mysql.discover.discover import MySqlCatalogue
from wrackline.producers.sources.mysql.discover.shapes import MySqlShapes
from wrackline.schemas.settings.filters import ColumnRules

pytestmark = pytest.mark.servers

GONE = f"DROP DATABASE IF EXISTS {DATABASE}"


@pytest.fixture
def shop(stack: Stack) -> Iterator[MariadbShop]:
    """An empty shop."""
    run(stack.mariadb(), GONE)
    yield MariadbShop.started(stack)
    run(stack.mariadb(), GONE)


@pytest.fixture
def asking(stack: Stack) -> Iterator["Connection[Any]"]:
    """A connection of the test's own."""
    with root(stack.mariadb(), init_command="SET time_zone = '+00:00'") as made:
        yield made


@pytest.fixture
def session(shop: MariadbShop) -> Iterator[MariadbSession]:
    """A connection to it."""
    made = shop.open()
    yield made
    made.close()


def test_a_statement_counts_the_rows_that_it_has_changed(session: MariadbSession) -> None:
    assert session.insert(12, 1) == StatementResult(12, range(1, 13))
    assert session.update([1, 2, 99]) == StatementResult(2)
    assert session.rewrite([1], 1) == StatementResult(0)  # it is that text already, so the log has nothing
    assert session.rewrite([1], 2) == StatementResult(1)
    high = (1 << 64) - 1 - 3
    assert session.rekey([3]) == StatementResult(2, [high])
    assert session.delete([3, high]) == StatementResult(1)
    session.commit()
    assert session.insert(5, 13) == StatementResult(5, range(13, 18))
    session.rollback()
    assert session.count() == 11
    assert session.rekey([4]).ids == [high - 1]
    assert session.rekey([high - 1]) == StatementResult(2, [4])
    session.commit()
    assert session.insert(500, 13) == StatementResult(500, range(13, 513))
    session.commit()
    assert session.count() == 511


SET = """
UPDATE shop.orders SET id = ~id, amount = -0.01, weight = 0.1e0 + 0.2e0, extras = 'card,box',
    season = 2155, label = x'00ff', ordered_on = '1969-12-30', ordered_at = '2026-01-02 03:04:05.123456',
    packed_at = '0001-01-01 00:00:00.000001', opens = '24:00:01', waits = '-838:59:58.999999'"""
CELLS = {
    "id": Decimal((1 << 64) - 2),
    "customer": 1,
    "status": "new",
    "code": "Nº 6512bd43d9ca",  # md5 of 11: of the row's number and the seed
    "gift_wrap": "plain",
    "quantity": 1,
    "amount": Decimal("-0.01"),
    "weight": 0.1 + 0.2,
    "paid": 1,
    "details": '{"n": 1, "gift": false, "note": "Grüße 🌊 1", "parts": [1, null]}',
    "extras": "card,box",
    "season": 2155,
    "label": "00ff",
    "ordered_on": -2,
    "ordered_at": 1_767_323_045_123_456,
    "packed_at": -62_135_596_799_999_999,
    "opens": 86_401_000_000,
    "waits": -3_020_398_999_999,
}


def test_each_cell_is_in_its_plain_form(
    shop: MariadbShop, session: MariadbSession, asking: "Connection[Any]"
) -> None:
    session.insert(1, 1)
    session.commit()
    session.add_column()
    with asking.cursor() as cursor:
        cursor.execute(SET)
    table = MySqlCatalogue(asking, MySqlShapes(ColumnRules())).describe(shop.table).table
    [cells] = shop.rows(table)
    found = dict(zip((column.name for column in table.columns), cells, strict=True))
    assert len(str(found.pop("token"))) == 36
    assert len(str(found.pop("story"))) == 32 * 71
    assert found == CELLS
    assert {name: type(cell) for name, cell in found.items()} == {
        name: type(cell) for name, cell in CELLS.items()
    }
