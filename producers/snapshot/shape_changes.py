"""A table's last known shape in its saved state, and what a new shape means for the rows that were sent.

A change of shape may alter stored values without a row event (a default, an expression), or leave open
which column the log meant (a column that took another's name): then the rows are read again.
"""

from enum import Enum
from typing import Any

from wrackline.schemas.tables.evolution import (
    AddColumn,
    Change,
    ChangeGenerated,
    ChangeKey,
    ChangeType,
    RenameColumn,
    Stored,
    Widening,
    changes,
    widening,
)
from wrackline.schemas.tables.table import TableSchema
from wrackline.schemas.tables.type_compatibility import keeps_sign, keeps_values
from wrackline.schemas.tables.type_json import type_to_json
from wrackline.schemas.tables.types import ColumnType, Kind


class RefreshNeed(Enum):
    """What must be read again after a change of shape."""

    NOTHING = "nothing"
    REFRESH = "refresh"  # values changed without row events
    RESTART = "restart"  # other columns distinguish rows


def needs_refresh(old: TableSchema, new: TableSchema, filled: frozenset[int]) -> RefreshNeed:
    """Say what a change of shape needs; a nullable column added without a default needs nothing.

    `filled` are the columns that give old rows a value (by a default, as identity).  If a column took
    another's name, the log's values under that name may have been given to the wrong one of the two.
    """
    found = [_need(change, filled) for change in changes(old, new)]
    named = {column.name: column.identity for column in old.columns}
    if any(named.get(column.name, column.identity) != column.identity for column in new.columns):
        found.append(RefreshNeed.REFRESH)
    return max(found, key=list(RefreshNeed).index, default=RefreshNeed.NOTHING)


def moves_keys(old: TableSchema, new: TableSchema) -> bool:
    """Whether rows may have other keys, with no event of the old ones: a key's column got a narrower type."""
    return any(
        isinstance(change, ChangeType)
        and change.name in new.key
        and not _keeps_values(change.old, change.new)
        for change in changes(old, new)
    )


def _keeps_values(old: ColumnType, new: ColumnType) -> bool:
    if old.element is not None and new.element is not None:
        return _keeps_values(old.element, new.element)
    match widening(old, new):
        case Widening.SAME_CARRIER:
            return old.kind is Kind.ENUM or keeps_values(old.source, new.source)  # an ENUM: same labels
        case Widening.WIDER:
            return keeps_sign(old.source, new.source)
        case _:
            return False


def _need(change: Change, filled: frozenset[int]) -> RefreshNeed:
    match change:
        case AddColumn(column, _):
            has_values = column.generated or not column.nullable or column.identity in filled
            return RefreshNeed.REFRESH if has_values else RefreshNeed.NOTHING
        case ChangeKey():
            return RefreshNeed.RESTART if change.stored is Stored.REKEYED else RefreshNeed.NOTHING
        case ChangeType() | RenameColumn() | ChangeGenerated():
            return RefreshNeed.REFRESH if change.stored is Stored.SOURCE_KNOWS else RefreshNeed.NOTHING
        case _:
            return RefreshNeed.NOTHING


def render_shape(table: TableSchema) -> dict[str, Any]:
    """Render a shape for the saved state; pydantic turns it into a `TableSchema` again."""
    return {
        "id": list(table.id),
        "key": list(table.key),
        "key_kind": table.key_kind.value,
        "columns": [
            {
                "name": column.name,
                "identity": column.identity,
                "type": type_to_json(column.type),
                "nullable": column.nullable,
                "generated": column.generated,
            }
            for column in table.columns
        ],
    }
