"""Which columns had another name at first, from DDL statements; a saved position keeps it.  Pure.

    names, deeds -> names        {"shop.shop.orders": {"total": "amount"}}: `total` was `amount` at first

Only columns that were renamed are listed, because any other column's first name is its own.  The servers
ignore case in these names, and they are in lower case here.
"""

from collections.abc import Iterable, Iterator, Sequence

from wrackline.producers.sources.mysql.ddl.ddl_effects import (
    DatabaseDropped,
    DdlEffect,
    TableAltered,
    TableCreated,
    TableDropped,
    TableEmptied,
    TableRenamed,
)
from wrackline.producers.sources.mysql.log.position import ColumnNames
from wrackline.schemas.tables.table import TableId


def apply_renames(names: ColumnNames, done: Iterable[DdlEffect]) -> ColumnNames:
    """Return the names after these deeds."""
    for deed in done:
        match deed:
            case TableAltered(table, _, pairs, dropped) if pairs or (dropped and str(table) in names):
                columns = _rename_columns(dict(names.get(str(table), {})), pairs, dropped)
                names = {**names, str(table): columns} if columns else _without(names, table)
            case TableRenamed(old, new) if str(old) in names:
                names = {**_without(names, old), str(new): names[str(old)]}
            case TableDropped(table) | TableCreated(table, perhaps=False):
                names = _without(names, table)
            case DatabaseDropped(database):
                names = {table: columns for table, columns in names.items() if not _is_in(table, database)}
            case _:
                pass
    return names


def tables_of(deed: DdlEffect) -> Iterator[TableId]:
    """Name the tables that a deed touches."""
    match deed:
        case TableCreated(table) | TableDropped(table) | TableEmptied(table) | TableAltered(table):
            yield table
        case TableRenamed(old, new):
            yield old
            yield new
        case _:
            pass


def _rename_columns(
    columns: dict[str, str], pairs: Sequence[tuple[str, str]], dropped: Sequence[str]
) -> dict[str, str]:
    """Apply renames that all take effect at once."""
    pairs = [(old.lower(), new.lower()) for old, new in pairs]
    firsts = {new: columns.get(old, old) for old, new in pairs}
    for gone in (*dropped, *(old for old, _ in pairs)):
        columns.pop(gone.lower(), None)
    return {name: first for name, first in (columns | firsts).items() if name != first}


def _without(names: ColumnNames, table: TableId) -> ColumnNames:
    return {name: columns for name, columns in names.items() if name != str(table)}


def _is_in(table: str, database: str) -> bool:
    return table.startswith(f"{database}.{database}.")
