"""What a reader should see of a table: a frame, for not every catalogue of Spark's has views.

In: a table as it is kept.  Out: its rows without tombstones, incomplete rows and our columns; of a history
its whole versions with when they began and ended, of an append table every event with what it was.

A table without a key holds what came as rows that live and what went as tombstones with their values; a
content is shown as often as it came more than it went.  Contents are compared exactly: Spark groups -0.0
with 0.0, so a float is told by its text.

    keyless   shop=x  shop=x  gone: shop=x   ->   shop=x
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType

from wrackline.consumers.merge_sql import quoted
from wrackline.consumers.plan import END, ROW, START, Mode, OurColumns
from wrackline.consumers.spark_columns import identity_of


def live_rows(rows: DataFrame, ours: OurColumns, mode: Mode = Mode.UPSERT) -> DataFrame:
    """Return a table as a reader should see it."""
    names = [*map(quoted, _columns(rows, ours))]
    if mode is Mode.HISTORY:
        shown = rows.where(F.col(quoted(ours.start)).isNotNull() & _whole(rows, ours))
        names = [name for name in names if name not in (quoted(START), quoted(END))]
        return shown.select(*names, START, END, quoted(ours.commit_ts))
    if mode is Mode.APPEND:
        of_ours = (quoted(name) for name in (ours.op, ours.seq, ours.commit_ts))
        return rows.select(*names, *of_ours, _named(rows, ours.missing).alias(ours.missing))
    if keyless(rows):
        return _copies(rows, ours)
    alive = rows.where(~F.col(quoted(ours.deleted)) & _whole(rows, ours))
    return alive.select(*names)


def incomplete(rows: DataFrame, ours: OurColumns, mode: Mode) -> int | None:
    """Count rows, or versions, that no reader sees; an append table shows events with what they lack."""
    if mode is Mode.APPEND:
        return None
    hidden = F.col(quoted(ours.start)).isNull() if mode is Mode.HISTORY else F.col(quoted(ours.deleted))
    return rows.where(~hidden & ~_whole(rows, ours)).count()


def keyless(rows: DataFrame) -> bool:
    """Whether the table has a key of our own."""
    return any(identity_of(field) == ROW for field in rows.schema.fields)


def pairs(rows: DataFrame, ours: OurColumns, before_ms: int) -> DataFrame:
    """Return the keys of what came and went, both committed before a moment: readers see none of it."""
    old = rows.where(F.col(quoted(ours.commit_ts)) < F.timestamp_millis(F.lit(before_ms)))
    deleted = F.col(quoted(ours.deleted))
    content = _content(rows, ours)
    of_content, of_side = Window.partitionBy(*content), Window.partitionBy(*content, deleted)
    gone = F.count_if(deleted).over(of_content)
    ranked = old.select(
        quoted(ours.row),
        F.row_number().over(of_side.orderBy(quoted(ours.seq), quoted(ours.row))).alias("at"),
        F.least(gone, F.count(F.lit(1)).over(of_content) - gone).alias("pairs"),
    )
    return ranked.where("at <= pairs").select(quoted(ours.row))


def _copies(rows: DataFrame, ours: OurColumns) -> DataFrame:
    names = [quoted(name) for name in _columns(rows, ours)]
    counted = rows.groupBy(*_content(rows, ours)).agg(
        F.first(F.struct(*names)).alias("row"),
        F.sum(F.when(F.col(quoted(ours.deleted)), -1).otherwise(1)).cast("int").alias("copies"),
    )
    return counted.where("copies > 0").select(F.explode(F.expr("array_repeat(row, copies)"))).select("col.*")


def _whole(rows: DataFrame, ours: OurColumns) -> Column:
    """Whether somebody has each value; a column that is no more lacks none."""
    there = [identity for field in rows.schema.fields if (identity := identity_of(field)) is not None]
    missing = F.col(quoted(ours.missing))
    return missing.isNull() | ~F.arrays_overlap(missing, F.array(*map(F.lit, there)))


def _named(rows: DataFrame, missing: str) -> Column:
    """Return columns that are told by identity by their names now."""
    told = [(identity_of(field), field.name) for field in rows.schema.fields]
    parts = [F.lit(part) for identity, name in told if identity is not None for part in (identity, name)]
    named = F.transform(quoted(missing), lambda identity: F.try_element_at(F.create_map(*parts), identity))
    return F.array_compact(named)


def _columns(rows: DataFrame, ours: OurColumns) -> list[str]:
    own = {ours.seq, ours.op, ours.deleted, ours.missing, ours.commit_ts, ours.row, ours.unsent}
    own |= {ours.start, ours.end} if ours.sequence else set()
    return [name for name in rows.columns if name not in own]


def _content(rows: DataFrame, ours: OurColumns) -> list[Column]:
    """Return what tells one content from another."""
    return [
        _exact(F.col(quoted(name)), rows.schema[name].dataType).alias(f"content_{at}")
        for at, name in enumerate(_columns(rows, ours))
    ]


def _exact(value: Column, its_type: DataType) -> Column:
    if isinstance(its_type, FloatType | DoubleType):
        return value.cast("string")
    if isinstance(its_type, ArrayType) and isinstance(its_type.elementType, FloatType | DoubleType):
        return value.cast("array<string>")
    return value
