"""A feed's columns as a table's shape.

In: the fields of a frame, which of them are the key, and the columns that the target holds.  Out: a
`TableSchema` whose columns are those of the target by name: a feed knows no identities, so a column that is
renamed there is another one.  A column that the feed no longer has stays, and its changes do not send it.
"""

from collections.abc import Sequence

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

from wrackline.consumers.plan import ROW, PlannedColumn
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.types import ColumnType, Kind

NO_TYPE = define(
    "auto_cdc.no_type",
    Definite,
    "column {column} is {found}, for which a target has no type",
    hint="write it as text: to_json({column}); or leave it out: except_column_list=['{column}']",
)

NAME_REFUSED = define(
    "auto_cdc.name_refused",
    Definite,
    "a flow into {table} has a column with ${{ in its name, which Spark may take for a variable",
    hint="give it another name in the view: .withColumnRenamed(...)",
)

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


def table_of(
    table: TableId,
    fields: Sequence[StructField],
    key: Sequence[str],
    held: Sequence[PlannedColumn] | None,
) -> TableSchema:
    """Return the shape; a column that the target has keeps its identity, another gets the next one."""
    if any("${" in field.name for field in fields):
        raise NAME_REFUSED(table=table)
    there = {column.source: column for column in held or () if column.identity != ROW}
    types = {name: column.type for name, column in there.items()}
    types |= {field.name: column_type(field.name, field.dataType) for field in fields}
    used = max((column.identity for column in there.values()), default=0)
    fresh = {name: used + at for at, name in enumerate((n for n in types if n not in there), start=1)}
    identities = {name: column.identity for name, column in there.items()} | fresh
    columns = [
        Column(name, identities[name], its_type, nullable=name not in key) for name, its_type in types.items()
    ]
    return TableSchema(table, tuple(columns), tuple(key), KeyKind.PRIMARY)


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
