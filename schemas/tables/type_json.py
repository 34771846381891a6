"""A column's type as JSON, for what is kept about a table's columns.

In: a type.  Out: plain values, and the type back from them, also after somebody has changed them.
"""

from collections.abc import Mapping
from typing import Any

from wrackline.schemas.tables.types import ColumnType, Kind, digits


def type_to_json(its: ColumnType) -> dict[str, Any]:
    """Write a type; what it does not have is left out."""
    written = {
        "kind": its.kind.value,
        "source": its.source,
        "precision": its.precision,
        "scale": its.scale,
        "length": its.length,
        "labels": list(its.labels) or None,
        "element": None if its.element is None else type_to_json(its.element),
    }
    return {name: value for name, value in written.items() if value is not None}


def type_from_json(written: Mapping[str, Any]) -> ColumnType:
    """Read it back; what nobody of ours wrote is a KeyError, a TypeError or a ValueError."""
    element, kind = written.get("element"), Kind(written["kind"])
    decimal = kind is Kind.DECIMAL
    precision, scale = digits(written["precision"], written["scale"]) if decimal else (None, None)
    return ColumnType(
        kind,
        written["source"],
        precision,
        scale,
        length=written.get("length"),
        labels=tuple(written.get("labels", ())),
        element=None if element is None else type_from_json(element),
    )
