"""Records with a value that the target can't hold: frame in, frame out.

In: a batch's records with their writers, its plan, and what the target holds no value of.  Out: the same as
decode.py's `unreadable_records`.  Only what the plan would write is looked at.
"""

from collections.abc import Iterator
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.limits import Limit, LimitBreach
from wrackline.consumers.contract.plan import MergePlan, PlannedColumn
from wrackline.consumers.contract.target import CHARACTER_REFUSED, ROW_REFUSED, VALUE_REFUSED, Capabilities
from wrackline.consumers.records.decode import WriterSchemas, old_side
from wrackline.consumers.records.wire import is_of_pair, parse_avro, reader_schema, with_heads
from wrackline.consumers.records.writer_schema import WriterSchema
from wrackline.consumers.spark.casts import try_cast
from wrackline.consumers.spark.plain_values import breaches, bytes_of_row, plain_value
from wrackline.schemas.tables.types import ColumnType, spark_type


def find_unfit_values(
    records: DataFrame, writers: WriterSchemas, plan: MergePlan, can: Capabilities
) -> DataFrame | None:
    """Return the records that hold such a value: partition, offset, code, reason, key, value.

    None: the target holds every value.
    """
    if not can.unheld and not can.limits and can.row_bytes is None:
        return None
    parts = [_of_writer(records, pair, writer, plan, can) for pair, writer in writers.items()]
    return reduce(DataFrame.union, parts)


def _of_writer(
    records: DataFrame, pair: tuple[int | None, int], writer: WriterSchema, plan: MergePlan, can: Capabilities
) -> DataFrame:
    sides = ("after", *old_side(plan))
    key = parse_avro("key", writer.key_text, strict=False)
    value = parse_avro("value", writer.value_text, reader_schema(writer.value_text, sides), strict=False)
    found = with_heads(records).where(is_of_pair(*pair)).select("*", key.alias("k"), value.alias("e"))
    unfit = F.lit(None).cast("struct<code: string, reason: string>")
    for column in plan.columns:
        for image in _images(column, writer, sides):
            for code, condition, says in _faults(image, column, can):
                fault = F.struct(F.lit(code).alias("code"), F.lit(says).alias("reason"))
                unfit = F.coalesce(unfit, F.when(condition, fault))
    for condition in _long_rows(plan, writer, sides, can):
        says = Limit(most_row_bytes=can.row_bytes).words(LimitBreach.ROW)
        fault = F.struct(F.lit(ROW_REFUSED.code).alias("code"), F.lit(f"the row is {says}").alias("reason"))
        unfit = F.coalesce(unfit, F.when(condition, fault))
    letters = found.select("partition", "offset", unfit.alias("unfit"), "key", "value")
    letters = letters.where(F.col("unfit").isNotNull())
    return letters.select("partition", "offset", "unfit.code", "unfit.reason", "key", "value")


def _images(column: PlannedColumn, writer: WriterSchema, sides: tuple[str, ...]) -> Iterator[Column]:
    if column.identity in writer.key_fields:
        yield F.col("k").getField(writer.key_fields[column.identity])
    if column.identity in writer.fields:
        yield from (F.col("e").getField(side).getField(writer.fields[column.identity]) for side in sides)


def _faults(image: Column, column: PlannedColumn, can: Capabilities) -> Iterator[tuple[str, Column, str]]:
    """Return codes, conditions and reasons of what may be wrong with a value."""
    if can.unheld and "string" in spark_type(column.type):
        holds = [_contains(image, column.type, one) for one in can.unheld]
        says = f"a text of column {column.source!r} holds a character that the target has not"
        yield CHARACTER_REFUSED.code, reduce(Column.__or__, holds), says
    limit = can.limits.get(column.type.kind)
    if limit is None:
        return
    for breach, condition in breaches(plain_value(try_cast(image, column.type), column.type), limit):
        if breach is not LimitBreach.CHARACTER:
            says = f"a value of column {column.source!r} is {limit.words(breach)}"
            yield VALUE_REFUSED.code, condition, says


def _long_rows(
    plan: MergePlan, writer: WriterSchema, sides: tuple[str, ...], can: Capabilities
) -> Iterator[Column]:
    """Return the conditions of rows that are too long, where a row can be."""
    limits = {column.identity: can.limits.get(column.type.kind) for column in plan.columns}
    long = {identity: one.most_bytes for identity, one in limits.items() if one and one.most_bytes}
    if can.row_bytes is None or sum(long.values()) <= can.row_bytes:
        return
    for side in sides:
        row = F.col("e").getField(side)
        texts = (
            plain_value(try_cast(row.getField(writer.fields[one.identity]), one.type), one.type)
            for one in plan.columns
            if one.identity in long and one.identity in writer.fields
        )
        yield bytes_of_row(texts) > can.row_bytes


def _contains(value: Column, of: ColumnType, character: str) -> Column:
    """Whether a text, or one within an array, has the character."""
    if of.element is None:
        return F.contains(value.cast("string"), F.lit(character))
    element = of.element
    return F.exists(value, lambda item: _contains(item, element, character))
