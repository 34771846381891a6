"""Only SQL_REDO, on one core: a statement's text to the places of its cells; sqlglot makes a tree of it.

`to events` makes Avro of the cells too: all that a row costs between LogMiner's text and Kafka's bytes.
Rows of `orders`, as LogMiner prints them with all columns logged: of four statements one inserts, two update,
with the whole old row behind WHERE, and one deletes.  `as objects` makes an object of each cell, as a tree
has them; `plain` is our own build without a compiler.  `copy` copies the texts, and `find` looks for a byte
that no text has: no reader of each byte is faster, so these two are the limits of the machine.
"""

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from bench.plain_build import prefer_source
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.workloads.orders import Order, orders
from wrackline.producers.contract.steps import RowChange

METRIC, BYTES = "statements_per_s", "mb_per_s"
UNITS = {METRIC: "statements/s", BYTES: "MB/s"}
FULL = Size(400_000, 5)
QUICK = Size(40_000, 2)
BATCH = 1_000  # statements that are held at a time, as a mining hands them out

Read = Callable[[list[bytes]], object]


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Every contender makes its statements before its clock starts."""
    few, fewer = max(rows // 20, 1), max(rows // 200, 1)  # of the slow ones: rates do not depend on it
    yield [
        Contender("wrackline", compiled, (rows,), ours=True),
        Contender("wrackline, to events", to_events, (rows,)),
        Contender("wrackline, as objects", as_objects, (few,)),
        Contender("wrackline-plain", plain, (few,)),
        Contender("sqlglot", tree, (fewer,)),
        Contender("find", find, (rows,)),
        Contender("copy", copy, (rows,)),
    ]


def compiled(rows: int) -> Outcome:
    """Run the build that is installed."""
    return _timed(_places(), rows)


def plain(rows: int) -> Outcome:
    """Run the same file as plain Python."""
    prefer_source()
    return _timed(_places(), rows)


def _places() -> Read:
    from wrackline.producers.sources.oracle.redo.statement import RedoStatement  # noqa: PLC0415 - after `plain`

    statement = RedoStatement()

    def read(texts: list[bytes]) -> None:
        for text in texts:
            statement.parse(text)

    return read


def to_events(rows: int) -> Outcome:
    """Make the events of the statements, with a frame for each batch as for a transaction."""
    from wrackline.producers.sources.oracle.discover.facts import OracleType  # noqa: PLC0415 - after `plain`
    from wrackline.producers.sources.oracle.discover.types import column_type  # noqa: PLC0415 - after `plain`
    from wrackline.producers.sources.oracle.rows.rows import OracleRowDecoder  # noqa: PLC0415 - after `plain`
    from wrackline.schemas.events.frame import Frame  # noqa: PLC0415 - after `plain`
    from wrackline.schemas.events.projection import project_all  # noqa: PLC0415 - after `plain`
    from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema  # noqa: PLC0415 - after `plain`

    types = [
        *(OracleType("NUMBER", precision=18, scale=0), OracleType("NUMBER", precision=18, scale=0)),
        *(OracleType("VARCHAR2", length=40), OracleType("NUMBER", precision=9, scale=0)),
        *(OracleType("NUMBER", precision=12, scale=2), OracleType("VARCHAR2", length=20)),
        *(OracleType("VARCHAR2", length=80), OracleType("TIMESTAMP(6) WITH TIME ZONE")),
        OracleType("TIMESTAMP(6)"),
    ]
    names = [name.upper() for name in Order._fields]
    columns = tuple(
        Column(name, number, column_type(sql_type, column=name), number > 1)
        for number, (name, sql_type) in enumerate(zip(names, types, strict=True), 1)
    )
    table = TableSchema(TableId("DB", "SHOP", "ORDERS"), columns, ("ID",), KeyKind.PRIMARY)
    decoder = OracleRowDecoder(1, project_all(table), types, 1, 2)
    operations = {105: 1, 100: 2, 117: 3}  # by a statement's first letter

    def read(texts: list[bytes]) -> None:
        events: list[RowChange] = []
        frame = Frame(bytes(120), bytes(40))
        for ordinal, text in enumerate(texts):
            decoder.change(operations[text[0]], text, frame, ordinal, events)
        if len(events) != len(texts):
            raise ValueError("not every statement became one event")

    return _timed(read, rows)


def as_objects(rows: int) -> Outcome:
    """Make an object of each cell too."""
    from wrackline.producers.sources.oracle.redo.statement import RedoStatement  # noqa: PLC0415 - after `plain`

    statement = RedoStatement()

    def read(texts: list[bytes]) -> None:
        for text in texts:
            statement.parse(text)
            _ = statement.changes, statement.conditions

    return _timed(read, rows)


def tree(rows: int) -> Outcome:
    """Parse with sqlglot, from the text that a driver has handed out."""
    import sqlglot  # noqa: PLC0415 - only this contender pays for it

    def read(texts: list[bytes]) -> None:
        for text in texts:
            sqlglot.parse_one(text.decode(), read="oracle")

    return _timed(read, rows)


def find(rows: int) -> Outcome:
    """Look at each byte."""
    return _timed(lambda texts: [text.find(b"\xff") for text in texts], rows)


def copy(rows: int) -> Outcome:
    """Copy each byte."""
    return _timed(lambda texts: [bytearray(text) for text in texts], rows)


def _timed(read: Read, rows: int) -> Outcome:
    gc.collect()
    began = spent = size = 0.0
    read([redo(order) for order in orders(1, BATCH)])  # to warm up
    for first in range(1, rows + 1, BATCH):
        texts = [redo(order) for order in orders(first, min(first + BATCH - 1, rows))]
        size += sum(map(len, texts))
        began = time.process_time()
        read(texts)
        spent += time.process_time() - began
    return Outcome({METRIC: rows / spent, BYTES: size / spent / 1e6})


def redo(order: Order) -> bytes:
    """Print one change of a row."""
    names = [f'"{name.upper()}"' for name in Order._fields]
    values = _values(order)
    row = " and ".join(
        f"{name} IS NULL" if value == "NULL" else f"{name} = {value}"
        for name, value in zip(names, values, strict=True)
    )
    match order.id % 4:
        case 0:
            text = f'insert into "SHOP"."ORDERS"({",".join(names)}) values ({",".join(values)});'
        case 1:
            text = f'delete from "SHOP"."ORDERS" where {row};'
        case _:
            text = f"""update "SHOP"."ORDERS" set "QUANTITY" = '7', "STATUS" = 'sent' where {row};"""
    return text.encode()


def _values(order: Order) -> list[str]:
    note = "NULL" if order.note is None else f"'{order.note}'"
    texts = [
        f"'{value}'"
        for value in (order.id, order.customer_id, order.sku, order.quantity, order.price, order.status)
    ]
    zoned = f"TO_TIMESTAMP_TZ('{_moment(order.placed_at)} +00:00')"
    return [*texts, note, zoned, f"TO_TIMESTAMP('{_moment(order.changed_at)}')"]


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S.%f}000"
