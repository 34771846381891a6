"""A new capture instance after new columns.  Pure.

    a table, its instances, how far Kafka has come  ->  what to do next, as a statement

    no instance has the new columns   ->  a second one is created, with the old one's options
    both are there                    ->  the old one is read up to the new one's start, and is then dropped

An instance's changes go with it, so it is dropped only when Kafka has all that is read from it.  Only a
successor that has a name of ours shows that the old one is ours to drop: others may read it too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from wrackline.producers.sources.sqlserver.follow.capture_instances import (
    CapturedColumn,
    CatalogueInstance,
    disable_sql,
    enable_sql,
)
from wrackline.producers.sources.sqlserver.follow.handover import in_order
from wrackline.producers.sources.sqlserver.log.lsn import Lsn
from wrackline.schemas.tables.table import TableId

MOST_INSTANCES: Final = 2  # that the server allows a table
_OURS: Final = re.compile(r"wrackline_[0-9]+_([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Rotation:
    """What is missing, and the statement to run now; None: wait, because both instances are in use."""

    missing: tuple[str, ...]
    statement: str | None


def missing_columns(newest: CatalogueInstance, columns: Sequence[CapturedColumn]) -> tuple[str, ...]:
    """Name the columns that were added to the table later; others were left out on purpose."""
    last = max((one.column_id for one in newest.columns), default=0)
    return tuple(one.name for one in columns if one.column_id > last and not one.computed)


def next_step(
    table: TableId, instances: Sequence[CatalogueInstance], columns: Sequence[CapturedColumn], confirmed: Lsn
) -> Rotation | None:
    """Return what a table needs; None: nothing.  `columns` are the table's, now."""
    ordered = in_order(instances)
    if not ordered or len(ordered) < len(instances):  # one of them has not begun
        return None
    start, newest = ordered[-1]
    missing = missing_columns(newest, columns)
    if len(ordered) > 1 and _OURS.fullmatch(newest.name) and start <= confirmed:
        return Rotation(missing, disable_sql(table, ordered[0][1].name))
    if not missing:
        return None
    if len(ordered) == MOST_INSTANCES:
        return Rotation(missing, None)
    return Rotation(missing, enable_sql(table, still_there(newest, columns), _next_name(newest), missing))


def still_there(instance: CatalogueInstance, columns: Sequence[CapturedColumn]) -> CatalogueInstance:
    """Return an instance without the columns that its table has lost: nobody can capture them again."""
    numbers = {one.column_id for one in columns}
    return replace(instance, columns=tuple(one for one in instance.columns if one.column_id in numbers))


def _next_name(instance: CatalogueInstance) -> str:
    """Return a name that no other table's instance can have, however long the names of tables are."""
    ours = _OURS.fullmatch(instance.name)
    return f"wrackline_{instance.source}_{int(ours[1]) + 1 if ours else 2}"
