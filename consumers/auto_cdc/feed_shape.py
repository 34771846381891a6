"""A feed's columns as a table's shape.

In: the fields of a frame, which of them are the key, and the columns that the target holds.  Out: a
`TableSchema` whose columns are those of the target by name: a feed knows no identities, so a column that is
renamed there is another column.  A column that the feed no longer has stays, and its changes do not send it.

A new column's identity comes from its name.  So two flows that add columns at the same moment, each without
a look at the other's, never give two columns one identity, nor one column two.
"""

import hashlib
from collections.abc import Collection, Sequence
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    TimestampNTZType,
    TimestampType,
)

from wrackline.consumers.contract.plan import ROW, PlannedColumn
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

NO_TYPE = define(
    "auto_cdc.no_type",
    Definite,
    "column {column} is {found}, and a target has no type for it",
    hint="write it as text: to_json({column}); or leave it out: except_column_list=['{column}']",
)

NAME_REFUSED = define(
    "auto_cdc.name_refused",
    Definite,
    "a flow into {table} has a column with ${{ in its name, which Spark may take for a variable",
    hint="give it another name in the view: .withColumnRenamed(...)",
)

_MOST: Final = 2**31 - 1_000_000  # targets keep identities in 32 bits
_KINDS: tuple[tuple[type[DataType], Kind], ...] = (
    (BooleanType, Kind.BOOLEAN),
    (ByteType, Kind.INT16),
    (ShortType, Kind.INT16),
    (IntegerType, Kind.INT32),
    (LongType, Kind.INT64),
    (FloatType, Kind.FLOAT32),
    (DoubleType, Kind.FLOAT64),
    (StringType, Kind.STRING),
    (BinaryType, Kind.BYTES),
    (DateType, Kind.DATE),
    (TimestampNTZType, Kind.TIMESTAMP_MICROS),
    (TimestampType, Kind.INSTANT_MICROS),
)


def table_schema_of(
    table: TableId,
    fields: Sequence[StructField],
    key: Sequence[str],
    held: Sequence[PlannedColumn] | None,
) -> TableSchema:
    """Return the shape; a known column keeps its identity, a new one gets it from its name."""
    if any("${" in field.name for field in fields):
        raise NAME_REFUSED(table=table)
    there = {column.source: column for column in held or () if column.identity != ROW}
    types = {name: column.type for name, column in there.items()}
    types |= {field.name: column_type(field.name, field.dataType) for field in fields}
    identities = {name: column.identity for name, column in there.items()}
    for name in types:
        if name not in identities:
            identities[name] = _identity(name, identities.values())
    columns = [
        Column(name, identities[name], its_type, nullable=name not in key) for name, its_type in types.items()
    ]
    return TableSchema(table, tuple(columns), tuple(key), KeyKind.PRIMARY)


def _identity(name: str, used: Collection[int]) -> int:
    """Return the number of a name, or the next one that is free; no column of a source has 0."""
    number = 1 + int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) % _MOST
    while number in used:
        number += 1
    return number


def column_type(column: str, found: DataType) -> ColumnType:
    """Return a field's type; `column` is what an error names."""
    name = found.simpleString()
    if isinstance(found, DecimalType):
        return ColumnType(Kind.DECIMAL, name, precision=found.precision, scale=found.scale)
    if isinstance(found, ArrayType) and not isinstance(found.elementType, ArrayType):
        return ColumnType(Kind.ARRAY, name, element=column_type(column, found.elementType))
    for its_type, kind in _KINDS:
        if isinstance(found, its_type):
            return ColumnType(kind, name)
    raise NO_TYPE(column=column, found=name)
