"""A frame as primitives, made by Spark's own expressions: what a stage holds, in the stage's order.

In: the frame of dedupe.py, and the stage's columns.  Out: a frame of booleans, longs, doubles, bytes, texts.

    key      a hash of the key's texts, which stays when a column is renamed or an integer gets wider
    value    by kind; a decimal as its text, a moment as microseconds, an array as JSON
    list     ,3,7, by identity; null, if it is empty

No expression asks for the session's time zone.  -0.0 and 0.0 are one key, as they are to dedupe.py.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.plan import ROW, MergePlan, TableMode
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
_JSON = {"ignoreNullFields": "false", "timeZone": "UTC"}
_DAY, _HOUR, _MINUTE = 86_400_000_000, 3_600_000_000, 60_000_000
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
        made[f"c{at}"] = _value(row.getField(column.target), column.type)
        if plan.told_late:
            made[f"w{at}"] = F.col("known_at").getItem(at)
    return frame.select(*(made[one.name].cast(_SPARK[one.of]).alias(one.name) for one in columns))


def _key(row: Column, plan: MergePlan) -> Column:
    types = {column.target: column.type for column in plan.columns if column.identity != ROW}
    texts = [_key_text(row.getField(name), types[name]) for name in plan.key if name in types]
    return F.sha2(F.to_json(F.array(*texts), _JSON), 256)


def _key_text(value: Column, of: ColumnType) -> Column:
    """Write a value so that it has one form, whatever the digits of its column."""
    if of.kind in _FLOATS:
        return (value.cast("double") + F.lit(0.0)).cast("string")
    if of.kind in _EXACT and of.scale:
        short = F.regexp_replace(value.cast("string"), r"\.?0+(E|$)", "$1")
        return F.when(value == 0, "0").otherwise(short)
    made = _value(value, of)
    return F.hex(made) if of.kind in (Kind.BYTES, Kind.BITS) else made.cast("string")


def _value(value: Column, of: ColumnType) -> Column:
    return _WRITTEN.get(of.kind, _plain)(value)


def _plain(value: Column) -> Column:
    return value


def _moment(value: Column) -> Column:
    """Count from a timestamp without zone; its fields ask for none."""
    seconds = (F.date_part(F.lit("SECOND"), value) * F.lit(1_000_000)).cast("bigint")
    fields = ((F.unix_date(value.cast("date")), _DAY), (F.hour(value), _HOUR), (F.minute(value), _MINUTE))
    return reduce(Column.__add__, (field.cast("bigint") * F.lit(by) for field, by in fields), seconds)


def _json(value: Column) -> Column:
    return F.to_json(value, _JSON)


def _identities(name: str, plan: MergePlan) -> Column:
    """List columns by identity, so that a rename touches no row."""
    pairs = (F.lit(part) for column in plan.columns for part in (column.target, str(column.identity)))
    known = F.create_map(*pairs)
    listed = F.array_join(F.transform(name, lambda one: known[one]), ",")
    return F.when(F.size(name) > 0, F.concat(F.lit(","), listed, F.lit(",")))


_WRITTEN: Mapping[Kind, Callable[[Column], Column]] = {  # the others as they are
    Kind.DATE: F.unix_date,
    Kind.TIMESTAMP_MICROS: _moment,
    Kind.ZONED_TIMESTAMP: F.unix_micros,
    Kind.INSTANT_MICROS: F.unix_micros,
    Kind.ARRAY: _json,
}
