"""What a reader should see of a table: a frame, because not every catalogue of Spark's has views.

In: a table as it is kept.  Out: its rows without tombstones, incomplete rows and our columns; for a history,
its complete versions with when they began and ended; for an append table, every event with what it was.

A table without a key holds what came as rows that live and what went as tombstones with their values; a
content is shown as often as it came more than it went.  Contents are compared exactly: Spark groups -0.0
with 0.0, so a float is compared as text.

    keyless   shop=x  shop=x  gone: shop=x   ->   shop=x
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType

from wrackline.consumers.contract.plan import END, ROW, START, OurColumns, TableMode
from wrackline.consumers.lake.column_types import identity_of
from wrackline.consumers.lake.merge_sql import quote


def live_rows(rows: DataFrame, ours: OurColumns, mode: TableMode = TableMode.UPSERT) -> DataFrame:
    """Return a table as a reader should see it."""
    names = [*map(quote, _columns(rows, ours))]
    if mode is TableMode.HISTORY:
        shown = rows.where(F.col(quote(ours.start)).isNotNull() & _is_complete(rows, ours))
        names = [name for name in names if name not in (quote(START), quote(END))]
        return shown.select(*names, START, END, quote(ours.commit_ts))
    if mode is TableMode.APPEND:
        of_ours = (quote(name) for name in (ours.op, ours.seq, ours.commit_ts))
        return rows.select(*names, *of_ours, _column_names(rows, ours.missing).alias(ours.missing))
    if is_keyless(rows):
        return _copies(rows, ours)
    alive = rows.where(~F.col(quote(ours.deleted)) & _is_complete(rows, ours))
    return alive.select(*names)


def count_incomplete(rows: DataFrame, ours: OurColumns, mode: TableMode) -> int | None:
    """Count rows, or versions, that no reader sees; an append table shows events with what they lack."""
    if mode is TableMode.APPEND:
        return None
    hidden = F.col(quote(ours.start)).isNull() if mode is TableMode.HISTORY else F.col(quote(ours.deleted))
    return rows.where(~hidden & ~_is_complete(rows, ours)).count()


def is_keyless(rows: DataFrame) -> bool:
    """Whether the table has a key of our own."""
    return any(identity_of(field) == ROW for field in rows.schema.fields)


def cancelled_pairs(rows: DataFrame, ours: OurColumns, before_ms: int) -> DataFrame:
    """Return the keys of what came and went, both committed before a moment: readers see none of it."""
    old = rows.where(F.col(quote(ours.commit_ts)) < F.timestamp_millis(F.lit(before_ms)))
    deleted = F.col(quote(ours.deleted))
    content = _content(rows, ours)
    of_content, of_side = Window.partitionBy(*content), Window.partitionBy(*content, deleted)
    gone = F.count_if(deleted).over(of_content)
    ranked = old.select(
        quote(ours.row),
        F.row_number().over(of_side.orderBy(quote(ours.seq), quote(ours.row))).alias("at"),
        F.least(gone, F.count(F.lit(1)).over(of_content) - gone).alias("pairs"),
    )
    return ranked.where("at <= pairs").select(quote(ours.row))


def _copies(rows: DataFrame, ours: OurColumns) -> DataFrame:
    names = [quote(name) for name in _columns(rows, ours)]
    counted = rows.groupBy(*_content(rows, ours)).agg(
        F.first(F.struct(*names)).alias("row"),
        F.sum(F.when(F.col(quote(ours.deleted)), -1).otherwise(1)).cast("int").alias("copies"),
    )
    return counted.where("copies > 0").select(F.explode(F.expr("array_repeat(row, copies)"))).select("col.*")


def _is_complete(rows: DataFrame, ours: OurColumns) -> Column:
    """Whether each value is there; a column that no longer exists lacks none."""
    there = [identity for field in rows.schema.fields if (identity := identity_of(field)) is not None]
    missing = F.col(quote(ours.missing))
    return missing.isNull() | ~F.arrays_overlap(missing, F.array(*map(F.lit, there)))


def _column_names(rows: DataFrame, missing: str) -> Column:
    """Return the current names of columns that are given by identity."""
    told = [(identity_of(field), field.name) for field in rows.schema.fields]
    parts = [F.lit(part) for identity, name in told if identity is not None for part in (identity, name)]
    named = F.transform(quote(missing), lambda identity: F.try_element_at(F.create_map(*parts), identity))
    return F.array_compact(named)


def _columns(rows: DataFrame, ours: OurColumns) -> list[str]:
    own = {ours.seq, ours.op, ours.deleted, ours.missing, ours.commit_ts, ours.row, ours.unsent}
    own |= {ours.start, ours.end} if ours.sequence else set()
    return [name for name in rows.columns if name not in own]


def _content(rows: DataFrame, ours: OurColumns) -> list[Column]:
    """Return what distinguishes one content from another."""
    return [
        _exact(F.col(quote(name)), rows.schema[name].dataType).alias(f"content_{at}")
        for at, name in enumerate(_columns(rows, ours))
    ]


def _exact(value: Column, its_type: DataType) -> Column:
    if isinstance(its_type, FloatType | DoubleType):
        return value.cast("string")
    if isinstance(its_type, ArrayType) and isinstance(its_type.elementType, FloatType | DoubleType):
        return value.cast("array<string>")
    return value
