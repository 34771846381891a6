"""Values as Avro has them, without logical types, to Arrow columns of the types that Iceberg wants: pure.

In: the values of one column, and its type.  Out: an Arrow array; or an error of `UNFIT`, where a value is
none of the type, or only Spark's cast knows what becomes of it.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa
from pyarrow import compute

from wrackline.schemas.tables.types import ColumnType, Kind, digits

UNFIT: Final = (pa.ArrowException, OverflowError, TypeError, ValueError)
_UTC: Final = pa.timestamp("us", "UTC")
_ZONED: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII)
_WIDTH: Final = 16  # bytes of a decimal

_PLAIN: Final = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT16: pa.int32(),
    Kind.INT32: pa.int32(),
    Kind.INT64: pa.int64(),
    Kind.FLOAT32: pa.float32(),
    Kind.FLOAT64: pa.float64(),
    Kind.NUMERIC_TEXT: pa.string(),
    Kind.STRING: pa.string(),
    Kind.BYTES: pa.binary(),
    Kind.BITS: pa.binary(),
    Kind.TIME_MICROS: pa.int64(),
    Kind.ZONED_TIME: pa.string(),
    Kind.DURATION_MICROS: pa.int64(),
    Kind.INTERVAL: pa.string(),
    Kind.YEAR: pa.int32(),
    Kind.UUID: pa.string(),
    Kind.JSON: pa.string(),
    Kind.XML: pa.string(),
    Kind.ENUM: pa.string(),
    Kind.ENUM_SET: pa.string(),
    Kind.TEXT_OF: pa.string(),
}
_FLOATS: Final = frozenset({Kind.FLOAT32, Kind.FLOAT64})
_NUMBERED: Final = {  # read as numbers, and only named otherwise
    Kind.DATE: (pa.int32(), pa.date32()),
    Kind.TIMESTAMP_MICROS: (pa.int64(), pa.timestamp("us")),
    Kind.INSTANT_MICROS: (pa.int64(), _UTC),
}


def arrow_column(values: Sequence[Any], its: ColumnType) -> pa.Array:
    """Return the column of these values."""
    if its.kind in _FLOATS and any(value != value for value in values):  # noqa: PLR0124 - NaN alone is not itself
        raise ValueError("NaN, which Iceberg wants to be counted")
    if its.kind in _PLAIN:
        return pa.array(values, _PLAIN[its.kind])
    if its.kind in _NUMBERED:
        number, named = _NUMBERED[its.kind]
        return pa.array(values, number).view(named)
    return _OTHERS[its.kind](values, its)


def _decimals(values: Sequence[bytes | None], its: ColumnType) -> pa.Array:
    precision, scale = (20, 0) if its.kind is Kind.UINT64 else digits(its.precision, its.scale)
    most = 10**precision
    filled = bytearray()
    for value in values:
        number = 0 if value is None else int.from_bytes(value, "big", signed=True)
        if not -most < number < most or value == b"":
            raise ValueError("a decimal of too many digits")
        filled += number.to_bytes(_WIDTH, "little", signed=True)
    valid = None if None not in values else pa.array([value is not None for value in values]).buffers()[1]
    buffers = [valid, pa.py_buffer(bytes(filled))]
    return pa.Array.from_buffers(pa.decimal128(precision, scale), len(values), buffers)


def _zoned_timestamps(values: Sequence[str | None], _: ColumnType) -> pa.Array:
    for value in values:
        if value is not None and _ZONED.fullmatch(value) is None:
            raise ValueError("a timestamp of another form")
    return compute.cast(pa.array(values, pa.string()), _UTC)


def _arrays(values: Sequence[list[Any] | None], its: ColumnType) -> pa.Array:
    if its.element is None:
        raise TypeError(its)
    elements = [element for value in values if value is not None for element in value]
    ends, end = [0], 0
    for value in values:
        end += 0 if value is None else len(value)
        ends.append(end)
    column = arrow_column(elements, its.element)
    item = pa.field("element", column.type)
    mask = pa.array([value is None for value in values], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), column, type=pa.list_(item), mask=mask)


_OTHERS: Final[dict[Kind, Callable[[Sequence[Any], ColumnType], pa.Array]]] = {
    Kind.UINT64: _decimals,
    Kind.DECIMAL: _decimals,
    Kind.ZONED_TIMESTAMP: _zoned_timestamps,
    Kind.ARRAY: _arrays,
}
