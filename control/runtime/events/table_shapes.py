"""The shapes of a table as its schemas in the registry tell them, and what differs between two of them.

In: the text of a value's schema.  Out: columns by their identity, so that a rename is one; changes.  A schema
of another writer has no identities, and its columns are known by their names.  Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import orjson


class DifferenceKind(Enum):
    """What became of a column, or of the key."""

    ADDED = "added"
    DROPPED = "dropped"
    RENAMED = "renamed"
    TYPE = "type changed"
    NULLABLE = "may be null"
    REQUIRED = "may not be null"
    KEY = "key changed"


@dataclass(frozen=True, slots=True)
class ShapeColumn:
    """A column of a shape."""

    identity: str
    name: str
    type: str
    required: bool
    in_key: bool


@dataclass(frozen=True, slots=True)
class TableShape:
    """A version of a table's schema."""

    version: int
    schema_id: int
    columns: Sequence[ShapeColumn]


@dataclass(frozen=True, slots=True)
class ColumnDifference:
    """One difference; `before` is empty for what is new, `after` for what is gone."""

    kind: DifferenceKind
    column: str
    before: str
    after: str


def read_shape(version: int, schema_id: int, text: str) -> TableShape | None:
    """Read a shape; None: it is no schema of a table's events."""
    try:
        schema = orjson.loads(text)
        row = next(field["type"] for field in schema["fields"] if field["name"] == "before")
        record = next(one for one in row if isinstance(one, dict)) if isinstance(row, list) else row
        key = {str(one) for one in schema.get("wrackline.key") or ()}
        return TableShape(version, schema_id, [_column(field, key) for field in record["fields"]])
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
        return None


def steps_of(shapes: Sequence[TableShape]) -> Sequence[tuple[TableShape | None, TableShape]]:
    """Return each shape behind the one before it; the first has none."""
    return list(zip([None, *shapes], shapes, strict=False))


def differences(old: TableShape, new: TableShape) -> Sequence[ColumnDifference]:
    """Return what has to change to make the second of the first; the key comes last."""
    before = {one.identity: one for one in old.columns}
    after = {one.identity: one for one in new.columns}
    changes = [
        ColumnDifference(DifferenceKind.DROPPED, one.name, one.type, "")
        for one in old.columns
        if one.identity not in after
    ]
    for one in new.columns:
        was = before.get(one.identity)
        if was is None:
            changes.append(ColumnDifference(DifferenceKind.ADDED, one.name, "", one.type))
            continue
        if was.name != one.name:
            changes.append(ColumnDifference(DifferenceKind.RENAMED, one.name, was.name, one.name))
        if was.type != one.type:
            changes.append(ColumnDifference(DifferenceKind.TYPE, one.name, was.type, one.type))
        if was.required != one.required:
            kind = DifferenceKind.REQUIRED if one.required else DifferenceKind.NULLABLE
            changes.append(ColumnDifference(kind, one.name, "", ""))
    keys = [[one.identity for one in shape.columns if one.in_key] for shape in (old, new)]
    if keys[0] != keys[1]:
        texts = [", ".join(one.name for one in shape.columns if one.in_key) or "none" for shape in (old, new)]
        changes.append(ColumnDifference(DifferenceKind.KEY, "", *texts))
    return changes


def _column(field: Mapping[str, Any], key: set[str]) -> ShapeColumn:
    identity = str(field.get("wrackline.column", field["name"]))
    return ShapeColumn(
        identity,
        str(field.get("wrackline.name", field["name"])),
        str(field.get("wrackline.type") or _avro_text(field["type"])),
        bool(field.get("wrackline.not_null")),
        identity in key,
    )


def _avro_text(avro: object) -> str:
    if isinstance(avro, list):
        return " or ".join(_avro_text(one) for one in avro if one != "null")
    if isinstance(avro, dict):
        return str(avro.get("logicalType") or avro.get("connect.name") or avro.get("type"))
    return str(avro)
