"""The workload `orders`: deterministic, and the Python row is what PostgreSQL would send."""

import struct
from decimal import Decimal

from bench.workloads.orders import ROWS_A_TRANSACTION, orders, pgoutput_tuple, text_values, transactions


def test_same_seed_same_rows_other_seed_other_rows() -> None:
    assert list(orders(1, 50)) == list(orders(1, 50))
    assert list(orders(1, 50)) != list(orders(1, 50, seed=8))
    assert list(orders(40, 50)) == list(orders(1, 50))[39:]


def test_values_stay_within_their_types() -> None:
    rows = list(orders(1, 5_000))
    assert max(len(row.sku) for row in rows) <= 32
    assert max(row.price for row in rows) < Decimal(10) ** 8
    lengths = {len(row.note) for row in rows if row.note is not None}
    assert (min(lengths), max(lengths)) == (0, 80)
    assert any(row.note is None for row in rows)


def test_a_tuple_holds_every_column_as_text_or_null() -> None:
    for row in orders(1, 200):
        message = pgoutput_tuple(row)
        (count,) = struct.unpack_from(">h", message)
        at, cells = 2, list[str | None]()
        while at < len(message):
            at += 1
            if message[at - 1 : at] == b"n":
                cells.append(None)
                continue
            (length,) = struct.unpack_from(">i", message, at)
            cells.append(message[at + 4 : at + 4 + length].decode())
            at += 4 + length
        assert count == 9
        assert cells == text_values(row)


def test_transactions_cover_half_the_changes_once() -> None:
    spans = list(transactions(5_000))
    ids = [number for first, last in spans for number in range(first, last + 1)]
    assert ids == list(range(1, 2_501))
    assert max(last - first + 1 for first, last in spans) == ROWS_A_TRANSACTION
