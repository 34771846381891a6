"""What a query reads: named columns and rows, and by which columns the rows are sorted already.

Tables and change tables are here; system tables, which are small, are in `catalogue`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from wrackline.control.local.sqlserver_standin.model.capture import CapturedRow, CaptureInstance
from wrackline.control.local.sqlserver_standin.model.ordering import order_key
from wrackline.control.local.sqlserver_standin.model.tables import Cells, ModelTable, RowKey
from wrackline.control.local.sqlserver_standin.model.transactions import LockWait, ModelTransaction
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType, sql_type
from wrackline.control.local.sqlserver_standin.wire.tokens import ShownColumn

_LSN = SqlType("binary", 10)
_INT = SqlType("int")
_MASK = SqlType("varbinary", 128)
_LEADING = (
    ShownColumn("__$start_lsn", _LSN, nullable=False),
    ShownColumn("__$end_lsn", _LSN),
    ShownColumn("__$seqval", _LSN, nullable=False),
    ShownColumn("__$operation", _INT, nullable=False),
    ShownColumn("__$update_mask", _MASK),
)


@dataclass(slots=True)
class RowSource:
    """Rows that a query reads; `between` gives those whose sort key lies between two, in their order."""

    columns: Sequence[ShownColumn]
    sorted_by: Sequence[int]
    between: Callable[[tuple[object, ...], tuple[object, ...]], Iterator[Cells]]
    keys: Callable[[Cells], RowKey] | None = field(default=None)
    """How a row's key is found, for UPDATE and DELETE."""


class _End:
    """Greater than any value, as the rest of an upper bound."""

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return not isinstance(other, _End)


END = _End()


def table_source(
    table: ModelTable, one: ModelTransaction | None, snapshot: int | None, *, waits: bool
) -> RowSource:
    """Return a table's rows: of a snapshot, or the newest; a row that another writes makes a reader wait."""
    mine = one.rows.get(table, {}) if one is not None else {}
    name = (table.schema, table.name)
    columns = [
        ShownColumn(column.name, column.of, column.nullable, column.identity, column.computed, name)
        for column in table.columns
    ]

    def between(low: tuple[object, ...], high: tuple[object, ...]) -> Iterator[Cells]:
        for key in table.keys_between(low, high, {*mine, *(table.writers if waits else ())}):
            if key in mine:
                row = mine[key]
            else:
                if waits and table.writers.get(key, one) is not one:
                    raise LockWait
                row = table.seen(key, snapshot)
            if row is not None:
                yield row

    places = [table.place(column) for column in table.key]

    def key_of(row: Cells) -> RowKey:
        return tuple(order_key(table.columns[at].of, row[at]) for at in places)

    return RowSource(columns, places, between, key_of)


def change_source(instance: CaptureInstance, *, visible: bool) -> RowSource:
    """Return a change table's rows; `visible` is False for a user without the instance's role."""
    as_shown = [ShownColumn(column.name, shown_type(column.of), True) for column in instance.columns]
    trailing = [ShownColumn("__$command_id", _INT)] if instance.has_command else []
    columns = [*_LEADING, *as_shown, *trailing]
    sorted_by = [0, len(columns) - 1, 2, 3] if instance.has_command else [0, 2, 3]
    rows = instance.rows if visible else []

    def key(row: CapturedRow) -> tuple[object, ...]:
        command = (row.command,) if instance.has_command else ()
        return (row.start_lsn.rstrip(b"\x00"), *command, row.seqval.rstrip(b"\x00"), row.operation)

    def between(low: tuple[object, ...], high: tuple[object, ...]) -> Iterator[Cells]:
        found = rows if instance.has_command else sorted(rows, key=key)
        for at in range(_first(found, low, key), len(found)):
            row = found[at]
            if key(row)[: len(high)] > high:
                return
            command = (row.command,) if instance.has_command else ()
            yield (row.start_lsn, None, row.seqval, row.operation, row.mask, *row.cells, *command)

    return RowSource(columns, sorted_by, between)


def _first(
    rows: Sequence[CapturedRow], low: tuple[object, ...], key: Callable[[CapturedRow], tuple[object, ...]]
) -> int:
    left, right = 0, len(rows)
    while left < right:
        middle = (left + right) // 2
        if key(rows[middle]) < low:
            left = middle + 1
        else:
            right = middle
    return left


def shown_type(of: SqlType) -> SqlType:
    """Return the type that a change table has for a column: a row version is eight bytes there."""
    return SqlType("binary", 8) if of.name == "timestamp" else of


def plain_source(declaration: str, rows: Sequence[Cells]) -> RowSource:
    """Return rows of a system table whose columns are declared as `name type, name type null`."""
    columns = []
    for part in declaration.split(";"):
        name, _, rest = part.strip().partition(" ")
        columns.append(ShownColumn(name, sql_type(rest.removesuffix(" null")), rest.endswith(" null")))
    return RowSource(columns, (), lambda _low, _high: iter(rows))
