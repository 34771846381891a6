"""The type table: what each kind of value is in Avro, Kafka Connect, Spark, Iceberg and Delta.

A source's `types` module maps each of its database's types to a kind; everything after that (codec, envelope,
targets) knows only kinds.  Printed to docs/types.md.

Two readers determine the table: Kafka Connect's Avro converter, which refuses any name but Kafka's own beside
`date` and `decimal`, and Spark's `from_avro`, which refuses more than 38 digits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

MOST_DIGITS = 38  # a decimal's, in Spark, Iceberg and Delta; a wider number travels as its text


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


@dataclass(frozen=True, slots=True)
class Form:
    """A row of the table: one kind, everywhere; {precision}, {scale}, {element} come from the column."""

    avro: str
    connect_name: str | None  # Kafka Connect's semantic name, always version 1
    value: str  # what the Avro value says, in a few words
    read_as: str  # what Spark's from_avro makes of it
    spark: str  # the column's type in a table that Spark writes; cast from read_as
    iceberg: str
    delta: str
    logical_type: str | None = None
    connect_type: str | None = None  # for Connect's narrow integers


def _plain(avro: str, connect_name: str | None, value: str, spark: str = "", iceberg: str = "") -> Form:
    """Make a row for a kind that is the same Spark type everywhere: Avro's own unless given."""
    spark = spark or {"bytes": "binary", "long": "bigint"}.get(avro, avro)
    return Form(avro, connect_name, value, spark, spark, iceberg or _IN_ICEBERG.get(spark, spark), spark)


_IN_ICEBERG = {"bigint": "long"}

FORMS: Mapping[Kind, Form] = MappingProxyType(
    {
        Kind.BOOLEAN: _plain("boolean", None, "true or false"),
        Kind.INT16: Form("int", None, "the number", "int", "int", "int", "int", connect_type="int16"),
        Kind.INT32: _plain("int", None, "the number"),
        Kind.INT64: _plain("long", None, "the number"),
        Kind.UINT64: Form(
            "bytes",
            "org.apache.kafka.connect.data.Decimal",
            "the number, as a decimal of 20 digits",
            *("decimal(20,0)",) * 4,
            logical_type="decimal",
        ),
        Kind.FLOAT32: _plain("float", None, "the number, including NaN and infinities"),
        Kind.FLOAT64: _plain("double", None, "the number, including NaN and infinities"),
        Kind.DECIMAL: Form(
            "bytes",
            "org.apache.kafka.connect.data.Decimal",
            "the unscaled number, big-endian two's complement",
            *("decimal({precision},{scale})",) * 4,
            logical_type="decimal",
        ),
        Kind.NUMERIC_TEXT: _plain("string", None, "the server's text: exact, including NaN and infinities"),
        Kind.STRING: _plain("string", None, "the text"),
        Kind.BYTES: _plain("bytes", None, "the bytes"),
        Kind.BITS: _plain("bytes", "io.debezium.data.Bits", "the bits as a number, little-endian bytes"),
        Kind.DATE: Form(
            "int",
            "org.apache.kafka.connect.data.Date",
            "days since 1970-01-01",
            *("date",) * 4,
            logical_type="date",
        ),
        Kind.TIME_MICROS: _plain(  # no logical type: 24:00:00 is a time here, and no time-micros
            "long", "io.debezium.time.MicroTime", "microseconds since midnight, including 24:00:00"
        ),
        Kind.TIMESTAMP_MICROS: Form(
            "long",
            "io.debezium.time.MicroTimestamp",
            "microseconds since 1970-01-01 00:00, no zone",
            *("timestamp_ntz", "timestamp_ntz", "timestamp", "timestamp_ntz"),
            logical_type="local-timestamp-micros",
        ),
        Kind.ZONED_TIMESTAMP: Form(
            "string",
            "io.debezium.time.ZonedTimestamp",
            "2026-01-02T03:04:05.123456Z, always UTC",
            *("string", "timestamp", "timestamptz", "timestamp"),
        ),
        Kind.INSTANT_MICROS: Form(
            "long",
            "io.debezium.time.MicroTimestamp",
            "microseconds since 1970-01-01T00:00Z",
            *("timestamp", "timestamp", "timestamptz", "timestamp"),
            logical_type="timestamp-micros",
        ),
        Kind.ZONED_TIME: _plain("string", "io.debezium.time.ZonedTime", "03:04:05.123456+02:00"),
        Kind.DURATION_MICROS: _plain(
            "long", "io.debezium.time.MicroTime", "microseconds, also negative or beyond a day"
        ),
        Kind.INTERVAL: _plain("string", "io.debezium.time.Interval", "ISO 8601: P1Y2M3DT4H5M6.7S"),
        Kind.YEAR: _plain("int", "io.debezium.time.Year", "the year"),
        Kind.UUID: _plain("string", "io.debezium.data.Uuid", "lower case, with dashes"),
        Kind.JSON: _plain("string", "io.debezium.data.Json", "the server's text"),
        Kind.XML: _plain("string", "io.debezium.data.Xml", "the server's text"),
        Kind.ENUM: _plain("string", "io.debezium.data.Enum", "the label"),
        Kind.ENUM_SET: _plain("string", "io.debezium.data.EnumSet", "the labels, joined by commas"),
        Kind.TEXT_OF: _plain("string", None, "the server's text"),
        Kind.ARRAY: Form(
            "array",
            None,
            "the elements of one dimension, including null",
            *("array<{element}>", "array<{element}>", "list<{element}>", "array<{element}>"),
        ),
    }
)


