"""A frame as primitives, made by Spark's own expressions: what a stage holds, in the stage's order.

In: the frame of dedupe.py, and the stage's columns.  Out: a frame of booleans, longs, doubles, bytes, texts.

    key      a hash of the key's texts, which stays when a column is renamed or an integer gets wider
    value    its plain form (spark/plain_values.py); a decimal as its text
    list     ,3,7, by identity; null, if it is empty

The query fails at a value that the target can't hold, before anything is loaded, and says which column it is.

No expression asks for the session's time zone.  -0.0 and 0.0 are one key, as they are to dedupe.py.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.limits import LimitBreach, breach_text
from wrackline.consumers.contract.plan import ROW, MergePlan, TableMode
from wrackline.consumers.spark.plain_values import JSON, breaches, bytes_of_row, plain_value
from wrackline.consumers.staged.dialect import Primitive
from wrackline.consumers.staged.merge import StageColumn
from wrackline.schemas.tables.types import ColumnType, Kind

_SPARK = {
    Primitive.BOOLEAN: "boolean",
    Primitive.BIGINT: "bigint",
    Primitive.DOUBLE: "double",
    Primitive.BYTES: "binary",
    Primitive.TEXT: "string",
}
_FLOATS = frozenset({Kind.FLOAT32, Kind.FLOAT64})
_EXACT = frozenset({Kind.DECIMAL, Kind.UINT64})


def primitives(frame: DataFrame, plan: MergePlan, columns: Sequence[StageColumn]) -> DataFrame:
    """Return the stage's columns."""
    row = F.col("row")
    made = {
        "k": row.getField(plan.ours.row) if plan.only_adds else _key(row, plan),
        "seq": F.col("seq"),
        "op": F.col("op"),
        "commit_us": F.unix_micros("commit_ts"),
        "deleted": F.col("deleted"),
        "unsent": _identities("unsent", plan),
        "missing": _identities("missing", plan),
    }
    if plan.mode is TableMode.HISTORY:
        made["e"] = row.getField(plan.ours.row)
    for at, column in enumerate(plan.columns):
        made[f"c{at}"] = plain_value(row.getField(column.target), column.type)
        if plan.told_late:
            made[f"w{at}"] = F.col("known_at").getItem(at)
    plain = frame.select(*(made[one.name].cast(_SPARK[one.of]).alias(one.name) for one in columns))
    if not any(one.limit for one in columns):
        return plain
    texts = [F.col(one.name) for one in columns if one.of in (Primitive.BYTES, Primitive.TEXT)]
    return plain.select(*(_held(one, texts).alias(one.name) for one in columns))


def _held(column: StageColumn, texts: Sequence[Column]) -> Column:
    """Return a column's values; the query fails with the breach of one, or of a row, that can't be held."""
    value = F.col(column.name)
    if column.limit is None:
        return value
    for breach, condition in breaches(F.col(column.name), column.limit):
        fails = F.raise_error(F.lit(breach_text(column.name, breach)))
        value = F.when(condition, fails).otherwise(value)
    if column.limit.most_row_bytes is not None:
        fails = F.raise_error(F.lit(breach_text(column.name, LimitBreach.ROW)))
        value = F.when(bytes_of_row(texts) > column.limit.most_row_bytes, fails).otherwise(value)
    return value


def _key(row: Column, plan: MergePlan) -> Column:
    types = {column.target: column.type for column in plan.columns if column.identity != ROW}
    texts = [_key_text(row.getField(name), types[name]) for name in plan.key if name in types]
    return F.sha2(F.to_json(F.array(*texts), JSON), 256)


def _key_text(value: Column, of: ColumnType) -> Column:
    """Write a value so that it has one form, whatever the digits of its column."""
    if of.kind in _FLOATS:  # by their bits: as a number Java 17 and 21 write some of them differently
        bits = F.format_string("%a", value.cast("double") + F.lit(0.0))
        return F.when(value.isNotNull(), bits)
    if of.kind in _EXACT and of.scale:
        return F.regexp_replace(value.cast("string"), r"\.?0+$", "")
    made = plain_value(value, of)
    return F.hex(made) if of.kind in (Kind.BYTES, Kind.BITS) else made.cast("string")


def _identities(name: str, plan: MergePlan) -> Column:
    """List columns by identity, so that a rename touches no row."""
    pairs = (F.lit(part) for column in plan.columns for part in (column.target, str(column.identity)))
    known = F.create_map(*pairs)
    listed = F.array_join(F.transform(name, lambda one: known[one]), ",")
    return F.when(F.size(name) > 0, F.concat(F.lit(","), listed, F.lit(",")))
