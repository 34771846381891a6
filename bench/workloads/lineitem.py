"""TPC-H's table `lineitem`: its sixteen columns with the ranges and the dependences of its specification.

    row number  ->  key: seven orders have one to seven lines, 28 rows together; of 32 order keys 8 are used
    row number  ->  PostgreSQL's own hash of it, once a column  ->  values

The database makes the rows itself, the same ones for the same number of rows, which is also the scale factor
(6,000,000 rows are factor 1).  A backlog's transaction updates, inserts and deletes rows; none touches a row
that a deletion has taken.  A mark is a change that can be found in the lake: `l_comment` has its number.
"""

from collections.abc import Iterator
from typing import Final

TABLE: Final = "lineitem"
ROWS_OF_FACTOR_1: Final = 6_000_000
MARK: Final = "mark "
CHANGES_A_TRANSACTION: Final = 1_000
_UPDATED, _INSERTED, _DELETED = 700, 200, 100  # of them


_LINES: Final = tuple((order, line) for order in range(7) for line in range(1, order + 2))
_ORDERS_A_BLOCK, _ROWS_A_BLOCK = 7, len(_LINES)
_STRIDE: Final = 2_654_435_761  # a prime: its multiples reach every row before one comes again

KEY: Final = ("l_orderkey", "l_linenumber")
_PADDED: Final = ("l_returnflag", "l_linestatus", "l_shipinstruct", "l_shipmode")
COLUMNS: Final = (
    *("l_orderkey", "l_partkey", "l_suppkey", "l_linenumber", "l_quantity", "l_extendedprice"),
    *("l_discount", "l_tax", "l_returnflag", "l_linestatus", "l_shipdate", "l_commitdate"),
    *("l_receiptdate", "l_shipinstruct", "l_shipmode", "l_comment"),
)
CREATE: Final = f"""
create table {TABLE} (
  l_orderkey bigint not null, l_partkey bigint not null, l_suppkey bigint not null,
  l_linenumber integer not null, l_quantity decimal(15,2) not null, l_extendedprice decimal(15,2) not null,
  l_discount decimal(15,2) not null, l_tax decimal(15,2) not null, l_returnflag char(1) not null,
  l_linestatus char(1) not null, l_shipdate date not null, l_commitdate date not null,
  l_receiptdate date not null, l_shipinstruct char(25) not null, l_shipmode char(10) not null,
  l_comment varchar(44) not null, primary key ({", ".join(KEY)}))"""

_INSTRUCTIONS = ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN")
_MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")
_WORDS = (
    *("furiously", "slyly", "carefully", "blithely", "quickly", "fluffily", "final", "ironic", "regular"),
    *("special", "pending", "express", "bold", "even", "silent", "unusual", "packages", "requests"),
    *("accounts", "deposits", "foxes", "ideas", "theodolites", "pinto beans", "instructions", "asymptotes"),
    *("sleep", "wake", "haggle", "nag", "cajole", "integrate", "about the", "above the", "according to"),
)


def order_key(order: int) -> int:
    """Return the key of the order with this number, which begins at 1."""
    return order // 8 * 32 + order % 8


