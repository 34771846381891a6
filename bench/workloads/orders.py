"""The table `orders`: the same rows for the same seed in PostgreSQL, MariaDB, MySQL and Python.

    id, seed  ->  SHA-256 in hex  ->  nine columns, each cut from its own hex digits

A database makes the rows itself from a series of numbers, so it has a million in seconds;
Python makes the same ones for benches without a server.  The changes come in transactions of a
thousand rows: one that inserts, then one that updates the inserted rows, and so on.
"""

import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import NamedTuple

SEED = 7
TABLE = "orders"
ROWS_A_TRANSACTION = 1_000
STATES = ("new", "paid", "packed", "shipped", "returned")
FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)
NOTE_MOST = 80


class Order(NamedTuple):
    """One row, with its columns in table order."""

    id: int
    customer_id: int
    sku: str
    quantity: int
    price: Decimal
    status: str
    note: str | None
    placed_at: datetime
    changed_at: datetime


def orders(first: int, last: int, seed: int = SEED) -> Iterator[Order]:
    """Make the rows with ids first to last, both included."""
    for number in range(first, last + 1):
        digits = sha256(f"{seed}:{number}".encode()).hexdigest()
        length = int(digits[22:24], 16)
        moment = FIRST_DAY + timedelta(seconds=number, microseconds=int(digits[24:28], 16))
        yield Order(
            id=number,
            customer_id=int(digits[0:6], 16),
            sku="SKU-" + digits[6:18],
            quantity=1 + int(digits[18:20], 16) % 20,
            price=Decimal(int(digits[8:14], 16)) / 100,
            status=STATES[int(digits[20:22], 16) % len(STATES)],
            note=(digits * 3)[: length % (NOTE_MOST + 1)] if length < 192 else None,
            placed_at=moment,
            changed_at=moment.replace(tzinfo=None),
        )


def text_values(order: Order) -> list[str | None]:
    """Write a row's values as PostgreSQL's text output does, in UTC."""
    return [
        str(order.id),
        str(order.customer_id),
        order.sku,
        str(order.quantity),
        f"{order.price:.2f}",
        order.status,
        order.note,
        _moment(order.placed_at) + "+00",
        _moment(order.changed_at),
    ]


def pgoutput_tuple(order: Order) -> bytes:
    """Write a row as pgoutput's TupleData: a count, then `n`, or `t` with a length and text."""
    cells = [struct.pack(">h", len(order))]
    for value in text_values(order):
        if value is None:
            cells.append(b"n")
        else:
            text = value.encode()
            cells.append(struct.pack(">ci", b"t", len(text)) + text)
    return b"".join(cells)


def _moment(moment: datetime) -> str:
    text = moment.strftime("%Y-%m-%d %H:%M:%S.%f")
    return text.rstrip("0").removesuffix(".")


POSTGRES_TABLE = f"""
create table {TABLE} (
  id bigserial primary key, customer_id int not null, sku varchar(32) not null, quantity int not null,
  price numeric(10,2) not null, status text not null, note text,
  placed_at timestamptz not null, changed_at timestamp not null)"""

# TIMESTAMP is MySQL's moment with a zone; the first column of that type would else update itself.
MYSQL_TABLE = f"""
create table {TABLE} (
  id bigint auto_increment primary key, customer_id int not null, sku varchar(32) not null,
  quantity int not null, price decimal(10,2) not null, status text not null, note text,
  placed_at timestamp(6) not null default current_timestamp(6), changed_at datetime(6) not null)"""


def postgres_insert(first: int, last: int, seed: int = SEED) -> str:
    """SQL that inserts the rows with ids first to last in PostgreSQL."""
    states = ", ".join(f"'{state}'" for state in STATES)
    return f"""
insert into {TABLE}
select id, {_postgres_number(1, 6)}, 'SKU-' || substr(h, 7, 12), 1 + {_postgres_number(19, 2)} % 20,
       {_postgres_number(9, 6)} / 100.0, (array[{states}])[1 + {_postgres_number(21, 2)} % {len(STATES)}],
       case when {_postgres_number(23, 2)} < 192
            then substr(repeat(h, 3), 1, {_postgres_number(23, 2)} % {NOTE_MOST + 1}) end,
       moment at time zone 'UTC', moment
from (select id, h, timestamp '{FIRST_DAY:%Y-%m-%d}' + id * interval '1 s'
                    + {_postgres_number(25, 4)} * interval '1 us' as moment
      from (select id, encode(sha256(('{seed}:' || id)::bytea), 'hex') as h
            from generate_series({first}, {last}) as id) as hashed) as dated"""


def mysql_insert(first: int, last: int, seed: int = SEED) -> str:
    """SQL that inserts the rows with ids first to last in MariaDB or MySQL, whose session is in UTC."""
    states = ", ".join(f"'{state}'" for state in STATES)
    return f"""
insert into {TABLE}
select id, {_mysql_number(1, 6)}, concat('SKU-', substr(h, 7, 12)), 1 + {_mysql_number(19, 2)} % 20,
       {_mysql_number(9, 6)} / 100, elt(1 + {_mysql_number(21, 2)} % {len(STATES)}, {states}),
       case when {_mysql_number(23, 2)} < 192
            then substr(repeat(h, 3), 1, {_mysql_number(23, 2)} % {NOTE_MOST + 1}) end,
       moment, moment
from (select id, h, timestamp '{FIRST_DAY:%Y-%m-%d} 00:00:00' + interval id second
                    + interval {_mysql_number(25, 4)} microsecond as moment
      from (select id, sha2(concat('{seed}:', id), 256) as h
            from (with recursive series (id) as
                  (select {first} union all select id + 1 from series where id < {last})
                  select id from series) as numbered) as hashed) as dated"""


def update(first: int, last: int) -> str:
    """SQL for every database that changes the rows with ids first to last."""
    return f"""
update {TABLE} set quantity = quantity + 1, price = price + 1, status = 'changed',
       changed_at = changed_at + interval '1' minute
where id between {first} and {last}"""


def spans(rows: int) -> Iterator[tuple[int, int]]:
    """First and last id of each piece of a thousand rows."""
    for first in range(1, rows + 1, ROWS_A_TRANSACTION):
        yield first, min(first + ROWS_A_TRANSACTION - 1, rows)


def transactions(changes: int) -> Iterator[tuple[int, int]]:
    """First and last id of each transaction that inserts; an update of the same ids follows each."""
    return spans(changes // 2)


def _postgres_number(at: int, digits: int) -> str:
    return f"('x' || substr(h, {at}, {digits}))::bit({digits * 4})::int"


def _mysql_number(at: int, digits: int) -> str:
    return f"cast(conv(substr(h, {at}, {digits}), 16, 10) as signed)"
