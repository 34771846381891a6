"""Values as Avro has them to Arrow columns of the types that Iceberg wants: pure.

In: the values of one column, and its type.  Out: an Arrow array; or an error of `UNFIT`, where a value is
none of the type, or only Spark's cast knows what becomes of it.
"""

from typing import Final

import pyarrow as pa
from pyarrow import compute

from wrackline.schemas.tables.types import ColumnType, Kind, digits

UNFIT: Final = (pa.ArrowException, OverflowError, TypeError, ValueError)
_UTC: Final = pa.timestamp("us", "UTC")
_ZONED: Final = r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z\z"

_TYPES: Final = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT16: pa.int32(),
    Kind.INT32: pa.int32(),
    Kind.INT64: pa.int64(),
    Kind.UINT64: pa.decimal128(20, 0),
    Kind.FLOAT32: pa.float32(),
    Kind.FLOAT64: pa.float64(),
    Kind.BYTES: pa.binary(),
    Kind.BITS: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.TIME_MICROS: pa.int64(),
    Kind.TIMESTAMP_MICROS: pa.timestamp("us"),
    Kind.INSTANT_MICROS: _UTC,
    Kind.DURATION_MICROS: pa.int64(),
    Kind.YEAR: pa.int32(),
}  # every other kind is a text


def arrow_column(values: pa.Array, its: ColumnType) -> pa.Array:
    """Return the column of these values."""
    if pa.types.is_null(values.type):
        return values.cast(arrow_type(its))
    if its.kind is Kind.ARRAY:
        return _array_column(values, its)
    if its.kind is Kind.ZONED_TIMESTAMP:
        return _zoned_timestamps(values)
    if values.type != arrow_type(its):
        raise TypeError(values.type)
    refuse_nan(values)
    return values


def refuse_nan(values: pa.Array) -> None:
    """Raise where a value is NaN: Iceberg wants them to be counted, and Parquet's statistics do not."""
    if pa.types.is_floating(values.type) and compute.any(compute.is_nan(values)).as_py():
        raise ValueError("NaN")


def arrow_type(its: ColumnType) -> pa.DataType:
    """Return the type that Iceberg wants, which is mostly what Avro has too."""
    if its.kind is Kind.DECIMAL:
        return pa.decimal128(*digits(its.precision, its.scale))
    if its.kind is Kind.ZONED_TIMESTAMP:
        return _UTC
    if its.kind is Kind.ARRAY and its.element is not None:
        return pa.list_(pa.field("element", arrow_type(its.element)))
    return _TYPES.get(its.kind, pa.string())


def _zoned_timestamps(values: pa.Array) -> pa.Array:
    if compute.all(compute.match_substring_regex(values, _ZONED)).as_py() is False:
        raise ValueError("a timestamp of another form")
    return compute.cast(values, _UTC)


def _array_column(values: pa.Array, its: ColumnType) -> pa.Array:
    if its.element is None:
        raise TypeError(its)
    elements = arrow_column(values.values, its.element)
    made = pa.list_(pa.field("element", elements.type))
    valid = values.buffers()[0] if values.null_count else None
    return pa.Array.from_buffers(
        made, len(values), [valid, values.buffers()[1]], offset=values.offset, children=[elements]
    )
