"""A table's last known shape in its saved state, and what a new shape means for the rows that were sent.

A change of shape may alter stored values without a row event (a default, an expression), or leave open
which column the log meant (one that took another's name): then the rows are read again.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from wrackline.schemas.evolution import (
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
from wrackline.schemas.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.type_room import keeps_sign, keeps_values
from wrackline.schemas.types import ColumnType, Kind


class Need(Enum):
    """What must be read again after a change of shape."""

    NOTHING = "nothing"
    REFRESH = "refresh"  # values changed without row events
    RESTART = "restart"  # other columns tell rows apart


def needs_refresh(old: TableSchema, new: TableSchema, filled: frozenset[int]) -> Need:
    """Say what a change of shape asks for; a nullable column added without a default needs nothing.

    `filled` are the columns that give old rows a value (by a default, as identity).  A column that took
    another's name: what the log said under that name may have been given to the wrong one of the two.
    """
    found = [_need(change, filled) for change in changes(old, new)]
    named = {column.name: column.identity for column in old.columns}
    if any(named.get(column.name, column.identity) != column.identity for column in new.columns):
        found.append(Need.REFRESH)
    return max(found, key=list(Need).index, default=Need.NOTHING)


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
            return old.kind is Kind.ENUM or keeps_values(old.source, new.source)  # one with the same labels
        case Widening.WIDER:
            return keeps_sign(old.source, new.source)
        case _:
            return False


def _need(change: Change, filled: frozenset[int]) -> Need:
    match change:
        case AddColumn(column, _):
            has_values = column.generated or not column.nullable or column.identity in filled
            return Need.REFRESH if has_values else Need.NOTHING
        case ChangeKey():
            return Need.RESTART if change.stored is Stored.REKEYED else Need.NOTHING
        case ChangeType() | RenameColumn() | ChangeGenerated():
            return Need.REFRESH if change.stored is Stored.SOURCE_KNOWS else Need.NOTHING
        case _:
            return Need.NOTHING


def shape_saved(table: TableSchema) -> dict[str, Any]:
    """Render a shape for the saved state."""
    return {
        "id": list(table.id),
        "key": list(table.key),
        "key_kind": table.key_kind.value,
        "columns": [
            {
                "name": column.name,
                "identity": column.identity,
                "type": _type_saved(column.type),
                "nullable": column.nullable,
                "generated": column.generated,
            }
            for column in table.columns
        ],
    }


def shape_of(saved: Mapping[str, Any]) -> TableSchema:
    """Read back what `shape_saved` wrote."""
    columns = tuple(
        Column(one["name"], one["identity"], _type_of(one["type"]), one["nullable"], one["generated"])
        for one in saved["columns"]
    )
    return TableSchema(TableId(*saved["id"]), columns, tuple(saved["key"]), KeyKind(saved["key_kind"]))


def _type_saved(made: ColumnType) -> dict[str, Any]:
    """Leave out what is not set: most types are a kind and a name."""
    saved = {
        "kind": made.kind.value,
        "source": made.source,
        "precision": made.precision,
        "scale": made.scale,
        "length": made.length,
        "labels": list(made.labels) or None,
        "element": None if made.element is None else _type_saved(made.element),
    }
    return {name: value for name, value in saved.items() if value is not None}


def _type_of(saved: Mapping[str, Any]) -> ColumnType:
    element = saved.get("element")
    return ColumnType(
        Kind(saved["kind"]),
        saved["source"],
        saved.get("precision"),
        saved.get("scale"),
        saved.get("length"),
        tuple(saved.get("labels", ())),
        None if element is None else _type_of(element),
    )
