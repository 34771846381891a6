"""The states of tables, which another thread reads while they come."""

import sys
from threading import Thread
from typing import Any

import pytest

from wrackline.producers.observe import table_figures
from wrackline.producers.observe.table_figures import PartitionTables
from wrackline.schemas.kafka.offsets_records import Json
from wrackline.schemas.tables.table import TableId


def test_states_can_be_read_while_tables_come() -> None:
    tables, before = PartitionTables(), sys.getswitchinterval()

    def take() -> None:
        for number in range(5_000):
            tables.take(TableId("d", "s", f"t{number}"), Json(b'{"status":"streaming"}'))

    taking = Thread(target=take)
    sys.setswitchinterval(1e-5)
    try:
        taking.start()
        while taking.is_alive():
            tables.known()
    finally:
        sys.setswitchinterval(before)
        taking.join()
    assert len(tables.known()) == 5_000


def test_a_table_is_known_while_its_next_state_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    tables, orders = PartitionTables(), TableId("d", "s", "orders")
    assert tables.take(orders, Json(b'{"status":"streaming"}'))
    seen = []
    make = table_figures._figures

    def reads(*given: Any) -> Any:
        seen.append((tables.known(), tables.state(orders)))
        return make(*given)

    monkeypatch.setattr(table_figures, "_figures", reads)
    assert tables.take(orders, Json(b'{"status":"paused"}'))
    assert seen == [(frozenset({orders}), {"status": "streaming"})]
    assert tables.state(orders) == {"status": "paused"}
    assert tables.take(orders, None)
    assert tables.state(orders) is None
