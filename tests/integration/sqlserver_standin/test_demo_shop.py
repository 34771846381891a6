"""The demo's shop on the stand-in counts what its change tables hold, and says each cell without a loss."""

import subprocess
from collections.abc import Iterator
from decimal import Decimal
from typing import cast

import pytest

from tests.integration.sqlserver_standin.test_process import served
from tests.unit.sqlserver_standin.test_agent import until
from wrackline.control.local.demo.shops.shop import StatementResult
from wrackline.control.local.demo.shops.standin import StandinSession, StandinShop
from wrackline.control.local.processes.process import Process
from wrackline.control.local.sqlserver_standin.__main__ import PASSWORD, USER
from wrackline.control.local.stack.servers import StandinServer
from wrackline.schemas.tables.table import Column, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

CHANGES = "SELECT COUNT(*) FROM cdc.dbo_orders_CT WHERE __$operation <> 3;"


@pytest.fixture
def shop() -> Iterator[StandinShop]:
    """An empty shop, whose changes are captured at once."""
    with served("--scan-every", "0.02") as port:
        yield StandinShop.made(StandinServer(cast("Process", None), port, USER, PASSWORD))


@pytest.fixture
def session(shop: StandinShop) -> Iterator[StandinSession]:
    """A connection to it, when its capture has begun."""
    made = shop.open()
    until(lambda: made.read("SELECT COUNT(start_lsn) FROM cdc.change_tables;") == [(2,)])
    yield made
    made.close()


def test_a_statement_counts_the_events_that_its_changes_become(session: StandinSession) -> None:
    assert session.insert(12, 1) == StatementResult(12, range(1, 13))
    assert session.update([1, 2, 99]) == StatementResult(2)
    assert session.rewrite([1, 2], 50) == StatementResult(2)
    assert session.rekey([3, 4]) == StatementResult(4, [-3, -4])
    assert session.delete([5, -3]) == StatementResult(2)
    assert session.delete([]) == StatementResult(0)
    session.commit()
    until(lambda: session.read(CHANGES) == [(22,)])
    assert session.insert(5, 13) == StatementResult(5, range(13, 18))
    session.rollback()
    assert session.count() == 10
    assert session.rekey([-4]) == StatementResult(2, [4])
    session.commit()
    assert session.insert(500, 13) == StatementResult(500, range(13, 513))
    session.commit()
    assert session.count() == 510
    until(lambda: session.read(CHANGES) == [(524,)])


SET = """
UPDATE dbo.orders SET amount = -0.01, fee = -1.0001, weight = 0.1, ratio = 0.1, label = 0x00ff,
    ordered_on = '1969-12-30', ordered_at = '2026-01-02 03:04:05.123456 +01:00',
    packed_at = '0001-01-01 00:00:00.000001', opens = '23:59:59.999999';"""
CELLS = {
    "id": 1,
    "customer": 1,
    "status": "new",
    "code": "Nº 0fcabfa8af57",
    "quantity": -14,
    "boxes": 1,
    "amount": Decimal("-0.01"),
    "fee": Decimal("-1.0001"),
    "weight": 0.1,
    "ratio": 0.10000000149011612,
    "paid": True,
    "label": "00ff",
    "ordered_on": -2,
    "ordered_at": 1_767_319_445_123_456,
    "packed_at": -62_135_596_799_999_999,
    "opens": 86_399_999_999,
    "gift_wrap": "plain",
}


def test_each_cell_is_in_its_plain_form(shop: StandinShop, session: StandinSession) -> None:
    session.insert(1, 1)
    session.commit()
    session.add_column()
    session._cursor.execute(SET)
    session.commit()
    names = [*CELLS, "token", "story"]
    columns = tuple(Column(name, at, ColumnType(Kind.STRING, "")) for at, name in enumerate(names))
    [cells] = shop.rows(TableSchema(shop.table, columns, ("id",)))
    found = dict(zip(names, cells, strict=True))
    assert len(str(found.pop("token"))) == 36
    assert str(found.pop("story")).startswith("Grüße 🌊 ")
    assert found == CELLS
    assert {name: type(cell) for name, cell in found.items()} == {
        name: type(cell) for name, cell in CELLS.items()
    }
    until(lambda: session.read("SELECT COUNT(start_lsn) FROM cdc.change_tables;") == [(3,)])
    session.update([1])
    session.commit()
    newer = "SELECT gift_wrap FROM cdc.orders_2_CT WHERE __$operation = 4;"
    until(lambda: set(session.read(newer)) == {("plain",)})


def test_lines_that_look_can_be_pasted(shop: StandinShop, session: StandinSession) -> None:
    session.insert(20, 1)
    session.commit()
    looked = [
        subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S602
        for _, line in shop.looks()
    ]
    assert looked == ["20", "2 rows changed"]


def test_it_is_named_a_stand_in_wherever_results_are_shown(shop: StandinShop) -> None:
    for text in (shop.title, shop.streams, shop.stands_for):
        assert "stand-in" in text