def exact_number(source: str, precision: int | None, scale: int) -> ColumnType:
    """Return how an exact number is sent: as a decimal of up to 38 digits, else as its text.

    A negative scale, or one larger than the precision, is widened to what Avro allows.
    """
    if precision is None:
        return ColumnType(Kind.NUMERIC_TEXT, source)
    digits = precision - scale if scale < 0 else max(precision, scale)
    if digits > MOST_DIGITS:
        return ColumnType(Kind.NUMERIC_TEXT, source)
    return ColumnType(Kind.DECIMAL, source, precision=digits, scale=max(scale, 0))


def digits(precision: object, scale: object) -> tuple[int, int]:
    """Return a decimal's precision and scale as another program wrote them, or raise ValueError."""
    if type(precision) is not int or type(scale) is not int:  # no bool, which is an int to isinstance
        raise ValueError("a decimal's digits are not numbers")
    if not (1 <= precision <= MOST_DIGITS and 0 <= scale <= precision):
        raise ValueError("a decimal's digits are out of range")
    return precision, scale


def spark_type(column_type: ColumnType) -> str:
    """Return the Spark SQL type that a table's column has."""
    element = spark_type(column_type.element) if column_type.element else None
    return _fill(FORMS[column_type.kind].spark, column_type, element)


def read_type(column_type: ColumnType) -> str:
    """Return the Spark SQL type that `from_avro` returns; a table's column is cast from it."""
    element = read_type(column_type.element) if column_type.element else None
    return _fill(FORMS[column_type.kind].read_as, column_type, element)


def iceberg_type(column_type: ColumnType) -> str:
    """Return the type that a column has in an Iceberg table."""
    element = iceberg_type(column_type.element) if column_type.element else None
    return _fill(FORMS[column_type.kind].iceberg, column_type, element)


def delta_type(column_type: ColumnType) -> str:
    """Return the type that a column has in a Delta table."""
    element = delta_type(column_type.element) if column_type.element else None
    return _fill(FORMS[column_type.kind].delta, column_type, element)


def _fill(form: str, column_type: ColumnType, element: str | None) -> str:
    return form.format(precision=column_type.precision, scale=column_type.scale, element=element)
