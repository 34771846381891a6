"""Column types between a plan and a table of Spark's, and which columns of a table are ours.

In: planned columns, or the fields of a table.  Out: Spark types, and texts that say which column is which.
A column's identity is in its comment, because there it comes and goes with the column, in one commit, and
stays through every rename.  What else is known of a column (its name and type at the source) is in one
property of the table: a catalogue such as Hive's cuts a comment at 256 characters.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql.types import ArrayType, DataType, StructField

from wrackline.consumers.contract.plan import PlannedColumn
from wrackline.schemas.tables.type_json import type_from_json, type_to_json
from wrackline.schemas.tables.types import ColumnType, Kind, spark_type

# What Iceberg and Delta widen in place, as kinds of the source.
WIDENS = frozenset(
    {
        (Kind.INT16, Kind.INT32),
        (Kind.INT16, Kind.INT64),
        (Kind.INT32, Kind.INT64),
        (Kind.FLOAT32, Kind.FLOAT64),
        (Kind.DECIMAL, Kind.DECIMAL),
        (Kind.ENUM, Kind.ENUM),
        (Kind.ENUM, Kind.STRING),
        (Kind.ENUM_SET, Kind.ENUM_SET),
        (Kind.ARRAY, Kind.ARRAY),
    }
)
_IDENTITY = re.compile(r"wrackline\.column=(\d+)")


def comment(identity: int) -> str:
    """Write a column's identity."""
    return f"wrackline.column={identity}"


def identity_of(field: StructField) -> int | None:
    """Return the identity of a table's column; None: it is not ours to change."""
    found = _IDENTITY.fullmatch(field.metadata.get("comment", ""))
    return None if found is None else int(found[1])


def describe_columns(columns: Iterable[PlannedColumn]) -> str:
    """Write what the table can't say of its columns, for one property."""
    return json.dumps({str(c.identity): {"name": c.source, "type": type_to_json(c.type)} for c in columns})


def planned_column(identity: int, target: str, described: Mapping[str, Any]) -> PlannedColumn:
    """Return a column as it was planned, from the property's part about it."""
    name = described["name"]
    if not isinstance(name, str):
        raise TypeError("a column's name is not a text")
    return PlannedColumn(identity, name, target, type_from_json(described["type"]))


def spark_data_type(column_type: ColumnType) -> DataType:
    """Return the Spark type that a column has in the table."""
    return DataType.fromDDL(spark_type(column_type))


def element_path(quoted_name: str, new: DataType) -> tuple[str, DataType]:
    """Return what ALTER COLUMN names to change a type: an array's is its element's."""
    if isinstance(new, ArrayType):
        return element_path(f"{quoted_name}.element", new.elementType)
    return quoted_name, new
