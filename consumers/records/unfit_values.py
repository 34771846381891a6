"""Records with a text that the target can't hold because of a character in it: frame in, frame out.

In: a batch's records with their writers, its plan, and the characters.  Out: the same as decode.py's
`unreadable_records`.  Only what the plan would write is looked at.
"""

from collections.abc import Iterator
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.plan import MergePlan, PlannedColumn
from wrackline.consumers.contract.target import CHARACTER_REFUSED
from wrackline.consumers.records.decode import WriterSchemas, old_side
from wrackline.consumers.records.wire import is_of_pair, parse_avro, reader_schema, with_heads
from wrackline.consumers.records.writer_schema import WriterSchema
from wrackline.schemas.tables.types import ColumnType, spark_type


def find_unsupported_text(
    records: DataFrame, writers: WriterSchemas, plan: MergePlan, characters: str
) -> DataFrame:
    """Return the records that hold such a character: partition, offset, code, reason, key, value."""
    parts = [_of_writer(records, pair, writer, plan, characters) for pair, writer in writers.items()]
    return reduce(DataFrame.union, parts)


def _of_writer(
    records: DataFrame, pair: tuple[int | None, int], writer: WriterSchema, plan: MergePlan, characters: str
) -> DataFrame:
    sides = ("after", *old_side(plan))
    key = parse_avro("key", writer.key_text, strict=False)
    value = parse_avro("value", writer.value_text, reader_schema(writer.value_text, sides), strict=False)
    found = with_heads(records).where(is_of_pair(*pair)).select("*", key.alias("k"), value.alias("e"))
    reason = F.lit(None).cast("string")
    for column in plan.columns:
        for image in _images(column, writer, sides):
            holds = [_contains(image, column.type, one) for one in characters]
            says = F.lit(f"a text of column {column.source!r} holds a character that the target has not")
            reason = F.coalesce(reason, F.when(reduce(Column.__or__, holds), says))
    told_as = (F.lit(CHARACTER_REFUSED.code).alias("code"), reason.alias("reason"))
    letters = found.select("partition", "offset", *told_as, "key", "value")
    return letters.where(F.col("reason").isNotNull())


def _images(column: PlannedColumn, writer: WriterSchema, sides: tuple[str, ...]) -> Iterator[Column]:
    if "string" not in spark_type(column.type):
        return
    if column.identity in writer.key_fields:
        yield F.col("k").getField(writer.key_fields[column.identity])
    if column.identity in writer.fields:
        yield from (F.col("e").getField(side).getField(writer.fields[column.identity]) for side in sides)


def _contains(value: Column, of: ColumnType, character: str) -> Column:
    """Whether a text, or one within an array, has the character."""
    if of.element is None:
        return F.contains(value.cast("string"), F.lit(character))
    element = of.element
    return F.exists(value, lambda item: _contains(item, element, character))