def key(number: int) -> tuple[int, int]:
    """Return order key and line of the row with this number, which begins at 0."""
    order, line = _LINES[number % _ROWS_A_BLOCK]
    return order_key(number // _ROWS_A_BLOCK * _ORDERS_A_BLOCK + order + 1), line


def insert(first: int, last: int, rows: int) -> str:
    """SQL that inserts the rows with these numbers into a table that began with so many rows."""
    parts = max(200, 200_000 * rows // ROWS_OF_FACTOR_1)
    suppliers = max(10, 10_000 * rows // ROWS_OF_FACTOR_1)
    price = "(90000 + part / 10 % 20001 + 100 * (part % 1000)) / 100.0"
    words = " || ' ' || ".join(_one_of(_WORDS, 20 + at) for at in range(6))
    return f"""
insert into {TABLE}
select l_orderkey, part,
       (part + {_chance(2, 4)} * ({suppliers} / 4 + (part - 1) / {suppliers})) % {suppliers} + 1,
       l_linenumber, quantity, quantity * {price}, {_chance(4, 11)} / 100.0, {_chance(5, 9)} / 100.0,
       case when received > date '1995-06-17' then 'N' when {_chance(6, 2)} = 0 then 'R' else 'A' end,
       case when shipped > date '1995-06-17' then 'O' else 'F' end,
       shipped, ordered + 30 + {_chance(7, 61)}::int, received,
       {_one_of(_INSTRUCTIONS, 8)}, {_one_of(_MODES, 9)}, substr({words}, 1, 10 + {_chance(10, 34)}::int)
from (select *, shipped + 1 + {_chance(12, 30)}::int as received
      from (select *, ordered + 1 + {_chance(11, 121)}::int as shipped
            from (select n, {_key_of("n")}, 1 + {_chance(1, parts)} as part, 1 + {_chance(3, 50)} as quantity,
                         date '1992-01-01' + {_chance(13, 2406, _order_of("n"))}::int as ordered
                  from generate_series({first}::bigint, {last}::bigint) as n) as keyed) as dated) as made"""


def changes_of(rows: int, most: int) -> int:
    """Return how many changes a backlog over so many rows has: whole transactions, at most half the rows."""
    return min(most, rows // 2) // CHANGES_A_TRANSACTION * CHANGES_A_TRANSACTION


def transactions(rows: int, changes: int) -> Iterator[list[str]]:
    """Make the statements of each transaction of a backlog."""
    old = first_deleted(rows)
    for number in range(changes // CHANGES_A_TRANSACTION):
        new, gone = rows + number * _INSERTED, old + number * _DELETED
        yield [
            _update(number * _UPDATED, (number + 1) * _UPDATED - 1, old),
            insert(new, new + _INSERTED - 1, rows),
            _delete(gone, gone + _DELETED - 1),
        ]


def first_deleted(rows: int) -> int:
    """Return the number of the first row that a backlog may delete; it updates only rows before it."""
    return rows * 9 // 10


def most_marks(rows: int) -> int:
    """Return how many orders there are whose first line no backlog deletes."""
    return first_deleted(rows) // _ROWS_A_BLOCK * _ORDERS_A_BLOCK


def mark(number: int) -> tuple[str, tuple[str, int]]:
    """Make the statement that marks the first line of an order, and its values; numbers begin at 0."""
    statement = f"update {TABLE} set l_comment = %s where l_orderkey = %s and l_linenumber = 1"
    return statement, (f"{MARK}{number}", order_key(number + 1))


def marked(comment: str) -> int | None:
    """Return the mark's number, if the comment is one."""
    return int(comment.removeprefix(MARK)) if comment.startswith(MARK) else None


def postgres_digest() -> str:
    """SQL for the number of rows, and the sum of a hash of each row's values."""
    text = ", ".join(f"rtrim({name})" if name in _PADDED else name for name in COLUMNS)
    hashed = f"('x' || substr(md5(concat_ws('|', {text})), 1, 15))::bit(60)::bigint"
    return f"select count(*), coalesce(sum({hashed}), 0)::text from {TABLE}"


def spark_digest(rows: str) -> str:
    """SQL for the same of some rows in Spark."""
    text = ", ".join(f"rtrim({name})" if name in _PADDED else f"cast({name} as string)" for name in COLUMNS)
    hashed = f"conv(substr(md5(concat_ws('|', {text})), 1, 15), 16, 10)"
    return f"select count(*), cast(coalesce(sum(cast({hashed} as decimal(38, 0))), 0) as string) from {rows}"


def _update(first: int, last: int, rows: int) -> str:
    return f"""
update {TABLE}
set l_quantity = l_quantity % 50 + 1, l_tax = (l_tax + 0.01) % 0.09, l_comment = 'changed ' || i
from (select i, {_key_of("n")}
      from (select i, i * {_STRIDE} % {rows} as n
            from generate_series({first}::bigint, {last}::bigint) as i) as chosen) as wanted
where {_same_key("wanted")}"""


def _delete(first: int, last: int) -> str:
    return f"""
delete from {TABLE}
using (select {_key_of("n")} from generate_series({first}::bigint, {last}::bigint) as n) as gone
where {_same_key("gone")}"""


def _same_key(other: str) -> str:
    return " and ".join(f"{TABLE}.{name} = {other}.{name}" for name in KEY)


def _key_of(number: str) -> str:
    order = _order_of(number)
    lines = ", ".join(str(line) for _, line in _LINES)
    return (
        f"({order}) / 8 * 32 + ({order}) % 8 as l_orderkey,"
        f" (array[{lines}])[1 + {number} % {_ROWS_A_BLOCK}] as l_linenumber"
    )


def _order_of(number: str) -> str:
    orders = ", ".join(str(order + 1) for order, _ in _LINES)
    return (
        f"{number} / {_ROWS_A_BLOCK} * {_ORDERS_A_BLOCK} + (array[{orders}])[1 + {number} % {_ROWS_A_BLOCK}]"
    )


def _one_of(texts: tuple[str, ...], column: int) -> str:
    listed = ", ".join(f"'{text}'" for text in texts)
    return f"(array[{listed}])[1 + {_chance(column, len(texts))}]"


def _chance(column: int, below: int, of: str = "n") -> str:
    """SQL for a number from 0 that follows from the row's number and the column."""
    return f"((hashint8extended({of}, {column}) & 9223372036854775807) % {below})"
