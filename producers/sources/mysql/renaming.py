"""Which columns had another name at first, as statements of the schema say; a saved position keeps it.  Pure.

    names, deeds -> names        {"shop.shop.orders": {"total": "amount"}}: `total` was `amount` at first

Only columns that were renamed are here, for any other column's first name is its own.  Letters in either
case are one name to the servers, and are written small here.
"""

from collections.abc import Iterable, Iterator, Sequence

from wrackline.producers.sources.mysql.position import Names
from wrackline.producers.sources.mysql.statements import (
    Altered,
    Created,
    DatabaseDropped,
    Deed,
    Dropped,
    Emptied,
    Moved,
)
from wrackline.schemas.table import TableId


def renamed(names: Names, done: Iterable[Deed]) -> Names:
    """Return the names after these deeds."""
    for deed in done:
        match deed:
            case Altered(table, _, pairs, dropped) if pairs or (dropped and str(table) in names):
                columns = _altered(dict(names.get(str(table), {})), pairs, dropped)
                names = {**names, str(table): columns} if columns else _without(names, table)
            case Moved(old, new) if str(old) in names:
                names = {**_without(names, old), str(new): names[str(old)]}
            case Dropped(table) | Created(table, perhaps=False):
                names = _without(names, table)
            case DatabaseDropped(database):
                names = {table: columns for table, columns in names.items() if not _is_in(table, database)}
            case _:
                pass
    return names


def tables_of(deed: Deed) -> Iterator[TableId]:
    """Name the tables that a deed touches."""
    match deed:
        case Created(table) | Dropped(table) | Emptied(table) | Altered(table):
            yield table
        case Moved(old, new):
            yield old
            yield new
        case _:
            pass


def _altered(
    columns: dict[str, str], pairs: Sequence[tuple[str, str]], dropped: Sequence[str]
) -> dict[str, str]:
    """Apply renames that all begin to hold at once."""
    pairs = [(old.lower(), new.lower()) for old, new in pairs]
    firsts = {new: columns.get(old, old) for old, new in pairs}
    for gone in (*dropped, *(old for old, _ in pairs)):
        columns.pop(gone.lower(), None)
    return {name: first for name, first in (columns | firsts).items() if name != first}


def _without(names: Names, table: TableId) -> Names:
    return {name: columns for name, columns in names.items() if name != str(table)}


def _is_in(table: str, database: str) -> bool:
    return table.startswith(f"{database}.{database}.")
