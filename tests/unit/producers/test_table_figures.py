"""The states of tables, which another thread reads while they come."""

import sys
from threading import Thread

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
