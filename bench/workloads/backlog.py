"""A backlog of `orders` events as Kafka has it: what a consumer reads after it has fallen behind.

Of three events one makes an order and two change an existing one; one change in ten deletes.  Keys, values
and seqs are those that a worker of PostgreSQL writes; partitions follow one another, each in the order
of its offsets.
"""

import random
from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

from bench.workloads.envelopes import SOURCE, TABLE, source_bytes
from bench.workloads.orders import ROWS_A_TRANSACTION, SEED, Order, orders
from wrackline.producers.rows.python_rows import RowEncoder
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.tables.seq import log_prefix, snapshot_prefix

KEY_ID, VALUE_ID = 1, 2
PARTITIONS = 4
_FIRST_LSN = 23_847_231
_FIRST_MS = 1_760_000_000_000


class Record(NamedTuple):
    """One record of the topic."""

    key: bytes
    value: bytes
    partition: int
    offset: int
    timestamp: int  # ms


def changes(events: int, partitions: int = PARTITIONS, seed: int = SEED) -> list[Record]:
    """Make this many changes, in the order of partition and offset."""
    chance, encoder = random.Random(seed), RowEncoder(TABLE, KEY_ID, VALUE_ID)
    new, there = orders(1, events), list[Order]()
    written: list[list[Record]] = [[] for _ in range(partitions)]
    frame = _frame(0)
    for number in range(events):
        if number % ROWS_A_TRANSACTION == 0:
            frame = _frame(number)
        if not there or chance.random() < 1 / 3:
            op, row = "c", next(new)
            there.append(row)
        else:
            at = chance.randrange(len(there))
            op = "d" if chance.random() < 1 / 10 else "u"
            row = there[at] = _changed(there[at])
            if op == "d":
                there[at] = there[-1]
                there.pop()
        images = (row[:1] + (None,) * (len(row) - 1), None) if op == "d" else (None, row)
        tail = frame.tail(op, number % ROWS_A_TRANSACTION)
        _append(written, row.id, encoder.key(row), encoder.head(*images) + tail)
    return [record for partition in written for record in partition]


def reads(rows: int) -> Iterator[tuple[bytes | None, bytes]]:
    """Make keys and values of a first load, in chunks of as many rows as a transaction has."""
    encoder = RowEncoder(TABLE, KEY_ID, VALUE_ID)
    source = source_bytes({**SOURCE, "snapshot": "true"})
    prefix = snapshot_prefix(1, _FIRST_LSN.to_bytes(8, "big"))
    for number, row in enumerate(orders(1, rows)):
        frame = Frame(source, prefix, ts_ms=_FIRST_MS, chunk=f"bench/{number // ROWS_A_TRANSACTION}")
        yield encoder.key(row), encoder.head(None, row) + frame.tail("r")


def _frame(number: int) -> Frame:
    """Return the tail of the transaction that begins with this change."""
    lsn, moment = _FIRST_LSN + 300 * number, _FIRST_MS + number
    told = {**SOURCE, "txId": 775 + number // ROWS_A_TRANSACTION, "lsn": lsn, "ts_ms": moment}
    return Frame(source_bytes(told), log_prefix(1, lsn.to_bytes(8, "big")), ts_ms=moment + 5)


def _changed(order: Order) -> Order:
    moment = order.changed_at + timedelta(minutes=1)
    return order._replace(quantity=order.quantity + 1, price=order.price + 1, changed_at=moment)


def _append(written: list[list[Record]], number: int, key: bytes | None, value: bytes) -> None:
    partition = number % len(written)
    written[partition].append(Record(key or b"", value, partition, len(written[partition]), _FIRST_MS))
