"""A value as `from_avro` gives it, in the type of its table's column.

Spark's cast does it, except for an infinite timestamp with zone, which is text: that gets the number that
carries it where timestamps are numbers from the start.
"""

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.schemas.tables.infinity import FIRST, FIRST_MICROS, LAST, LAST_MICROS
from wrackline.schemas.tables.types import ColumnType, Kind, spark_type

_Cast = Callable[[Column, str], Column]


def cast(value: Column, of: ColumnType) -> Column:
    """Return the value in that type; the query fails where it does not fit."""
    return _cast_with(value, of, lambda given, wanted: given.cast(wanted))


def try_cast(value: Column, of: ColumnType) -> Column:
    """Return the value in that type, or null where it does not fit."""
    return _cast_with(value, of, lambda given, wanted: given.try_cast(wanted))


def _cast_with(value: Column, of: ColumnType, how: _Cast) -> Column:
    if of.element is not None and of.element.kind is Kind.ZONED_TIMESTAMP:
        its_element = of.element
        return F.transform(how(value, "array<string>"), lambda item: _cast_with(item, its_element, how))
    made = how(value, spark_type(of))
    if of.kind is not Kind.ZONED_TIMESTAMP:
        return made
    text = value.cast("string")
    infinite = F.when(text == LAST, F.lit(LAST_MICROS)).when(text == FIRST, F.lit(FIRST_MICROS))
    return F.when(text.isin(LAST, FIRST), F.timestamp_micros(infinite)).otherwise(made)
