"""What puts a feed in order, as a text whose order is the same.

In: a column of any type that has an order, or a struct of such.  Out: a column of text: byte by byte it
sorts as the values do, so it serves as the seq that every target compares.  A field that is null is below
all others of its place; a sequence that is null as a whole stays null, and its row is refused elsewhere.

    -3, 12            09223372036854775805, 09223372036854775820
    "b", 1            1b, and 1 with the number, one behind the other
"""

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it
from pyspark.sql.types import (
    ByteType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from wrackline.consumers.auto_cdc.feed_shape import column_type
from wrackline.consumers.contract.sequences import (
    ABSENT,
    BELOW_ALL_LONGS,
    ESCAPES,
    PARTS,
    THERE,
    FeedSequence,
)
from wrackline.schemas.errors import Definite, define

NO_ORDER = define(
    "auto_cdc.no_order",
    Definite,
    "sequence_by is {found}, which can't be put in order here",
    hint="cast it to a bigint, a decimal of at most 36 digits, a timestamp, a date or a string,"
    " or name several of them: struct('first', 'second')",
)

_LONG_DIGITS = 20
_MOST_DIGITS = 36  # one more is needed to be above zero, and Spark takes one more for a sum


def sequence_of(its_type: DataType) -> FeedSequence:
    """Return what a sequence of a frame's type is shown as; the same types as `ordered_text` takes."""
    if isinstance(its_type, StructType):
        return FeedSequence(tuple((one.name, column_type(one.name, one.dataType)) for one in its_type.fields))
    return FeedSequence((("", column_type("sequence_by", its_type)),))


def ordered_text(value: Column, its_type: DataType) -> Column:
    """Return a value's text; its type is the one that the frame says."""
    if isinstance(its_type, ByteType | ShortType | IntegerType | LongType):
        return _of_long(value)
    if isinstance(its_type, DateType):
        return _of_long(F.unix_date(value))
    if isinstance(its_type, TimestampType | TimestampNTZType):
        return _of_long(F.unix_micros(value.cast("timestamp")))
    if isinstance(its_type, DecimalType) and its_type.precision <= _MOST_DIGITS:
        return _of_decimal(value, its_type)
    if isinstance(its_type, StringType):
        return _of_text(value)
    if isinstance(its_type, StructType) and its_type.fields:
        fields = [_field(value[field.name], field.dataType) for field in its_type.fields]
        return F.when(value.isNotNull(), F.concat_ws(PARTS, *fields))
    raise NO_ORDER(found=its_type.simpleString())


def _field(value: Column, its_type: DataType) -> Column:
    if isinstance(its_type, StructType):
        raise NO_ORDER(found=f"a struct with a {its_type.simpleString()} in it")
    text = F.concat(F.lit(THERE), ordered_text(value, its_type))
    return F.coalesce(text, F.lit(ABSENT))


def _of_long(value: Column) -> Column:
    above_zero = value.cast("decimal(20,0)") + F.lit(str(BELOW_ALL_LONGS)).cast("decimal(20,0)")
    return F.lpad(above_zero.cast("string"), _LONG_DIGITS, "0")


def _of_decimal(value: Column, its_type: DecimalType) -> Column:
    whole = its_type.precision - its_type.scale
    above_zero = value + F.lit(str(10**whole)).cast(f"decimal({whole + 1},0)")
    return F.lpad(above_zero.cast("string"), its_type.precision + 2, "0")


def _of_text(value: Column) -> Column:
    for character, escaped in ESCAPES.items():
        value = F.replace(value, F.lit(character), F.lit(escaped))
    return value
