"""The type table: what each kind of value is in Avro, Kafka Connect, Spark, Iceberg and Delta.

A source's `types` module says which kind each of its database's types is; everything after
that (codec, envelope, targets) knows kinds only.  Printed to docs/types.md.
"""

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """A kind of value; the name is ours, the row in the table below says what it is elsewhere."""

    BOOLEAN = "boolean"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT64 = "uint64"  # decimal(20,0)
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    DECIMAL = "decimal"  # precision and scale known, at most 38 digits
    NUMERIC_TEXT = "numeric-text"  # wider than 38 digits or without precision: its exact text
    STRING = "string"
    BYTES = "bytes"
    BITS = "bits"  # little-endian bytes, Debezium's Bits
    DATE = "date"  # days since 1970-01-01
    TIME_MICROS = "time-micros"  # microseconds since midnight
    TIMESTAMP_MICROS = "timestamp-micros"  # without zone, as if it were UTC
    ZONED_TIMESTAMP = "zoned-timestamp"  # ISO text in UTC with Z
    INSTANT_MICROS = "instant-micros"  # with zone, by setting: microseconds since 1970-01-01T00:00Z
    ZONED_TIME = "zoned-time"
    DURATION_MICROS = "duration-micros"  # MySQL TIME: beyond a day, and negative
    INTERVAL = "interval"  # text
    YEAR = "year"
    UUID = "uuid"
    JSON = "json"
    XML = "xml"
    ENUM = "enum"
    ENUM_SET = "enum-set"
    TEXT_OF = "text-of"  # a type carried as the server's own text (inet, range, composite, vector, …)
    ARRAY = "array"


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column's type: its kind, and what the kind needs to be exact."""

    kind: Kind
    source: str  # as the server writes it: "numeric(10,2)"; goes to the Avro field as wrackline.type
    precision: int | None = None  # DECIMAL
    scale: int | None = None  # DECIMAL
    length: int | None = None  # BITS: how many
    labels: tuple[str, ...] = ()  # ENUM, ENUM_SET
    element: "ColumnType | None" = None  # ARRAY
